"""Every attribute alone, every set of the protocol, and all together: which attribute makes a run unfair?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from evenrank.core.protocol import DEFAULT_PROTOCOL, Protocol
from evenrank.core.records import Task
from evenrank.core.types import FilePath
from evenrank.measures.registry import MAIN, Named, as_measure, listed_measures
from evenrank.scoring.evaluate import evaluate
from evenrank.scoring.protocol_settings import settle_protocol
from evenrank.scoring.results import Results
from evenrank.scoring.tables import Cell, Column, Table, TableResult
from evenrank.trec.collection import Collection, GivenRun, as_collection, as_run, given_runs

OVERALL = "all"
"""Heading of all dimensions together."""
QUICK = 2
"""Resamples for attributes, whose intervals are not shown."""


@dataclass(frozen=True, repr=False)
class AttributeResults(TableResult):
    """The same runs scored on several choices of groups."""

    overall: Results
    """All dimensions of the protocol."""
    parts: dict[str, Results]
    """Each dimension alone, then each set, by name."""

    def table(self, task: Task, measure: str = "") -> Table:
        """A row per run, best first over all dimensions; a column per attribute, per set, and for all together."""
        shown = as_measure(measure, task) if measure else MAIN[task]
        columns = [Column(name, higher_is_better=shown.higher_is_better) for name in (*self.parts, OVERALL)]
        rows: list[tuple[Cell, ...]] = []
        for run in self.overall.of_task(task):
            parts = [part[run.run].scores[shown.key] for part in self.parts.values()]
            rows.append((run.run, *parts, run.scores[shown.key]))
        return Table((Column("run"), *columns), tuple(rows), f"Task {task}: {shown.key} by attribute")

    def _shown(self) -> tuple[list[Table], list[str]]:
        return [self.table(task) for task in self.overall.tasks], []

    def to_json(self) -> dict[str, Any]:
        """The JSON of all dimensions together, with the scores of each part under `attributes`."""
        parts = []
        for name, part in self.parts.items():
            record = part.to_json()
            runs = [{key: run[key] for key in ("run", "task", "n_topics", "scores", "notes")} for run in record["runs"]]
            parts.append({"groups": name, "runs": runs, "topics": record["topics"]})
        return {**self.overall.to_json(), "attributes": parts}


def evaluate_attributes(
    collection: Collection | FilePath,
    runs: GivenRun | Iterable[GivenRun],
    protocol: str | Protocol = DEFAULT_PROTOCOL,
    *,
    measures: Named | Iterable[Named] = (),
    **settings: Any,
) -> AttributeResults:
    """The scores of runs on each dimension of the protocol alone, on each of its sets, and on all of them."""
    opened = as_collection(collection)
    loaded = [as_run(opened, run) for run in given_runs(runs)]
    chosen = settle_protocol(protocol, **settings)
    listed = listed_measures(measures)
    overall = evaluate(opened, loaded, chosen, measures=listed)
    quick = replace(chosen, n_resamples=QUICK)
    scored = opened.default_groups(chosen.dimensions)
    names = [*scored, *(dict(chosen.sets) if scored == chosen.dimensions else ())]
    parts = {name: evaluate(opened, loaded, quick, name, measures=listed) for name in names}
    return AttributeResults(overall, parts)
