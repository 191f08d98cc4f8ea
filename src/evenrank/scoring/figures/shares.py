"""Attention beside target, group by group: the figure of `evenrank.score(…).plot()`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evenrank.core.safe_text import figure_text
from evenrank.errors import EvenrankError
from evenrank.io.figures import COLOURS, clean_axes, figure_style, look_of, new_figure
from evenrank.scoring.results import GroupShare

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MAX_GROUPS = 25
"""Groups shown of one grouping: those with the largest targets."""
GROUP_HEIGHT, BAR_HEIGHT, LINE_HEIGHT = 0.42, 0.12, 0.2
"""Inches that a group takes at least, that each of its bars takes at least, and that a line of the legend takes."""
MAX_SYSTEMS_INSIDE = 6
"""Systems whose names fit into the figure; those of more appear beside it."""
HATCHES = ("", "///", "...", "xxx")
"""Patterns of bars, changed when all colours are used up."""


def share_figure(shares: Sequence[GroupShare]) -> Figure:
    """A panel for each grouping: bars for the attention that systems give to each group, a line for its target."""
    if not shares:
        raise EvenrankError("nothing to plot: the scores have no groups")
    with figure_style():
        return _figure(shares)


def _figure(shares: Sequence[GroupShare]) -> Figure:
    groupings = list(dict.fromkeys(share.grouping for share in shares))
    n_groups = [min(MAX_GROUPS, len({s.group for s in shares if s.grouping == name})) for name in groupings]
    n_systems = len({share.system for share in shares})
    is_inside = n_systems <= MAX_SYSTEMS_INSIDE
    height = 1.2 + max(GROUP_HEIGHT, BAR_HEIGHT * n_systems + 0.1) * sum(n_groups)
    size = (7.2, height) if is_inside else (8.6, max(height, 1.2 + LINE_HEIGHT * n_systems))
    figure, axes = new_figure(*size, len(groupings), 1, squeeze=False, height_ratios=n_groups)
    for panel, name in zip(axes[:, 0], groupings, strict=True):
        _draw(panel, [share for share in shares if share.grouping == name], name)
    place = {"loc": "lower right"} if is_inside else {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}
    axes[0, 0].legend(frameon=False, fontsize=8, **place)
    return figure


def _draw(axes: Axes, shares: Sequence[GroupShare], name: str) -> None:
    largest = sorted({s.group: s.target for s in shares}.items(), key=lambda pair: -pair[1])[:MAX_GROUPS]
    groups = [group for group, _ in largest]
    systems = list(dict.fromkeys(share.system for share in shares))
    height = 0.8 / len(systems)
    by_key = {(share.system, share.group): share for share in shares}
    for number, system in enumerate(systems):
        colour, _ = look_of(number)
        places = [at - 0.4 + (number + 0.5) * height for at in range(len(groups))]
        hatch = HATCHES[number // len(COLOURS) % len(HATCHES)]
        widths = [by_key[system, group].attention for group in groups]
        axes.barh(
            places, widths, height, color=colour, edgecolor="white", linewidth=0, hatch=hatch, label=figure_text(system)
        )
    for at, group in enumerate(groups):
        target = by_key[systems[0], group].target
        axes.plot([target, target], [at - 0.45, at + 0.45], color="black", lw=2, label="target" if at == 0 else None)
    axes.set_yticks(range(len(groups)), list(map(figure_text, groups)))
    axes.invert_yaxis()
    axes.set_xlabel("share of attention")
    axes.set_title(figure_text(name))
    clean_axes(axes, "x")
