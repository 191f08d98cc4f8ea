-- A judgments file. Votes are only ever added; everything else about a page is derived from them.
CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE text_id (number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);  -- page ids that are text

CREATE TABLE topic (
  id INTEGER PRIMARY KEY,
  title TEXT NOT NULL DEFAULT '',
  max_tier INTEGER,  -- as imported; a topic with pooled pages has it derived from them
  pooled_tier INTEGER,  -- deepest tier of which all pages are in the pool
  version INTEGER NOT NULL DEFAULT 1  -- rises when what assessors read about the topic changes
);

CREATE TABLE topic_text (  -- what assessors read about a topic, by version
  topic INTEGER NOT NULL REFERENCES topic (id),
  version INTEGER NOT NULL,
  text TEXT NOT NULL,  -- JSON: title, keywords, scope
  time TEXT NOT NULL,
  PRIMARY KEY (topic, version)
) WITHOUT ROWID;

CREATE TABLE item (  -- the pool
  topic INTEGER NOT NULL REFERENCES topic (id),
  page INTEGER NOT NULL,
  tier INTEGER NOT NULL,
  is_withdrawn INTEGER NOT NULL DEFAULT 0,  -- 1: all runs that brought the page are withdrawn
  urgency INTEGER NOT NULL DEFAULT 0,  -- pages with the least come first, before their tier counts
  is_set_aside INTEGER NOT NULL DEFAULT 0,  -- 1: nobody is asked, because enough relevant pages are found
  PRIMARY KEY (topic, page)
) WITHOUT ROWID;

CREATE TABLE pooled_run (
  name TEXT PRIMARY KEY,
  task INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  is_withdrawn INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

CREATE TABLE contribution (  -- which run brought which page
  run TEXT NOT NULL REFERENCES pooled_run (name),
  topic INTEGER NOT NULL,
  page INTEGER NOT NULL,
  PRIMARY KEY (run, topic, page),
  FOREIGN KEY (topic, page) REFERENCES item (topic, page)
) WITHOUT ROWID;
CREATE INDEX contribution_by_item ON contribution (topic, page);

CREATE TABLE assessor (
  name TEXT PRIMARY KEY,
  role TEXT NOT NULL CHECK (role IN ('assessor', 'organiser')),
  secret_hash BLOB UNIQUE,  -- SHA-256 of the secret in the link; the secret itself is not kept
  created TEXT NOT NULL,
  pseudonym TEXT  -- who this is in the log; stays when the name is erased
) WITHOUT ROWID;
CREATE UNIQUE INDEX assessor_by_pseudonym ON assessor (pseudonym);

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

CREATE TABLE topic_assessor (  -- who may judge a topic; everybody where nobody is named
  topic INTEGER NOT NULL REFERENCES topic (id),
  assessor TEXT NOT NULL REFERENCES assessor (name),
  PRIMARY KEY (topic, assessor)
) WITHOUT ROWID;

CREATE TABLE gold (  -- pages that everybody of the topic judges; the standing ruling is the right answer
  topic INTEGER NOT NULL,
  page INTEGER NOT NULL,
  PRIMARY KEY (topic, page),
  FOREIGN KEY (topic, page) REFERENCES item (topic, page)
) WITHOUT ROWID;

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
  topic_version INTEGER NOT NULL DEFAULT 1,
  max_grade INTEGER,  -- highest grade of the scale that was asked for; NULL where that is not known
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

-- The assessor's name alone may change, when it is erased: the log holds digests of the votes by pseudonym.
CREATE TRIGGER votes_do_not_change BEFORE UPDATE OF id, token, topic, page, outcome, grade, comment, seconds, time, method, undoes, topic_version, max_grade ON vote BEGIN SELECT RAISE (ABORT, 'votes are kept as they are'); END;
CREATE TRIGGER votes_do_not_vanish BEFORE DELETE ON vote BEGIN SELECT RAISE (ABORT, 'votes are kept'); END;

CREATE TABLE machine_judgment (  -- grades of programs; never votes, and they settle nothing
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  source TEXT NOT NULL,
  topic INTEGER NOT NULL REFERENCES topic (id),
  page INTEGER NOT NULL,
  grade INTEGER NOT NULL,
  time TEXT NOT NULL
);
CREATE INDEX machine_judgment_by_source ON machine_judgment (source, topic, page);

CREATE TABLE event (  -- the log
  number INTEGER PRIMARY KEY,  -- from 1 without gaps
  time TEXT NOT NULL,
  actor TEXT NOT NULL,  -- a pseudonym, or "operator" for the command line
  action TEXT NOT NULL,
  details TEXT NOT NULL,  -- JSON; people by pseudonym
  last_vote INTEGER NOT NULL,  -- id of the last vote at that time
  votes TEXT NOT NULL,  -- SHA-256 of the votes since the event before
  digest TEXT NOT NULL  -- SHA-256 of all this and of the digest before
);
CREATE TRIGGER events_do_not_change BEFORE UPDATE ON event BEGIN SELECT RAISE (ABORT, 'the log is kept as it is'); END;
CREATE TRIGGER events_do_not_vanish BEFORE DELETE ON event BEGIN SELECT RAISE (ABORT, 'the log is kept'); END;

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
