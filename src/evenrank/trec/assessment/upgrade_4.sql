-- From version 3 to 4: a log of what anybody did, runs that can be withdrawn, machine judgments, versions of topics.
ALTER TABLE topic ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
CREATE TABLE topic_text (
  topic INTEGER NOT NULL REFERENCES topic (id),
  version INTEGER NOT NULL,
  text TEXT NOT NULL,
  time TEXT NOT NULL,
  PRIMARY KEY (topic, version)
) WITHOUT ROWID;
ALTER TABLE item ADD COLUMN is_withdrawn INTEGER NOT NULL DEFAULT 0;
ALTER TABLE item ADD COLUMN urgency INTEGER NOT NULL DEFAULT 0;
ALTER TABLE item ADD COLUMN is_set_aside INTEGER NOT NULL DEFAULT 0;
CREATE TABLE topic_assessor (
  topic INTEGER NOT NULL REFERENCES topic (id),
  assessor TEXT NOT NULL REFERENCES assessor (name),
  PRIMARY KEY (topic, assessor)
) WITHOUT ROWID;
CREATE TABLE gold (
  topic INTEGER NOT NULL,
  page INTEGER NOT NULL,
  PRIMARY KEY (topic, page),
  FOREIGN KEY (topic, page) REFERENCES item (topic, page)
) WITHOUT ROWID;
CREATE TABLE pooled_run (
  name TEXT PRIMARY KEY,
  task INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  is_withdrawn INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TABLE contribution (
  run TEXT NOT NULL REFERENCES pooled_run (name),
  topic INTEGER NOT NULL,
  page INTEGER NOT NULL,
  PRIMARY KEY (run, topic, page),
  FOREIGN KEY (topic, page) REFERENCES item (topic, page)
) WITHOUT ROWID;
CREATE INDEX contribution_by_item ON contribution (topic, page);
ALTER TABLE assessor ADD COLUMN pseudonym TEXT;
CREATE UNIQUE INDEX assessor_by_pseudonym ON assessor (pseudonym);
ALTER TABLE vote ADD COLUMN topic_version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE vote ADD COLUMN max_grade INTEGER;
DROP VIEW current_vote;
CREATE VIEW current_vote AS
SELECT v.* FROM vote v
WHERE v.outcome <> 'withdrawn'
  AND NOT EXISTS (SELECT 1 FROM vote u WHERE u.undoes = v.token)
  AND NOT EXISTS (
    SELECT 1 FROM vote w
    WHERE w.assessor = v.assessor AND w.topic = v.topic AND w.page = v.page AND w.id > v.id
      AND w.outcome <> 'withdrawn' AND (w.method = 'adjudication') = (v.method = 'adjudication')
      AND NOT EXISTS (SELECT 1 FROM vote u WHERE u.undoes = w.token));
DROP TRIGGER votes_do_not_change;
CREATE TRIGGER votes_do_not_change BEFORE UPDATE OF id, token, topic, page, outcome, grade, comment, seconds, time, method, undoes, topic_version, max_grade ON vote BEGIN SELECT RAISE (ABORT, 'votes are kept as they are'); END;
CREATE TABLE machine_judgment (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  source TEXT NOT NULL,
  topic INTEGER NOT NULL REFERENCES topic (id),
  page INTEGER NOT NULL,
  grade INTEGER NOT NULL,
  time TEXT NOT NULL
);
CREATE INDEX machine_judgment_by_source ON machine_judgment (source, topic, page);
CREATE TABLE event (
  number INTEGER PRIMARY KEY,
  time TEXT NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  details TEXT NOT NULL,
  last_vote INTEGER NOT NULL,
  votes TEXT NOT NULL,
  digest TEXT NOT NULL
);
CREATE TRIGGER events_do_not_change BEFORE UPDATE ON event BEGIN SELECT RAISE (ABORT, 'the log is kept as it is'); END;
CREATE TRIGGER events_do_not_vanish BEFORE DELETE ON event BEGIN SELECT RAISE (ABORT, 'the log is kept'); END;
