-- From version 2 to 3: articles that people bring, versions of a list, progress on lists, names, sharing, sign-in.
ALTER TABLE work_list ADD COLUMN brought TEXT;
ALTER TABLE work_list ADD COLUMN quality BLOB;
ALTER TABLE work_list ADD COLUMN comparison TEXT;
ALTER TABLE work_list ADD COLUMN data TEXT;
ALTER TABLE work_list ADD COLUMN series INTEGER;
ALTER TABLE work_list ADD COLUMN reader TEXT;
ALTER TABLE work_list ADD COLUMN name TEXT;
ALTER TABLE work_list ADD COLUMN archived TEXT;
ALTER TABLE work_list ADD COLUMN is_private INTEGER NOT NULL DEFAULT 0;
UPDATE work_list SET series = number, reader = substr(lower(hex(randomblob(16))), 1, 22);
CREATE UNIQUE INDEX work_list_reader ON work_list (reader);
CREATE INDEX work_list_series ON work_list (series, number);

ALTER TABLE saved_search ADD COLUMN brought TEXT;
ALTER TABLE saved_search ADD COLUMN data TEXT;
ALTER TABLE saved_search ADD COLUMN reader TEXT;
ALTER TABLE saved_search ADD COLUMN name TEXT;
ALTER TABLE saved_search ADD COLUMN archived TEXT;
ALTER TABLE saved_search ADD COLUMN is_private INTEGER NOT NULL DEFAULT 0;
UPDATE saved_search SET reader = substr(lower(hex(randomblob(16))), 1, 22);
CREATE UNIQUE INDEX saved_search_reader ON saved_search (reader);

ALTER TABLE draw ADD COLUMN name TEXT NOT NULL DEFAULT '';

CREATE TABLE mark_3 (
    search INTEGER NOT NULL REFERENCES saved_search,
    page_id INTEGER NOT NULL,
    editor TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('done', 'not-for-me', 'off-topic')),
    created TEXT NOT NULL,
    name TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (search, page_id, editor)
) WITHOUT ROWID;
INSERT INTO mark_3 SELECT search, page_id, editor, kind, created, '' FROM mark;
DROP TABLE mark;
ALTER TABLE mark_3 RENAME TO mark;

CREATE TABLE list_mark (
    series INTEGER NOT NULL,
    page_id INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('claimed', 'doing', 'done', 'off-topic')),
    editor TEXT NOT NULL,
    name TEXT NOT NULL DEFAULT '',
    created TEXT NOT NULL,
    PRIMARY KEY (series, page_id)
) WITHOUT ROWID;

CREATE TABLE share (
    thing TEXT NOT NULL CHECK (thing IN ('work_list', 'saved_search')),
    number INTEGER NOT NULL,
    person TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('editor', 'reader')),
    PRIMARY KEY (thing, number, person)
) WITHOUT ROWID;
CREATE INDEX share_person ON share (person, thing, number);

CREATE TABLE person (
    key TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    created TEXT NOT NULL,
    last_seen TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE session (
    digest BLOB PRIMARY KEY,
    person TEXT NOT NULL REFERENCES person,
    created TEXT NOT NULL,
    expires TEXT NOT NULL,
    access TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE INDEX session_person ON session (person);
