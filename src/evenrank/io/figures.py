"""The style of every figure, and saving figures so that the same figure gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenrank.errors import EvenrankError, MissingExtraError
from evenrank.io.atomic import atomic_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#8C564B", "#000000")
"""Eight colours that people with any kind of colour vision can tell apart (Okabe and Ito 2008; brown for yellow)."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
"""Shapes that turn over at another pace than the colours, so that no two of 56 runs look alike."""
INK, FAINT, GRID = "#1a1a1a", "#6b6b6b", "#d9d9d9"
STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 9,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "text.color": INK,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.hashsalt": "evenrank",
    "pdf.fonttype": 42,
}
FORMATS: dict[str, dict[str, Any]] = {
    "pdf": {"metadata": {"CreationDate": None, "Creator": None, "Producer": None}},
    "svg": {"metadata": {"Date": None, "Creator": None}},
    "png": {"metadata": {"Software": None}, "dpi": 200},
}
"""File endings, each with the options that keep dates and versions out of the file."""


def check_figure(path: Path) -> None:
    """Raise before any work when a figure cannot be drawn or its file name has an unknown ending."""
    if path.suffix[1:] not in FORMATS:
        endings = ", ".join(f".{ending}" for ending in FORMATS)
        raise EvenrankError(f"{path}: not a figure's file name (choose an ending from {endings})")
    require_matplotlib()


def require_matplotlib() -> None:
    """MissingExtraError when matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError("a figure", "report") from None


@contextmanager
def figure_style() -> Iterator[None]:
    """Figures drawn inside have the style of this package; MissingExtraError when matplotlib is not installed."""
    require_matplotlib()
    import matplotlib

    with matplotlib.rc_context(STYLE):  # type: ignore[arg-type]
        yield


def new_figure(width: float, height: float, rows: int = 1, columns: int = 1, **options: Any) -> tuple[Figure, Any]:
    """A figure in inches and its axes, without the global state of pyplot."""
    figure = _figure_class()(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, **options)


@cache
def _figure_class() -> type[Figure]:
    """Figures that every notebook shows: matplotlib's own are drawn only after pyplot or `%matplotlib` set one up."""
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        def _repr_png_(self) -> bytes:
            from io import BytesIO

            drawn = BytesIO()
            self.savefig(drawn, format="png", dpi=100)
            return drawn.getvalue()

    return NotebookFigure


def save_figure(figure: Figure, folder: Path, name: str) -> list[Path]:
    """The figure as PDF, SVG and PNG; saved again it gives the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{ending}" for ending in FORMATS]
    for path in paths:
        save_figure_as(figure, path)
    return paths


def save_figure_as(figure: Figure, path: Path) -> None:
    """The figure in the format of the file's ending; saved again it gives the same bytes."""
    ending = path.suffix[1:]
    with atomic_file(path) as file:
        figure.savefig(file, format=ending, **FORMATS[ending])


def look_of(number: int) -> tuple[str, str]:
    """(colour, marker) of the run with that place."""
    turn = number // len(COLOURS)
    return COLOURS[number % len(COLOURS)], MARKERS[(number + turn) % len(MARKERS)]


def dark(colour: str) -> tuple[float, float, float]:
    """The colour dark enough for text on white."""
    from matplotlib.colors import to_rgb

    red, green, blue = (0.62 * part for part in to_rgb(colour))
    return red, green, blue


def direction_label(higher_is_better: bool) -> str:
    """Which way is better, to appear beside a measure's name on an axis.

    The labels of upright axes are turned, arrows included: `→` points up there.
    """
    return "(higher is better →)" if higher_is_better else "(lower is better ←)"


def clean_axes(axes: Axes, grid: str = "both") -> None:
    """A light grid behind the data, no tick marks."""
    axes.grid(True, axis=grid)  # type: ignore[arg-type]
    axes.tick_params(length=0)
