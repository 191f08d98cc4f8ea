-- From version 8 to 9: lists say how many articles they leave out that are perhaps about their subject.
ALTER TABLE work_list ADD COLUMN n_perhaps INTEGER NOT NULL DEFAULT 0;
