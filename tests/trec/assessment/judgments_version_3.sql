-- A judgments file. Votes are only ever added; everything else about a page is derived from them.
CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE text_id (number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);  -- page ids that are text

CREATE TABLE topic (
  id INTEGER PRIMARY KEY,
  title TEXT NOT NULL DEFAULT '',
  max_tier INTEGER,  -- as imported; a topic with pooled pages has it derived from them
  pooled_tier INTEGER  -- deepest tier of which all pages are in the pool
);

CREATE TABLE item (  -- the pool
  topic INTEGER NOT NULL REFERENCES topic (id),
  page INTEGER NOT NULL,
  tier INTEGER NOT NULL,
  PRIMARY KEY (topic, page)
) WITHOUT ROWID;

CREATE TABLE assessor (
  name TEXT PRIMARY KEY,
  role TEXT NOT NULL CHECK (role IN ('assessor', 'organiser')),
  secret_hash BLOB UNIQUE,  -- SHA-256 of the secret in the link; the secret itself is not kept
  created TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE assignment (  -- who is asked about what
  assessor TEXT NOT NULL REFERENCES assessor (name),
  topic INTEGER NOT NULL,
  page INTEGER NOT NULL,
  reason TEXT NOT NULL CHECK (reason IN ('primary', 'overlap')),
  position REAL NOT NULL,  -- the assessor's own shuffled order
  PRIMARY KEY (assessor, topic, page),
  FOREIGN KEY (topic, page) REFERENCES item (topic, page)
) WITHOUT ROWID;
CREATE INDEX assignment_by_item ON assignment (topic, page);

CREATE TABLE vote (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  token TEXT NOT NULL UNIQUE,  -- chosen by the client: the same vote sent twice is stored once
  topic INTEGER NOT NULL REFERENCES topic (id),
  page INTEGER NOT NULL,
  assessor TEXT NOT NULL REFERENCES assessor (name),
  outcome TEXT NOT NULL CHECK (outcome IN ('graded', 'unassessable', 'skipped', 'withdrawn')),
  grade INTEGER,
  comment TEXT NOT NULL DEFAULT '',
  seconds REAL CHECK (seconds >= 0),
  time TEXT NOT NULL,
  method TEXT NOT NULL,
  undoes TEXT UNIQUE REFERENCES vote (token),
  CHECK ((outcome = 'graded') = (grade IS NOT NULL)),
  CHECK ((outcome = 'withdrawn') = (undoes IS NOT NULL))
);
CREATE INDEX vote_by_item ON vote (topic, page);
CREATE INDEX vote_by_assessor ON vote (assessor, topic, page);
CREATE INDEX vote_by_time ON vote (assessor);  -- rows of an index are in the order of their ids: the last vote is its end

CREATE TABLE remark (  -- what people say to each other about a page on which votes differ
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  token TEXT NOT NULL UNIQUE,  -- chosen by the client: the same remark sent twice is stored once
  topic INTEGER NOT NULL,
  page INTEGER NOT NULL,
  author TEXT NOT NULL REFERENCES assessor (name),
  text TEXT NOT NULL,
  time TEXT NOT NULL
);
CREATE INDEX remark_by_item ON remark (topic, page);

CREATE TRIGGER votes_do_not_change BEFORE UPDATE ON vote BEGIN SELECT RAISE (ABORT, 'votes are kept as they are'); END;
CREATE TRIGGER votes_do_not_vanish BEFORE DELETE ON vote BEGIN SELECT RAISE (ABORT, 'votes are kept'); END;

-- The last vote of each assessor on each page that was not undone; adjudications stand beside it.
CREATE VIEW current_vote AS
SELECT v.* FROM vote v
WHERE v.outcome <> 'withdrawn'
  AND NOT EXISTS (SELECT 1 FROM vote u WHERE u.undoes = v.token)
  AND NOT EXISTS (
    SELECT 1 FROM vote w
    WHERE w.assessor = v.assessor AND w.topic = v.topic AND w.page = v.page AND w.id > v.id
      AND w.outcome <> 'withdrawn' AND (w.method = 'adjudication') = (v.method = 'adjudication')
      AND NOT EXISTS (SELECT 1 FROM vote u WHERE u.undoes = w.token));
