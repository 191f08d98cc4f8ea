-- From version 3 to 4: lists keep the titles of their articles, for those that are deleted later; NULL: not recorded.
ALTER TABLE work_list ADD COLUMN titles TEXT;
