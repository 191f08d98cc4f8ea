"""How much a result depends on choices that could have been made otherwise: one table.

The choices are the share of the world in the target (the ½ of the blend), what becomes of pages of which nothing is
known, and which pages were judged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenrank.core.protocol import DEFAULT_PROTOCOL, Protocol
from evenrank.core.records import Run, Task
from evenrank.core.rng import derive
from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError
from evenrank.measures.registry import MAIN
from evenrank.scoring.evaluate import evaluate, given_runs, judged_part
from evenrank.scoring.protocol_settings import settle_protocol
from evenrank.scoring.tables.table import Cell, Column, Table
from evenrank.trec.collection import Collection, as_collection, as_run

BASE = "as scored"
BLENDS = (0.0, 0.25, 0.75, 1.0)
ORDER = "order (τ)"
"""Label of the row that compares the order of the runs with that under the base."""
HALF = "half of the judgments"


@dataclass(frozen=True)
class Sensitivity:
    """The main measure of runs under the protocol as it is and under variants of it."""

    protocol: Protocol
    scores: dict[Task, dict[str, dict[str, float]]]
    """By task, variant and run."""

    def table(self, task: Task) -> Table:
        """A row per run, best first as scored; a column per variant; last Kendall's τ of the order of the runs."""
        by_variant, main = self.scores[task], MAIN[task]
        base = by_variant[BASE]
        runs = sorted(base, key=lambda run: (-base[run] if main.higher_is_better else base[run], run))
        columns = [Column(name, higher_is_better=main.higher_is_better) for name in by_variant]
        rows: list[tuple[Cell, ...]] = [(run, *(scores[run] for scores in by_variant.values())) for run in runs]
        if len(runs) > 1:
            columns = [replace(column, higher_is_better=None) for column in columns]
            order = [base[run] for run in runs]
            rows.append((ORDER, *(kendall_tau(order, [by_run[r] for r in runs]) for by_run in by_variant.values())))
        return Table((Column("run"), *columns), tuple(rows), f"Task {task}: {main.name} under variants of the protocol")

    def to_json(self) -> dict[str, Any]:
        """Protocol, and scores by task, variant and run."""
        return {
            "protocol": self.protocol.settings(),
            "sensitivity": [
                {"task": task, "measure": MAIN[task].name, "variant": variant, "scores": scores}
                for task, variants in self.scores.items()
                for variant, scores in variants.items()
            ],
        }


def sensitivity(
    collection: Collection | FilePath,
    runs: Run | FilePath | Iterable[Run | FilePath],
    protocol: str | Protocol = DEFAULT_PROTOCOL,
    groups: str | Iterable[str] = "intersection",
    *,
    seed: int = 0,
    **settings: Any,
) -> Sensitivity:
    """The main measure of runs under variants of the protocol: blend of the target, unknown pages, judged pages.

    `seed` draws the half of each topic's relevant pages that the last variant keeps.
    """
    opened = as_collection(collection)
    loaded = [as_run(opened, run) for run in given_runs(runs)]
    base = settle_protocol(settle_protocol(protocol, **settings), n_resamples=2, operation_order="any")
    scores: dict[Task, dict[str, dict[str, float]]] = {}
    for task in sorted({run.task for run in loaded}):
        of_task = [run for run in loaded if run.task == task]
        variants = {name: (opened, of_task, varied) for name, varied in _protocols(base, task).items()}
        variants["judged pages only"] = (opened, [judged_part(run, opened) for run in of_task], base)
        variants[HALF] = (_with_half(opened, seed), of_task, base)
        for name, (scored, those, varied) in variants.items():
            try:
                results = evaluate(scored, those, varied, groups)
            except EvenrankError as error:
                raise EvenrankError(f"variant {name!r}: {error}") from error
            scores.setdefault(task, {})[name] = {run.run: run.scores[MAIN[task].name] for run in results.runs}
    return Sensitivity(base, scores)


def _protocols(base: Protocol, task: Task) -> dict[str, Protocol]:
    """The protocol and its variants by name; those that cannot change a score of the task are left out."""
    found = {BASE: base}
    found |= {f"world {weight:.0%}": replace(base, blend=weight) for weight in BLENDS if weight != base.blend}
    if task == 1:
        kept = not base.keeps_unknown_task1
        found[f"unknown {'counted' if kept else 'dropped'}"] = replace(base, keeps_unknown_task1=kept)
    if base.unlisted_page == "unknown":
        return found | {"unlisted in no group": replace(base, unlisted_page="no group")}
    return found | {"unlisted unknown": replace(base, unlisted_page="unknown")}


def _with_half(collection: Collection, seed: int) -> Collection:
    """The collection with half of each topic's relevant pages, at least one of them."""
    topics = []
    for topic in collection.topics:
        n_kept = (len(topic.rel_docs) + 1) // 2
        kept = np.sort(derive(seed, "half", topic.id).permutation(len(topic.rel_docs))[:n_kept])
        topics.append(replace(topic, rel_docs=topic.rel_docs[kept]))
    return collection.with_topics(topics)


def kendall_tau(left: list[float], right: list[float]) -> float:
    """Kendall's τ-a: the share of pairs in the same order minus that in the other; pairs that tie count for neither."""
    x, y = np.array(left), np.array(right)
    agreement = np.sign(x[:, None] - x) * np.sign(y[:, None] - y)
    return float(np.nansum(agreement)) / (len(x) * (len(x) - 1))
