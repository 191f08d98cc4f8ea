"""The frontier as a figure: a thin line for each topic, a strong one for their mean."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evenrank.errors import MissingExtraError
from evenrank.formats.atomic import atomic_file
from evenrank.ranking.pareto import FrontierPoint
from evenrank.records import Task

FIGURES = ("pdf", "png", "svg")
LABELS: dict[Task, str] = {
    1: "AWRF, estimated (higher is fairer)",
    2: "expected exposure loss EE-L, estimated (lower is fairer)",
}


def check_matplotlib() -> None:
    """Raise before any work when figures cannot be drawn."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError("a figure", "report") from None


def draw_frontier(
    task: Task, frontiers: Sequence[Sequence[FrontierPoint]], mean: Sequence[FrontierPoint], path: Path
) -> None:
    """Write the figure; the same frontiers give the same bytes."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    format_ = path.suffix[1:]
    dateless = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": None}[format_]
    with rc_context({"svg.hashsalt": "evenrank", "svg.fonttype": "none"}):
        figure = Figure(figsize=(6.4, 4.4), layout="constrained")
        axes = figure.subplots()
        for points in frontiers if len(frontiers) > 1 else ():
            axes.plot(*_line(points), color="0.75", linewidth=0.7, zorder=1)
        axes.plot(*_line(mean), "o-", color="tab:blue", markersize=4, zorder=2)
        for point in mean:
            axes.annotate(f"{point.fairness:g}", (point.relevance_share, point.measure), fontsize=7, xytext=(3, 4),
                          textcoords="offset points")  # fmt: skip
        n_topics = f"mean of {len(frontiers)} topics" if len(frontiers) > 1 else "one topic"
        axes.set(xlabel="relevance kept, of the order by relevance", ylabel=LABELS[task])
        axes.set_title(f"Task {task}, {n_topics}; numbers are weights of fairness", fontsize=9)
        if task == 2 and min(point.measure for points in (*frontiers, mean) for point in points) > 0.0:
            axes.set_yscale("log")
        axes.grid(alpha=0.3)
        with atomic_file(path) as file:
            figure.savefig(file, format=format_, dpi=150, metadata=dateless)


def _line(points: Sequence[FrontierPoint]) -> tuple[list[float], list[float]]:
    return [point.relevance_share for point in points], [point.measure for point in points]
