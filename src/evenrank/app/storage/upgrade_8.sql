-- From version 7 to 8: corrections of regions belong to saved searches, too.
CREATE TABLE correction_8 (
    thing TEXT NOT NULL CHECK (thing IN ('work_list', 'saved_search')),
    number INTEGER NOT NULL,
    page_id INTEGER NOT NULL,
    region TEXT NOT NULL,
    note TEXT NOT NULL DEFAULT '',
    editor TEXT NOT NULL,
    name TEXT NOT NULL DEFAULT '',
    created TEXT NOT NULL,
    PRIMARY KEY (thing, number, page_id)
) WITHOUT ROWID;
INSERT INTO correction_8 SELECT 'work_list', series, page_id, region, note, editor, name, created FROM correction;
DROP TABLE correction;
ALTER TABLE correction_8 RENAME TO correction;
