-- From version 6 to 7: corrections of regions, and what was counted on the wiki itself.
ALTER TABLE work_list ADD COLUMN corrections TEXT;
CREATE TABLE correction (         -- regions that people corrected for a list, whatever its version
    series INTEGER NOT NULL,
    page_id INTEGER NOT NULL,
    region TEXT NOT NULL,         -- the right region; empty: not known
    note TEXT NOT NULL DEFAULT '',
    editor TEXT NOT NULL,
    name TEXT NOT NULL DEFAULT '',
    created TEXT NOT NULL,
    PRIMARY KEY (series, page_id)
) WITHOUT ROWID;
CREATE TABLE wiki_count (         -- what articles of a list have and lack on the wiki, whatever its version
    series INTEGER NOT NULL,
    page_id INTEGER NOT NULL,
    counts TEXT NOT NULL,         -- by the fields of WorkCounts, as JSON
    created TEXT NOT NULL,
    PRIMARY KEY (series, page_id)
) WITHOUT ROWID;
