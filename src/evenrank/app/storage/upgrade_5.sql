-- From version 4 to 5: the page of the wiki that a list was last published on is remembered.
CREATE TABLE publication (        -- the page of the wiki that a list was last published on, whatever its version
    series INTEGER PRIMARY KEY,
    page TEXT NOT NULL,
    form TEXT NOT NULL,           -- table or list
    created TEXT NOT NULL
);
