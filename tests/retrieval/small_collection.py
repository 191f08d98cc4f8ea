"""A small generated collection with an index, whose training topics are half kept back as unseen ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from evenrank.io.faults import FaultLog
from evenrank.retrieval.engine.indexing import build_index
from evenrank.trec.collection import Collection
from evenrank.trec.generate.generate import generate_collection
from evenrank.trec.generate.settings import GenerateSettings


def make_small(folder: Path, n_train_topics: int = 10) -> Collection:
    """1,500 synthetic articles; of the training topics, every second one is called an evaluation topic.

    Those keep their complete judgments, which the evaluation topics of a collection do not have.
    """
    settings = GenerateSettings(n_pages=1500, n_train_topics=n_train_topics, n_eval_topics=1, seed=12)
    collection = generate_collection(folder, settings)
    build_index(collection, FaultLog(), n_threads=1).close()
    whole = [topic for topic in collection.topics if topic.split == "train"]
    return collection.with_topics(replace(t, split="eval") if at % 2 else t for at, t in enumerate(whole))
