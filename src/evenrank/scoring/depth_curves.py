"""Relevance and fairness of Task 1 runs at several depths: is a list fair where people look?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenrank.core.groups import GroupNames
from evenrank.core.protocol import DEFAULT_PROTOCOL, Protocol
from evenrank.core.safe_text import figure_text
from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError
from evenrank.io.figures import COLOURS, clean_axes, direction_label, new_figure
from evenrank.measures.registry import as_measure
from evenrank.scoring.evaluate import evaluate
from evenrank.scoring.protocol_settings import settle_protocol
from evenrank.scoring.results import Results
from evenrank.scoring.tables import Cell, Column, Table, TableResult
from evenrank.trec.collection import Collection, GivenRun, as_collection, as_run, given_runs

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEASURES = ("nDCG", "AWRF", "Score")
"""Measures of the curves; Score is their product topic by topic, not that of the means."""
DEPTHS = (5, 10, 20, 50, 100, 200, 500, 1000)
"""Depths, unless others are asked for; those beyond the protocol's depth are left out."""
MAX_DEPTHS = 50
STYLES = ("-", "--", ":", "-.")
"""Lines of runs beyond the colours differ by style."""


@dataclass(frozen=True, repr=False)
class DepthCurves(TableResult):
    """Means over topics of nDCG, AWRF and Score on the first ranks, by run and depth."""

    results: Results
    depths: tuple[int, ...]

    def values(self, run: str, measure: str) -> list[float]:
        """A measure of a run at each depth."""
        scores = self.results[run].scores
        return [scores[f"{measure}@{depth}"] for depth in self.depths]

    @property
    def runs(self) -> list[str]:
        """Names of the runs, best first at full depth."""
        return [run.run for run in self.results.of_task(1)]

    def table(self) -> Table:
        """A row per run and depth."""
        columns = [Column(name, higher_is_better=as_measure(name, 1).higher_is_better) for name in MEASURES]
        rows: list[tuple[Cell, ...]] = []
        for run in self.runs:
            by_measure = [self.values(run, name) for name in MEASURES]
            rows += [(run, *row) for row in zip(self.depths, *by_measure, strict=True)]
        return Table((Column("run"), Column("depth"), *columns), tuple(rows), "Task 1 by depth")

    def _shown(self) -> tuple[list[Table], list[str]]:
        return [self.table()], []

    def to_json(self) -> dict[str, Any]:
        """Protocol, depths and the values of each run by measure, in the order of the depths."""
        runs = [{"run": run, **{name: self.values(run, name) for name in MEASURES}} for run in self.runs]
        return {"protocol": self.results.protocol.settings(), "depths": list(self.depths), "runs": runs}

    def plot(self) -> Figure:
        """A panel per measure, a line per run, depth on a logarithmic axis; `.savefig(path)` keeps it.

        The legend names runs best first.
        """
        figure, panels = new_figure(10.5, 3.6, 1, len(MEASURES), squeeze=False)
        for axes, name in zip(panels[0], MEASURES, strict=True):
            for number, run in enumerate(self.runs):
                style = STYLES[number // len(COLOURS) % len(STYLES)]
                colour = COLOURS[number % len(COLOURS)]
                look = {"marker": "o", "ms": 3, "color": colour, "label": figure_text(run)}
                axes.plot(self.depths, self.values(run, name), style, **look)
            axes.set_xscale("log")
            axes.set_xticks(self.depths, [str(depth) for depth in self.depths], rotation=45)
            axes.minorticks_off()
            axes.set_xlabel("depth")
            axes.set_ylabel(f"{name} {direction_label(as_measure(name, 1).higher_is_better)}")
            clean_axes(axes, "y")
        panels[0][0].set_title("Task 1 by depth")
        panels[0][-1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
        return figure


def depth_curves(
    collection: Collection | FilePath,
    runs: GivenRun | Iterable[GivenRun],
    depths: Sequence[int] = (),
    protocol: str | Protocol = DEFAULT_PROTOCOL,
    groups: GroupNames = "intersection",
    **settings: Any,
) -> DepthCurves:
    """nDCG, AWRF and Score of Task 1 runs on their first ranks, at several depths (by default 5, 10, 20, … 1000).

    At each depth the ideal ranking of nDCG has that depth too, so a curve says how good the first ranks are, not how
    much of everything relevant they contain.
    """
    opened = as_collection(collection)
    loaded = [as_run(opened, run) for run in given_runs(runs)]
    chosen = settle_protocol(protocol, **settings)
    wrong = [run.name for run in loaded if run.task != 1]
    if wrong:
        raise EvenrankError(f"curves by depth are of Task 1 runs; of Task 2: {', '.join(wrong)}")
    checked = check_depths(depths, chosen.depth(1))
    names = [f"{name}@{depth}" for name in MEASURES for depth in checked]
    quick = settle_protocol(chosen, n_resamples=2, operation_order="any")
    return DepthCurves(evaluate(opened, loaded, quick, groups, measures=names), checked)


def check_depths(depths: Sequence[int], most: int) -> tuple[int, ...]:
    """The depths ascending, each once; EvenrankError when one is not a rank that is scored."""
    if not depths:
        return (*(depth for depth in DEPTHS if depth < most), most)
    wrong = [depth for depth in depths if type(depth) is not int or not 1 <= depth <= most]
    if wrong or len(set(depths)) > MAX_DEPTHS:
        found = ", ".join(map(repr, wrong[:MAX_DEPTHS])) if wrong else f"{len(set(depths))} of them"
        raise EvenrankError(
            f"depths: {found} (give up to {MAX_DEPTHS} whole numbers from 1 to {most:,}, the depth that is scored)"
        )
    return tuple(sorted(set(depths)))
