-- From version 5 to 6: coarse bands of groups of people are stored, and lists know whether marks made them.
ALTER TABLE work_list ADD COLUMN has_marks INTEGER NOT NULL DEFAULT 0;
UPDATE work_list SET has_marks = 1 WHERE number <> series;
CREATE TABLE people_band (        -- how large a group of people is in a subject, coarsely and with noise
    number INTEGER PRIMARY KEY,
    dimension TEXT NOT NULL,
    pages BLOB NOT NULL,          -- page ids of the people counted, ascending
    band INTEGER NOT NULL,
    created TEXT NOT NULL
);
