-- The tables of a desk file of version 1, for tests of the upgrade.
CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE work_list (
    number INTEGER PRIMARY KEY,
    token TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    created TEXT NOT NULL,
    question TEXT NOT NULL,       -- title, keywords, scope, policy, fairness as JSON
    pages BLOB NOT NULL,          -- page ids, rank 1 first
    relevance BLOB NOT NULL,      -- probability of relevance beside them
    words TEXT NOT NULL,          -- words of the question that were looked up
    matches BLOB NOT NULL,        -- which of them each page has, uint16
    target BLOB NOT NULL,         -- wanted share of each group
    certificate TEXT NOT NULL,    -- what the policy proves, and the list's relevance and fairness
    n_candidates INTEGER NOT NULL
);
CREATE INDEX work_list_owner ON work_list (owner, number);

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
    n_draws INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX saved_search_owner ON saved_search (owner, number);

CREATE TABLE draw (
    search INTEGER NOT NULL REFERENCES saved_search,
    number INTEGER NOT NULL,
    editor TEXT NOT NULL,
    created TEXT NOT NULL,
    pages BLOB NOT NULL,
    exposure BLOB NOT NULL,       -- attention that it gives to each group
    PRIMARY KEY (search, number)
) WITHOUT ROWID;

CREATE TABLE mark (
    search INTEGER NOT NULL REFERENCES saved_search,
    page_id INTEGER NOT NULL,
    editor TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('done', 'not-for-me')),
    created TEXT NOT NULL,
    PRIMARY KEY (search, page_id, editor)
) WITHOUT ROWID;
