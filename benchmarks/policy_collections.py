"""Generated collections for the benchmark of policies, with two kinds of evaluation judgments.

`pooled`: as in the track. Training topics list nearly all their pages, evaluation topics only what a pool of systems
came across, which is more of the regions whose articles are long. `complete`: evaluation topics are judged as training
topics are, so what was learned there holds.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Literal

from evenrank.io.faults import FaultLog
from evenrank.retrieval.engine.indexing import build_index
from evenrank.trec.collection import Collection
from evenrank.trec.generate import GeneratedFiles, generate_files
from evenrank.trec.generate.generate import SOURCE
from evenrank.trec.generate.settings import MAX_TRAIN_TOPICS, GenerateSettings
from evenrank.trec.import_files import ImportFiles, import_collection

Judgments = Literal["pooled", "complete"]
JUDGMENTS: tuple[Judgments, ...] = ("pooled", "complete")


def make_collection(folder: Path, n_pages: int, n_topics: int, seed: int, judgments: Judgments) -> Collection:
    """A generated collection with its index; half of the topics are for training."""
    n_train = n_topics if judgments == "complete" else n_topics // 2
    files = generate_files(folder / SOURCE, GenerateSettings(n_pages, n_train, n_topics - n_train, seed))
    if judgments == "complete":
        hold_out_every_second(files)
    chosen = ImportFiles(files.metadata, files.topics, (files.eval_qrels, files.eval_topics), files.corpus)
    collection = import_collection(folder, chosen)
    build_index(collection, FaultLog()).close()
    return collection


def hold_out_every_second(files: GeneratedFiles) -> None:
    """Make every second training topic an evaluation topic, with its judgments as they are."""
    with gzip.open(files.topics, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    held_out = [{**record, "id": record["id"] + MAX_TRAIN_TOPICS} for record in records[1::2]]
    judged = [
        {"id": r["id"], "title": r["title"], "rel_docs": r["rel_docs"], "assessed_docs": r["rel_docs"], "max_tier": 3}
        for r in held_out
    ]
    questions = [{name: record[name] for name in ("id", "title", "keywords", "scope")} for record in held_out]
    for path, part in ((files.topics, records[::2]), (files.eval_qrels, judged), (files.eval_topics, questions)):
        write_lines(path, part)


def write_lines(path: Path, records: list[dict[str, Any]]) -> None:
    """One JSON record a line."""
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
