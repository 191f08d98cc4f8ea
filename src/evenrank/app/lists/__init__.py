"""Work lists: a coordinator keeps 1000 articles for a project (Task 1)."""
