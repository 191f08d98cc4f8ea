"""Rankings of anything: `score` and `rerank` on dicts, data frames, arrays and files, without a collection."""
