-- Work lists, saved searches, draws and marks. Arrays are little-endian int32, float64, uint16 or uint8.
CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE work_list (
    number INTEGER PRIMARY KEY,
    token TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    created TEXT NOT NULL,
    question TEXT NOT NULL,       -- everything that was asked for, as JSON
    pages BLOB NOT NULL,          -- page ids, rank 1 first
    relevance BLOB NOT NULL,      -- probability of relevance beside them
    words TEXT NOT NULL,          -- words of the question that were looked up
    matches BLOB NOT NULL,        -- which of them each page has, uint16
    target BLOB NOT NULL,         -- wanted share of each group
    certificate TEXT NOT NULL,    -- what the policy proves, and the list's relevance and fairness
    n_candidates INTEGER NOT NULL,
    model TEXT,                   -- relevance model that brought the candidates, as JSON; NULL: not recorded
    brought TEXT,                 -- what became of the sources that people brought, as JSON; NULL: none
    quality BLOB,                 -- class of each page when the list was made, uint8; NULL: not recorded
    comparison TEXT,              -- the list beside plain search, as JSON; NULL: not recorded
    data TEXT,                    -- which data the list was made from; NULL: not recorded
    series INTEGER,               -- number of the first version of this list
    reader TEXT,                  -- token of the link that can only read
    name TEXT,                    -- title given later; NULL: that of the question
    archived TEXT,                -- when it was archived; NULL: it was not
    is_private INTEGER NOT NULL DEFAULT 0,  -- 1: only its owner and those it is shared with
    titles TEXT,                  -- title of each page when the list was made, as JSON; NULL: not recorded
    has_marks INTEGER NOT NULL DEFAULT 0,   -- 1: marks or corrections decided which articles it has
    corrections TEXT,             -- regions by page id that differ from those of the data, as JSON; NULL: none
    n_perhaps INTEGER NOT NULL DEFAULT 0    -- articles left out that are only perhaps about the subject
);
CREATE INDEX work_list_owner ON work_list (owner, number);
CREATE UNIQUE INDEX work_list_reader ON work_list (reader);
CREATE INDEX work_list_series ON work_list (series, number);

CREATE TABLE trade_off (
    work_list INTEGER PRIMARY KEY REFERENCES work_list,
    points TEXT NOT NULL
);

CREATE TABLE saved_search (
    number INTEGER PRIMARY KEY,
    token TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    created TEXT NOT NULL,
    question TEXT NOT NULL,
    pages BLOB NOT NULL,          -- candidates
    relevance BLOB NOT NULL,
    words TEXT NOT NULL,
    matches BLOB NOT NULL,
    plan BLOB NOT NULL,           -- kind of page wanted at each rank of each draw, uint16
    n_planned INTEGER NOT NULL,   -- draws in the plan
    kinds BLOB NOT NULL,          -- kind of each candidate, uint16
    target BLOB NOT NULL,
    certificate TEXT NOT NULL,
    n_draws INTEGER NOT NULL DEFAULT 0,
    model TEXT,                   -- these and the following as in work_list
    brought TEXT,
    data TEXT,
    reader TEXT,
    name TEXT,
    archived TEXT,
    is_private INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX saved_search_owner ON saved_search (owner, number);
CREATE UNIQUE INDEX saved_search_reader ON saved_search (reader);

CREATE TABLE draw (
    search INTEGER NOT NULL REFERENCES saved_search,
    number INTEGER NOT NULL,
    editor TEXT NOT NULL,
    created TEXT NOT NULL,
    pages BLOB NOT NULL,
    exposure BLOB NOT NULL,       -- attention that it gives to each group
    name TEXT NOT NULL DEFAULT '',-- name of the editor; empty when nobody signed in
    PRIMARY KEY (search, number)
) WITHOUT ROWID;

CREATE TABLE mark (
    search INTEGER NOT NULL REFERENCES saved_search,
    page_id INTEGER NOT NULL,
    editor TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('done', 'not-for-me', 'off-topic')),
    created TEXT NOT NULL,
    name TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (search, page_id, editor)
) WITHOUT ROWID;

CREATE TABLE list_mark (          -- the work on a list, whatever its version
    series INTEGER NOT NULL,
    page_id INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('claimed', 'doing', 'done', 'off-topic')),
    editor TEXT NOT NULL,
    name TEXT NOT NULL DEFAULT '',
    created TEXT NOT NULL,
    PRIMARY KEY (series, page_id)
) WITHOUT ROWID;

CREATE TABLE correction (         -- regions that people corrected for a list, whatever its version, or a search
    thing TEXT NOT NULL CHECK (thing IN ('work_list', 'saved_search')),
    number INTEGER NOT NULL,      -- series of the list, or number of the search
    page_id INTEGER NOT NULL,
    region TEXT NOT NULL,         -- the right region; empty: not known
    note TEXT NOT NULL DEFAULT '',
    editor TEXT NOT NULL,
    name TEXT NOT NULL DEFAULT '',
    created TEXT NOT NULL,
    PRIMARY KEY (thing, number, page_id)
) WITHOUT ROWID;

CREATE TABLE wiki_count (         -- what the wiki says of articles of a list, whatever its version
    series INTEGER NOT NULL,
    page_id INTEGER NOT NULL,
    counts TEXT NOT NULL,         -- by the fields of WorkCounts, then page views and importance, as JSON
    created TEXT NOT NULL,
    PRIMARY KEY (series, page_id)
) WITHOUT ROWID;

CREATE TABLE publication (        -- the page of the wiki that a list was last published on, whatever its version
    series INTEGER PRIMARY KEY,
    page TEXT NOT NULL,
    form TEXT NOT NULL,           -- table or list
    created TEXT NOT NULL
);

CREATE TABLE share (              -- who may do more than the link allows
    thing TEXT NOT NULL CHECK (thing IN ('work_list', 'saved_search')),
    number INTEGER NOT NULL,
    person TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('editor', 'reader')),
    PRIMARY KEY (thing, number, person)
) WITHOUT ROWID;
CREATE INDEX share_person ON share (person, thing, number);

CREATE TABLE person (             -- who signed in
    key TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    created TEXT NOT NULL,
    last_seen TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE session (
    digest BLOB PRIMARY KEY,      -- of the secret in the cookie
    person TEXT NOT NULL REFERENCES person,
    created TEXT NOT NULL,
    expires TEXT NOT NULL,
    access TEXT NOT NULL DEFAULT ''  -- token for acting on the wiki in that person's name; it never leaves the server
) WITHOUT ROWID;
CREATE INDEX session_person ON session (person);

CREATE TABLE people_band (        -- how large a group of people is in a subject, coarsely and with noise
    number INTEGER PRIMARY KEY,
    dimension TEXT NOT NULL,
    pages BLOB NOT NULL,          -- page ids of the people counted, ascending
    band INTEGER NOT NULL,
    created TEXT NOT NULL
);
