"""A judgments file, its pool and its runs, made from a generated collection, for tests of the assessment pages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from evenrank.app.settings import WebSettings
from evenrank.core.records import Run
from evenrank.core.rng import derive
from evenrank.io.runs import write_run
from evenrank.trec.assessment.assessors import Overlap, add_assessor, assign_pages, load_pool
from evenrank.trec.assessment.pool import build_pool, parse_tier
from evenrank.trec.assessment.pool_file import write_pool
from evenrank.trec.assessment.votes import create_store
from evenrank.trec.collection import Collection

DEPTH = 6


@dataclass(frozen=True)
class JudgingFiles:
    """Everything that `evenrank serve --judgments` takes, and the secrets of the links."""

    judgments: Path
    pool: Path
    runs: tuple[Path, ...]
    secrets: dict[str, str]
    """By name: Ada and Ben judge, Olga organises."""
    topics: tuple[int, ...]

    def settings(self, settings: WebSettings) -> WebSettings:
        return replace(settings, judgments=self.judgments, pool=self.pool, runs=self.runs)


def make_judging(folder: Path, collection: Collection, missing: int | None = None) -> JudgingFiles:
    """Two runs pooled to depth 6, every page for both assessors; `missing` is a page that is not in the collection."""
    topics = [topic for topic in collection.topics if topic.split == "eval"]
    runs = []
    for name in ("first", "second"):
        rng = derive(7, name)
        rankings = []
        for topic in topics:
            pages = np.concatenate([rng.permutation(topic.rel_docs), rng.permutation(collection.page_ids)[:20]])
            pages = np.array(list(dict.fromkeys(pages.tolist())), np.int32)
            rankings.append((topic.id, 1, np.insert(pages, 2, missing) if missing else pages))
        runs.append(Run.from_rankings(name, 1, iter(rankings)))
    pool = build_pool(runs, (parse_tier(f"1:{DEPTH}"),))
    paths = tuple(folder / f"{run.name}.tsv.gz" for run in runs)
    for run, path in zip(runs, paths, strict=True):
        write_run(run, path)
    write_pool(folder / "pool.jsonl", pool)
    with create_store(folder / "judgments.sqlite", seed=11) as store:
        load_pool(store, pool, {topic.id: topic.title for topic in topics})
        secrets = {name: add_assessor(store, name) for name in ("Ada", "Ben")}
        assign_pages(store, ["Ada", "Ben"], Overlap(1.0, 2))
        secrets["Olga"] = add_assessor(store, "Olga", "organiser")
    return JudgingFiles(
        folder / "judgments.sqlite", folder / "pool.jsonl", paths, secrets, tuple(topic.id for topic in topics)
    )
