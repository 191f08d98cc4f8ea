-- From version 2 to 3: page ids may be text.
CREATE TABLE text_id (number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
