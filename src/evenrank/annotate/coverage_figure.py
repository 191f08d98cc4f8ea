"""The coverage report as a figure: for each group, the share of its pages with a continent and with an item."""

from __future__ import annotations

from pathlib import Path

from evenrank.annotate.coverage import CoverageRow
from evenrank.errors import EvenrankError, MissingExtraError
from evenrank.formats.atomic import atomic_file

FORMATS = ("pdf", "png", "svg")
SHOWN = {
    "item": ("o", "has an item"),
    "continent": ("s", "has a continent"),
    "citizenship": ("^", "citizenship stated"),
}


def check_figure(path: Path) -> None:
    """Raise before any work when the figure cannot be made."""
    if path.suffix[1:] not in FORMATS:
        raise EvenrankError(f"{path}: a figure is written as {', '.join(FORMATS)}: give a name that ends so")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError("a figure", "report") from None


def draw_coverage(rows: list[CoverageRow], path: Path) -> None:
    """Write the figure; the same rows give the same bytes."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    format_ = path.suffix[1:]
    dateless = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": None}[format_]
    with rc_context({"svg.hashsalt": "evenrank", "svg.fonttype": "none"}):
        figure = Figure(figsize=(7, 1.2 + 0.28 * len(rows)), layout="constrained")
        axes = figure.subplots()
        names = [row.group if row.kind == "all" else f"{row.kind}: {row.group}" for row in rows]
        for fact, (marker, label) in SHOWN.items():
            axes.plot([_drawable(row.shares[fact]) for row in rows], names, marker, label=label, alpha=0.8)
        axes.set(xlim=(-0.02, 1.02), xlabel="share of the group's pages (of its people, for citizenship)")
        axes.invert_yaxis()
        axes.grid(axis="both", alpha=0.3)
        figure.legend(loc="outside upper center", ncols=len(SHOWN), frameon=False)
        with atomic_file(path) as file:
            figure.savefig(file, format=format_, dpi=150, metadata=dateless)


def _drawable(share: float | None) -> float:
    """A share; not a number where there is none, which is not drawn."""
    return float("nan") if share is None else share
