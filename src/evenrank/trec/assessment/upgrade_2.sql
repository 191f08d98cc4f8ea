-- From version 1 to 2: people discuss pages on which votes differ.
CREATE TABLE remark (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  token TEXT NOT NULL UNIQUE,
  topic INTEGER NOT NULL,
  page INTEGER NOT NULL,
  author TEXT NOT NULL REFERENCES assessor (name),
  text TEXT NOT NULL,
  time TEXT NOT NULL
);
CREATE INDEX remark_by_item ON remark (topic, page);
