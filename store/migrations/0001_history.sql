-- What happened, in the order in which it was written. docs/audit-schema.md
-- explains every field. Nothing here is ever changed or deleted by hand.
CREATE TABLE events (
  seq   INTEGER PRIMARY KEY, -- 1, 2, 3 … without a gap
  at_us INTEGER NOT NULL,    -- when it happened, for a decision when the request arrived; microseconds since 1970 UTC
  kind  TEXT    NOT NULL,    -- 'decision', 'transition', 'cooldown', …
  id    TEXT    NOT NULL,    -- the decision's id, otherwise what it is about
  body  TEXT    NOT NULL,    -- JSON
  hash  BLOB    NOT NULL     -- SHA-256 over the previous row's hash and this row
) STRICT;

CREATE INDEX events_decision ON events (id) WHERE kind = 'decision';

-- Everything but the plain, answered decisions, which are nearly all rows: so
-- feeds and the search for failures stay quick, and a plain row costs nothing.
CREATE INDEX events_notable ON events (kind, seq)
  WHERE kind <> 'decision' OR substr(body, 1, 36) <> '{"outcome":"none","situation":"none"';

CREATE TRIGGER events_no_update BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;
CREATE TRIGGER events_no_delete BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are append-only'); END;

-- Plans and snapshots, each stored once under the hex SHA-256 of its text;
-- decisions name them by it.
CREATE TABLE documents (
  digest TEXT NOT NULL PRIMARY KEY,
  kind   TEXT NOT NULL, -- 'plan' or 'snapshot'
  body   TEXT NOT NULL  -- JSON
) STRICT;

CREATE TRIGGER documents_no_update BEFORE UPDATE ON documents
BEGIN SELECT RAISE(ABORT, 'documents are append-only'); END;
CREATE TRIGGER documents_no_delete BEFORE DELETE ON documents
BEGIN SELECT RAISE(ABORT, 'documents are append-only'); END;

-- The running process, or the last one; what it wrote is counted in the same
-- transaction as the rows, so that a crash can be accounted for exactly.
CREATE TABLE run (
  one        INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
  id         TEXT    NOT NULL,
  started_us INTEGER NOT NULL,
  stopped_us INTEGER,          -- NULL until it was closed in order
  written    INTEGER NOT NULL, -- accepted events that are rows
  dropped    INTEGER NOT NULL, -- refused events that a gap row tells of
  last_us    INTEGER NOT NULL  -- time of the last one written
) STRICT;

-- What must survive a restart, kept in step with the events that change it.
CREATE TABLE state (
  kind      TEXT    NOT NULL, -- 'circuit', 'cooldown', 'budget', 'key', 'override'
  subject   TEXT    NOT NULL, -- target, quota group or provider
  qualifier TEXT    NOT NULL, -- use case or key
  until_us  INTEGER NOT NULL, -- when it ends by itself, 0 for never
  body      TEXT    NOT NULL, -- JSON
  PRIMARY KEY (kind, subject, qualifier)
) STRICT, WITHOUT ROWID;
