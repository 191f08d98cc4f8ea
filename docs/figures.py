"""Draws the figures of the explanations and of the reference pages, from computations of this package.

    python docs/figures.py            # all of them, into docs/images/figures
    python docs/figures.py awrf bound # some of them

Most figures use one small example: twelve articles from three regions, with the probability that each is relevant.
`tests/docs/test_figures.py` draws all of them again and compares the bytes.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

import evenrank
from evenrank.core.exposure import discounts
from evenrank.io.figures import COLOURS, FAINT, INK, figure_style, new_figure, save_figure_as
from evenrank.measures.awrf import awrf as awrf_of

FOLDER = Path(__file__).parent / "images" / "figures"
RELEVANCE = {
    "E1": 0.95, "E2": 0.9, "E3": 0.85, "E4": 0.8, "A1": 0.75, "E5": 0.6,
    "F1": 0.55, "A2": 0.45, "E6": 0.4, "F2": 0.3, "A3": 0.2, "E7": 0.1,
}  # fmt: skip
"""Article → probability that it is relevant; the first letter names its region."""
REGIONS = {"E": "Europe", "A": "Asia", "F": "Africa"}
COLOUR = {"Europe": COLOURS[0], "Asia": COLOURS[5], "Africa": COLOURS[2]}
LETTERING = {"Europe": "white", "Asia": INK, "Africa": "white"}
"""What can be read on the colour of a region."""
GROUPS = {article: REGIONS[article[0]] for article in RELEVANCE}
RELEVANT_SHARE = {"Europe": 0.67, "Asia": 0.18, "Africa": 0.15}
WORLD = {"Europe": 0.19, "Asia": 0.50, "Africa": 0.31}
TARGET = {region: (RELEVANT_SHARE[region] + WORLD[region]) / 2 for region in WORLD}
RELEVANCE_OF_QUERY = {"q": RELEVANCE}
LENGTH = 8
N_RANKINGS = 100


def lists_of(policy: str) -> list[list[str]]:
    """What a policy makes of the example: one list where it can make one, else a hundred."""
    options: dict[str, Any] = {"groups": GROUPS, "target": TARGET, "policy": policy, "k": LENGTH}
    try:
        return [evenrank.rerank({"q": RELEVANCE}, **options).to_dict()["q"]]
    except evenrank.errors.EvenrankError:
        return list(evenrank.rerank({"q": RELEVANCE}, **options, n_rankings=N_RANKINGS).to_dict()["q"])


def shares(rankings: Sequence[Sequence[str]]) -> dict[str, float]:
    """The share of all exposure that each region gets."""
    weights = discounts(LENGTH)
    given = dict.fromkeys(WORLD, 0.0)
    for ranking in rankings:
        for weight, article in zip(weights, ranking, strict=True):
            given[GROUPS[article]] += float(weight) / len(rankings)
    total = sum(given.values())
    return {region: value / total for region, value in given.items()}


def stack(axes: Axes, place: float, parts: Mapping[str, float], height: float = 0.62) -> None:
    """One bar of shares that add up to 1."""
    left = 0.0
    for region, share in parts.items():
        axes.barh(place, share, left=left, height=height, color=COLOUR[region], edgecolor="white")
        if share > 0.06:
            ink = LETTERING[region]
            axes.text(left + share / 2, place, f"{share:.0%}", ha="center", va="center", color=ink, fontsize=9)
        left += share


def bars(axes: Axes, rows: Mapping[str, Mapping[str, float]]) -> None:
    """Bars of shares under each other, the first on top, with a legend of regions."""
    for place, parts in enumerate(rows.values()):
        stack(axes, -place, parts)
    axes.set_yticks([-n for n in range(len(rows))], list(rows))
    axes.set_xlim(0, 1)
    axes.set_xticks([])
    for side in axes.spines.values():
        side.set_visible(False)
    axes.tick_params(length=0)
    legend(axes)


def legend(axes: Axes) -> None:
    """The colours of the regions, below the axes."""
    handles = [axes.barh(0, 0, color=colour, label=region) for region, colour in COLOUR.items()]
    axes.legend(handles=handles, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.02), frameon=False, fontsize=9)


def strip(axes: Axes, place: float, ranking: Sequence[str]) -> None:
    """A ranking from left to right, each article in the colour of its region."""
    for rank, article in enumerate(ranking):
        region = GROUPS[article]
        axes.barh(place, 0.92, left=rank + 0.54, height=0.8, color=COLOUR[region])
        axes.text(rank + 1, place, article, ha="center", va="center", color=LETTERING[region], fontsize=9)


def bare(axes: Axes, ranks: int = LENGTH) -> None:
    """Axes of ranks without anything else."""
    axes.set_xlim(0.4, ranks + 0.6)
    axes.set_xticks(range(1, ranks + 1))
    for side in axes.spines.values():
        side.set_visible(False)
    axes.tick_params(length=0)


def exposure() -> Figure:
    """Attention by rank, and what it adds up to for each region."""
    figure, (top, bottom) = new_figure(6.4, 3.6, 2, 1, height_ratios=[3, 1])
    ranking = lists_of("relevance")[0]
    weights = discounts(LENGTH)
    top.bar(range(1, LENGTH + 1), weights, color=[COLOUR[GROUPS[article]] for article in ranking], width=0.86)
    for rank, (article, weight) in enumerate(zip(ranking, weights, strict=True), 1):
        top.text(rank, float(weight) + 0.02, f"{weight:.2f}", ha="center", fontsize=8, color=FAINT)
        top.text(rank, 0.04, article, ha="center", color=LETTERING[GROUPS[article]], fontsize=9)
    bare(top)
    top.set_ylim(0, 1.12)
    top.set_yticks([])
    top.set_xlabel("rank")
    top.set_title("Attention by rank")
    bars(bottom, {"share of exposure": shares([ranking])})
    return figure


def target() -> Figure:
    """Half the relevant articles, half the world."""
    figure, axes = new_figure(6.4, 2.3)
    bars(axes, {"relevant articles": RELEVANT_SHARE, "the world": WORLD, "target": TARGET})
    axes.set_title("A target: halfway between two distributions")
    return figure


def awrf() -> Figure:
    """Two lists against the target, with AWRF beside each."""
    figure, axes = new_figure(7.0, 2.5)
    rows = {"list by relevance": lists_of("relevance"), "fair list": lists_of("optimal")}
    scored = evenrank.score(
        {name: {"q": one[0]} for name, one in rows.items()}, GROUPS, RELEVANCE_OF_QUERY, TARGET, measures=["AWRF"]
    )
    bars(axes, {"target": TARGET} | {name: shares(one) for name, one in rows.items()})
    for place, name in enumerate(rows, 1):
        axes.text(1.02, -place, f"AWRF {scored[name].scores['AWRF']:.3f}", va="center", fontsize=10)
    axes.set_title("AWRF: how close two bars are")
    return figure


def expected_exposure() -> Figure:
    """The same list a hundred times against a hundred different ones."""
    figure, panels = new_figure(7.4, 3.8, 1, 2, sharey=True, sharex=True)
    for axes, policy, title in zip(
        panels, ("relevance", "optimal"), ("the same list for all", "fair in turn"), strict=True
    ):
        options: dict[str, Any] = {"policy": policy, "k": LENGTH, "n_rankings": N_RANKINGS}
        rankings = evenrank.rerank(RELEVANCE_OF_QUERY, GROUPS, TARGET, **options).to_dict()["q"]
        scored = evenrank.score({title: {"q": rankings}}, GROUPS, RELEVANCE_OF_QUERY, TARGET, measures=["EE-L"])
        weights = discounts(LENGTH)
        given = dict.fromkeys(RELEVANCE, 0.0)
        for ranking in rankings:
            for weight, article in zip(weights, ranking, strict=True):
                given[article] += float(weight) / N_RANKINGS
        places = np.arange(len(given))[::-1]
        axes.barh(places, list(given.values()), color=[COLOUR[GROUPS[article]] for article in given])
        axes.set_yticks(places, list(given))
        axes.set_title(f"{title}: EE-L {scored[title].scores['EE-L']:.2f}")
        axes.set_xlabel("mean exposure over 100 rankings")
    return figure


def bound() -> Figure:
    """A score, the best of all lists and the proved bound on one line; every list of the example is counted."""
    from itertools import permutations

    figure, axes = new_figure(7.0, 2.4)
    certificate = evenrank.rerank(RELEVANCE_OF_QUERY, GROUPS, TARGET, k=LENGTH).certificates["q"]
    rng = np.random.default_rng(1)
    articles, weights = list(RELEVANCE), discounts(LENGTH)
    probability = np.array([RELEVANCE[article] for article in articles])
    ideal = float(np.sort(probability)[::-1][:LENGTH] @ weights)
    region = np.array([list(WORLD).index(GROUPS[article]) for article in articles])
    wanted = np.array(list(TARGET.values()))
    scores = []
    for _ in range(20_000):
        order = rng.permutation(len(articles))[:LENGTH]
        scores.append(_score(order, probability, ideal, region, weights, wanted))
    top = sorted(range(len(articles)), key=lambda n: -probability[n])[:8]
    best = max(_score(np.array(order), probability, ideal, region, weights, wanted) for order in permutations(top))
    axes.hist(scores, bins=60, color="#c9d6df", density=True)
    lines = {
        "by relevance": (_score(np.array(top), probability, ideal, region, weights, wanted), COLOURS[1], 0.9),
        "optimal": (float(certificate["score"]), COLOURS[0], 0.4),
        "proved bound": (float(certificate["upper_bound"]), INK, 0.55),
    }
    height = axes.get_ylim()[1]
    for name, (value, colour, level) in lines.items():
        axes.axvline(value, color=colour, linewidth=2)
        side = "right" if name == "by relevance" else "left"
        place = value - 0.004 if side == "right" else float(certificate["upper_bound"]) + 0.004
        axes.text(place, level * height, f"{name} {value:.4f}", color=colour, ha=side, va="top", fontsize=9)
    assert best <= float(certificate["upper_bound"]) + 1e-12
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlim(0.55, 1.06)
    axes.set_xlabel("Score = nDCG × AWRF of 20,000 random lists (grey)")
    axes.set_title("A certificate: no list is to the right of the bound")
    return figure


def _score(order: Any, probability: Any, ideal: float, region: Any, weights: Any, wanted: Any) -> float:
    given = np.bincount(region[order], weights, minlength=len(wanted))
    return float(probability[order] @ weights) / ideal * awrf_of(given, wanted)


def trade_off() -> Figure:
    """Relevance against fairness as the strength of fairness grows, for several policies."""
    figure, axes = new_figure(5.6, 3.8)
    strengths = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 16.0)
    for policy, name, colour in (("optimal", "fairness", COLOURS[0]), ("greedy", "fairness", COLOURS[1])):
        made = {
            str(s): evenrank.rerank(
                RELEVANCE_OF_QUERY, GROUPS, TARGET, policy=policy, k=LENGTH, settings={name: s}
            ).to_dict()
            for s in strengths
        }
        runs = evenrank.score(made, GROUPS, RELEVANCE_OF_QUERY, TARGET, measures=["nDCG", "AWRF"])
        points = [(run.scores["nDCG"], run.scores["AWRF"]) for run in runs.systems]
        axes.plot(*zip(*sorted(points), strict=True), "o-", color=colour, label=policy, markersize=5)
    for policy, marker in (("relevance", "s"), ("fa-ir", "^"), ("det-const-sort", "D"), ("proportional", "v")):
        run = evenrank.score(
            {policy: {"q": lists_of(policy)[0]}}, GROUPS, RELEVANCE_OF_QUERY, TARGET, measures=["nDCG", "AWRF"]
        ).systems[0]
        axes.plot(run.scores["nDCG"], run.scores["AWRF"], marker, color=FAINT, label=policy, markersize=7)
    axes.set_xlabel("nDCG (relevance →)")
    axes.set_ylabel("AWRF (fairness →)")
    axes.set_title("What fairness costs")
    axes.legend(frameon=False, fontsize=8)
    return figure


BOXES = {
    "dumps, corpus,\nmetadata": (0.2, 2.1), "collection\n+ index": (2.3, 2.1), "search": (4.4, 2.9),
    "target": (4.4, 1.3), "policy": (6.5, 2.1), "run": (8.2, 2.1), "judgments": (6.5, 0.2),
    "measures": (8.2, 0.2), "report": (9.9, 0.2), "web app": (9.9, 2.1),
}  # fmt: skip
ARROWS = [
    ("dumps, corpus,\nmetadata", "collection\n+ index"), ("collection\n+ index", "search"),
    ("collection\n+ index", "target"), ("search", "policy"), ("target", "policy"), ("policy", "run"),
    ("run", "web app"), ("run", "measures"), ("judgments", "measures"), ("measures", "report"),
]  # fmt: skip


def system() -> Figure:
    """The parts of the system and what goes from one to the next."""
    figure, axes = new_figure(8.6, 3.2)
    size = (1.3, 0.8)
    for name, (x, y) in BOXES.items():
        axes.add_patch(
            FancyBboxPatch((x, y), *size, boxstyle="round,pad=0.05", facecolor="#dcebf5", edgecolor=COLOURS[0])
        )
        axes.text(x + size[0] / 2, y + size[1] / 2, name, ha="center", va="center", fontsize=9)
    for start, end in ARROWS:
        (x, y), (u, v) = BOXES[start], BOXES[end]
        is_down = abs(x - u) < 0.1
        tail = (x + size[0] / 2, y - 0.08) if is_down else (x + size[0] + 0.08, y + size[1] / 2)
        head = (u + size[0] / 2, v + size[1] + 0.08) if is_down else (u - 0.08, v + size[1] / 2)
        axes.annotate("", head, tail, arrowprops={"arrowstyle": "->", "color": FAINT})
    axes.set_xlim(0, 11.6)
    axes.set_ylim(0, 4)
    axes.axis("off")
    return figure


def awrf_values() -> Figure:
    """AWRF of two groups that should get half of the attention each, by what one of them gets."""
    figure, axes = new_figure(6.4, 2.8)
    share = np.linspace(0.5, 1.0, 101)
    value = np.array([awrf_of(np.array([s, 1.0 - s]), np.array([0.5, 0.5])) for s in share])
    axes.plot(share, value, color=COLOURS[0], label="base 2 (paper-2021)")
    axes.plot(share, 1.0 - (1.0 - value) * np.log(2.0), color=COLOURS[1], label="base e (official-2021)")
    for at in (0.62, 0.75, 0.9, 1.0):
        axes.plot(at, np.interp(at, share, value), "o", color=COLOURS[0])
        axes.text(at, float(np.interp(at, share, value)) - 0.05, f"{np.interp(at, share, value):.2f}", ha="center")
    axes.set_ylim(0.6, 1.02)
    axes.set_xlim(0.49, 1.02)
    axes.xaxis.set_major_formatter("{x:.0%}")
    axes.set_xlabel("attention of one of two groups; the target is half")
    axes.set_ylabel("AWRF")
    axes.legend(frameon=False, fontsize=9, loc="lower left")
    return figure


def bounds() -> Figure:
    """Two lists of which the region of one article is unknown: as scored, as it is, and whatever it is."""
    figure, axes = new_figure(5.6, 2.1)
    rows = {"fair list": lists_of("optimal")[0], "list by relevance": lists_of("relevance")[0]}
    known = {article: region for article, region in GROUPS.items() if article != "A1"}
    runs = {name: {"q": one} for name, one in rows.items()}
    options: dict[str, Any] = {"measures": ["AWRF"]}
    scored = evenrank.score(runs, known, RELEVANCE_OF_QUERY, TARGET, bounds="none", **options)
    truth = evenrank.score(runs, GROUPS, RELEVANCE_OF_QUERY, TARGET, **options)
    assert scored.bounds is not None
    for place, name in enumerate(rows):
        bound = scored.bounds[name].scores["AWRF"]
        axes.plot([bound.low, bound.high], [-place] * 2, color="#9db8c9", linewidth=9, solid_capstyle="butt")
        for value, side in ((bound.low, "right"), (bound.high, "left")):
            gap = -0.002 if side == "right" else 0.002
            axes.text(value + gap, -place, f"{value:.3f}", ha=side, va="center", fontsize=9, color=FAINT)
        axes.plot(scored[name].scores["AWRF"], -place, "|", color=INK, markersize=16, markeredgewidth=2)
        axes.plot(truth[name].scores["AWRF"], -place, "D", color=COLOURS[1], markersize=7)
    axes.plot([], [], "|", color=INK, markersize=12, markeredgewidth=2, label="as scored")
    axes.plot([], [], "D", color=COLOURS[1], label="if it is Asian, as in truth")
    axes.set_yticks([0, -1], list(rows))
    axes.set_ylim(-1.5, 0.5)
    axes.set_xlim(0.82, 1.0)
    axes.set_xlabel("AWRF, whatever the region of A1 is (bar)")
    axes.legend(frameon=False, fontsize=9, ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.25))
    return figure


MEASURED = Path(__file__).parent / "decisions" / "measurements" / "uncertainty.md"
"""The page with the coverage of intervals."""
CELLS = {
    "complete data": "nothing unknown",
    "missing at random 20%": "20 % missing",
    "missing at random 60%": "60 % missing",
    "odds 3, 30% of the others missing": "missing, odds 3",
    "errors 10%, rate known": "10 % wrong",
    "odds 2, errors 5%, pool 10": "all, and a pool",
}


def coverage() -> Figure:
    """How many of 1,000 intervals contain the truth, with and without what is unknown."""
    lines = MEASURED.read_text("utf-8").splitlines()
    rows = {cells[1]: cells for line in lines if len(cells := [cell.strip() for cell in line.split("|")]) == 10}
    figure, axes = new_figure(4.8, 2.6)
    for place, (cell, label) in enumerate(CELLS.items()):
        with_model, alone = float(rows[cell][2]), float(rows[cell][5])
        axes.plot([alone, with_model], [-place] * 2, color="#c9d6df", linewidth=2, zorder=1)
        axes.plot(alone, -place, "o", color=COLOURS[1], label=None if place else "topics only")
        axes.plot(with_model, -place, "o", color=COLOURS[0], label=None if place else "with what is unknown")
        axes.text(-0.02, -place, label, ha="right", va="center", fontsize=9)
    axes.axvline(0.95, color=FAINT, linewidth=1, linestyle=":")
    axes.set_yticks([])
    axes.set_xlim(0.0, 1.01)
    axes.set_xlabel("share of 95 % intervals that contain the truth")
    axes.legend(frameon=False, fontsize=9, ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.2))
    return figure


WORLDS = Path(__file__).parents[1] / "benchmarks" / "results" / "worlds.json"
"""What `benchmarks/worlds.py` measured."""


def worlds() -> Figure:
    """Regret of every policy, a dot for each world: lists on the left, sequences on the right."""
    measured = json.loads(WORLDS.read_text("utf-8"))["worlds"]
    figure, panels = new_figure(7.4, 3.4, 1, 2)
    shown = (
        (1, "mean over depths", 100.0, "regret of lists, % of Score"),
        (2, "EE-L/T2", 1.0, "regret in EE-L / ‖T‖²"),
    )
    for axes, (task, measure, scale, label) in zip(panels, shown, strict=True):
        by_policy: dict[str, list[float]] = defaultdict(list)
        for one in (one for world in measured for one in world["regrets"]):
            if (one["task"], one["measure"]) == (task, measure):
                by_policy[one["policy"].partition(" (")[0].partition(",")[0]].append(scale * one["regret"])
        dots(axes, by_policy)
        axes.set_xlabel(label)
    return figure


def dots(axes: Axes, by_policy: Mapping[str, Sequence[float]]) -> None:
    """A row of dots for each policy, the smallest mean on top, with a bar at the mean."""
    ordered = sorted(by_policy, key=lambda policy: float(np.mean(by_policy[policy])))
    for place, policy in enumerate(ordered):
        values = by_policy[policy]
        colour = COLOURS[1] if policy == "optimal" else COLOURS[0]
        axes.plot(values, [-place] * len(values), "o", color=colour, alpha=0.45, markersize=5, markeredgewidth=0)
        axes.plot(np.mean(values), -place, "|", color=INK, markersize=13, markeredgewidth=1.5)
    axes.set_yticks([-n for n in range(len(ordered))], ordered, fontsize=9)


def policy_figure(name: str) -> Figure:
    """What a policy makes of the example: the list, or how often each article is at each rank; shares and target."""
    rankings = lists_of(name)
    figure, (top, bottom) = new_figure(6.2, 2.6, 2, 1, height_ratios=[1, 1.5])
    if len(rankings) == 1:
        strip(top, 0, rankings[0])
    else:
        regions, codes = list(COLOUR), [[list(COLOUR).index(GROUPS[one]) for one in ranking] for ranking in rankings]
        palette = ListedColormap([COLOUR[region] for region in regions])
        extent = (0.5, LENGTH + 0.5, 0.0, 1.0)
        top.imshow(codes, palette, vmin=0, vmax=2, aspect="auto", interpolation="nearest", extent=extent)
    bare(top)
    top.set_yticks([])
    top.set_title("one list of 8" if len(rankings) == 1 else "100 rankings of 8, one below the other")
    bars(bottom, {"exposure": shares(rankings), "target": TARGET})
    return figure


ORDINAL = ("AWRF-OD", "GF-NMD", "GF-RNOD")
"""Measures of groups in an order; the example takes the regions in the order of their names."""
BOUNDED = ("nEE-L", "nEE-D", "nEE-R")
"""Measures that need geometric attention."""


def measure_figure(name: str) -> Figure:
    """The value of a measure for four rankings of the example."""
    by_relevance, fair = lists_of("relevance"), lists_of("optimal")
    rows = {
        "by relevance": by_relevance[0],
        "fair": fair[0],
        "by relevance, reversed": by_relevance[0][::-1],
        "the least relevant": list(RELEVANCE)[: -LENGTH - 1 : -1],
    }
    judged = {"q": {article: float(p >= 0.5) for article, p in RELEVANCE.items()}}
    figure, (left, right) = new_figure(7.0, 1.9, 1, 2, width_ratios=[1.6, 1])
    values = []
    for place, (label, ranking) in enumerate(rows.items()):
        strip(left, -place, ranking)
        ranked = {"q": [ranking] * 2} if 1 not in evenrank.MEASURES[name].tasks else {"q": ranking}
        groups = {"region:ordinal": GROUPS} if name in ORDINAL else GROUPS
        reading = {"attention": "rbp:0.8"} if name in BOUNDED else {}
        scored = evenrank.score({label: ranked}, groups, judged, TARGET, measures=[name], k=LENGTH, **reading)
        values.append(scored.systems[0].scores[name])
    bare(left)
    left.set_yticks([-n for n in range(len(rows))], list(rows))
    places = [-n for n in range(len(rows))]
    right.barh(places, np.nan_to_num(values), color="#9db8c9", height=0.7)
    low, high = min(0.0, *np.nan_to_num(values)), max(0.0, *np.nan_to_num(values))
    for place, value in zip(places, values, strict=True):
        said = "undefined" if np.isnan(value) else f"{value:.3f}"
        right.text(max(0.0, np.nan_to_num(value)), place, f" {said}", va="center", fontsize=9)
    right.set_xlim(low * 1.1, (high or 1.0) * 1.35)
    right.set_yticks([])
    right.set_title(name)
    return figure


EXPLANATIONS: dict[str, Callable[[], Figure]] = {
    "exposure": exposure,
    "target": target,
    "awrf": awrf,
    "expected-exposure": expected_exposure,
    "bound": bound,
    "trade-off": trade_off,
    "system": system,
    "awrf-values": awrf_values,
    "bounds": bounds,
    "coverage": coverage,
    "worlds": worlds,
}
WITHOUT_FIGURE = {"mmr"}
"""Policies that compare texts, which the articles of the example do not have."""


def slug(name: str) -> str:
    """The name of a policy or measure as part of a file name."""
    return name.lower().replace("/", "-per-")


def figures() -> dict[str, Callable[[], Figure]]:
    """Every figure by the name of its file."""
    made = dict(EXPLANATIONS)
    for policy in evenrank.POLICIES:
        if policy not in WITHOUT_FIGURE:
            made[f"policy-{policy}"] = partial(policy_figure, policy)
    for measure in evenrank.MEASURES:
        made[f"measure-{slug(measure)}"] = partial(measure_figure, measure)
    return made


def draw(names: Sequence[str], folder: Path = FOLDER) -> list[Path]:
    """The figures of these names, or all of them, as SVG files."""
    chosen = figures()
    paths = []
    with figure_style(), rc_context({"svg.fonttype": "none"}):  # text stays text: small files that can be searched
        for name in names or chosen:
            path = folder / f"{name}.svg"
            save_figure_as(chosen[name](), path)
            paths.append(path)
    return paths


if __name__ == "__main__":
    for drawn in draw(sys.argv[1:]):
        print(drawn.name)
