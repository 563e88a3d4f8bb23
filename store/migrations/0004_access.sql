-- Callers' keys. A key has at least 128 random bits, so a plain hash is enough.
CREATE TABLE keys (
  id          TEXT    NOT NULL PRIMARY KEY,
  name        TEXT    NOT NULL,
  hash        BLOB    NOT NULL UNIQUE, -- SHA-256 of the key
  plan        TEXT    NOT NULL,
  tenant      TEXT    NOT NULL,
  attributes  TEXT    NOT NULL, -- JSON
  created_us  INTEGER NOT NULL,
  disabled_us INTEGER NOT NULL  -- 0 while it works
) STRICT;

CREATE TABLE operators (
  name        TEXT    NOT NULL PRIMARY KEY,
  salt        BLOB    NOT NULL,
  hash        BLOB    NOT NULL, -- PBKDF2-HMAC-SHA-256
  iterations  INTEGER NOT NULL,
  must_change INTEGER NOT NULL, -- 1 until a one-time password was replaced
  created_us  INTEGER NOT NULL,
  changed_us  INTEGER NOT NULL
) STRICT;

CREATE TABLE sessions (
  hash        BLOB    NOT NULL PRIMARY KEY, -- SHA-256 of the cookie's token
  operator    TEXT    NOT NULL,
  must_change INTEGER NOT NULL,
  created_us  INTEGER NOT NULL,
  seen_us     INTEGER NOT NULL,
  user_agent  TEXT    NOT NULL
) STRICT, WITHOUT ROWID;
