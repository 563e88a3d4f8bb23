CREATE TABLE revisions (
  number     INTEGER PRIMARY KEY,
  id         TEXT    NOT NULL, -- hex SHA-256 over modules and data
  files      TEXT    NOT NULL, -- JSON object: path -> text
  created_us INTEGER NOT NULL,
  author     TEXT    NOT NULL,
  reason     TEXT    NOT NULL,
  action     TEXT    NOT NULL CHECK (action IN ('default', 'activate', 'rollback')),
  parent     INTEGER NOT NULL, -- the revision that the files come from, 0 for none
  undoes     INTEGER NOT NULL  -- for a roll-back: the revision that it replaced, else 0
) STRICT;

CREATE INDEX revisions_id ON revisions (id);

CREATE TRIGGER revisions_no_update BEFORE UPDATE ON revisions
BEGIN SELECT RAISE(ABORT, 'revisions are append-only'); END;
CREATE TRIGGER revisions_no_delete BEFORE DELETE ON revisions
BEGIN SELECT RAISE(ABORT, 'revisions are append-only'); END;

CREATE TABLE active (
  one    INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  number INTEGER NOT NULL REFERENCES revisions (number)
) STRICT;

CREATE TABLE drafts (
  id         TEXT    NOT NULL PRIMARY KEY,
  base       INTEGER NOT NULL,
  version    INTEGER NOT NULL,
  files      TEXT    NOT NULL,
  updated_us INTEGER NOT NULL,
  author     TEXT    NOT NULL
) STRICT;
