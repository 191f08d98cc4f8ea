-- From version 1 to 2: lists and searches say which relevance model brought their candidates; NULL: not recorded.
ALTER TABLE work_list ADD COLUMN model TEXT;
ALTER TABLE saved_search ADD COLUMN model TEXT;
