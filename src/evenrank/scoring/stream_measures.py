"""Measures of a stream of rankings: unfairness so far, the worst-served group, utility and switches, over time.

A stream is scored from what was logged and from the relevance that the caller knows to be true; no policy sees that.
"""

from __future__ import annotations

import math
import os
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenrank.core.exposure import parse_attention
from evenrank.core.safe_text import figure_text
from evenrank.errors import EvenrankError, input_error, reason_of
from evenrank.io.figures import clean_axes, figure_style, look_of, new_figure, save_figure_as
from evenrank.ranking.stream import Stream, check_stream_target
from evenrank.ranking.stream_log import Item, StreamQuery, StreamRanking, read_log
from evenrank.ranking.stream_state import Accounting, Exposure
from evenrank.scoring.intervals import Interval
from evenrank.scoring.tables import Cell, Column, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_BLOCKS = 20
"""Consecutive blocks of a stream, whose differences give intervals."""
CONFIDENCE = 0.95
LEAST_TARGET = 0.001
"""Least share of the target of a group that can be the worst-served: the ratio of smaller ones is noise."""

Grades = Mapping[tuple[str, Item], float] | Callable[[str, Item], float]


class StreamPoint(NamedTuple):
    """The stream after some requests."""

    request: int
    utility: float
    """Of the requests since the point before."""
    unfairness: float
    """Over all requests so far."""
    worst_group: str | None
    worst_ratio: float


@dataclass
class _Sums:
    """Sums over some requests; everything measured is a function of these."""

    n_requests: int = 0
    utility: float = 0.0
    ideal: float = 0.0
    n_switched: float = 0.0
    n_pairs: float = 0.0
    exposure: dict[str, float] = field(default_factory=dict)
    claims: dict[str, float] = field(default_factory=dict)

    def add(self, other: _Sums, sign: float = 1.0) -> None:
        self.n_requests += int(sign * other.n_requests)
        self.utility += sign * other.utility
        self.ideal += sign * other.ideal
        self.n_switched += sign * other.n_switched
        self.n_pairs += sign * other.n_pairs
        for mine, theirs in ((self.exposure, other.exposure), (self.claims, other.claims)):
            for group, value in theirs.items():
                mine[group] = mine.get(group, 0.0) + sign * value


@dataclass(frozen=True)
class StreamMeasures:
    """What was measured of one stream."""

    name: str
    n_requests: int
    values: dict[str, float]
    """Measure → value over the whole stream. Higher is better for the first two and `worst_ratio`.

    `utility` is the mean over requests of Σ attention × relevance, `quality` the utility as a share of that of the
    relevance order, `unfairness` the Euclidean distance between the groups' shares of exposure and their target,
    `worst_ratio` exposure over target of the worst-served group with at least 0.1 % of the target, and `switches` the
    share of pairs of items in another order than when the query was last ranked.
    """
    intervals: dict[str, Interval]
    """Measure → 95 % interval: jackknife over consecutive blocks of requests. Empty for fewer than two blocks."""
    worst_group: str | None
    """None where no group has a target."""
    shares: dict[str, tuple[float, float]]
    """Group → its shares of exposure and of the target."""
    points: tuple[StreamPoint, ...]
    """The stream over time."""
    settings: dict[str, Any]
    """Everything that the numbers depend on."""

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {value:.4f}" for name, value in self.values.items())
        return f"<StreamMeasures {self.name}: {self.n_requests:,} requests, {shown}>"

    def to_json(self) -> dict[str, Any]:
        """Plain data, as `evenrank stream --format json` prints it."""
        return {
            "name": self.name,
            "n_requests": self.n_requests,
            "measures": self.values,
            "intervals": {name: asdict(interval) for name, interval in self.intervals.items()},
            "worst_group": self.worst_group,
            "groups": {group: {"exposure": e, "target": t} for group, (e, t) in self.shares.items()},
            "over_time": [point._asdict() for point in self.points],
            "settings": self.settings,
        }

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Unfairness, worst-served group and utility over time; saved where a path is given."""
        return plot_streams([self], path)


def measure_stream(
    rankings: Iterable[StreamRanking] | str | os.PathLike[str],
    grades: Grades | Sequence[Sequence[float]] | None = None,
    *,
    target: str | Mapping[str, float] | None = None,
    attention: str | None = None,
    exposure: Exposure | None = None,
    blocks: int = N_BLOCKS,
    name: str = "stream",
) -> StreamMeasures:
    """Measure rankings that a stream gave, or those of its log.

    `grades` say what was really relevant: by (query, item), or for each ranking the grades of its candidates in the
    order in which they were given. Without them the relevance that the policy saw is taken for true. With the exposure
    `clicks`, `rankings` is a log. Target, attention and exposure that are left out are those of the log or, for
    rankings, `relevant`, `log` and `position`.
    """
    if isinstance(blocks, bool) or not isinstance(blocks, int) or not 1 <= blocks <= 1000:
        raise EvenrankError(f"blocks is {blocks!r}, but must be a whole number from 1 to 1000")
    listed_rankings, clicks, logged, logged_target = _gathered(rankings)
    model = logged.attention if attention is None else str(parse_attention(attention))
    accounting = Accounting(model, logged.exposure if exposure is None else exposure)
    wanted = check_stream_target(logged_target if target is None else target)
    if accounting.exposure == "clicks" and not isinstance(rankings, str | os.PathLike):
        raise EvenrankError("clicks are measured from the log of a stream (give its file)")
    truths = _truths(listed_rankings, grades)
    sums = _each_request(listed_rankings, truths, accounting, wanted, clicks)
    n_requests = len(listed_rankings)
    n_blocks = min(blocks, n_requests)
    in_blocks, points = _in_blocks(sums, n_requests, n_blocks, wanted)
    whole = _Sums()
    for one in in_blocks:
        whole.add(one)
    worst, _ = _worst(whole, wanted)
    return StreamMeasures(
        name=name,
        n_requests=n_requests,
        values=_values(whole, wanted),
        intervals=_jackknife(in_blocks, whole, wanted) if n_blocks > 1 else {},
        worst_group=worst,
        shares={group: (e, t) for group, e, t in _shares(whole, wanted)},
        points=tuple(points),
        settings={"target": wanted, "attention": model, "exposure": accounting.exposure, "blocks": n_blocks},
    )


class _Gathered(NamedTuple):
    """What is to be measured."""

    rankings: list[StreamRanking]
    clicks: dict[int, dict[Item, float]]
    """By the number of their ranking."""
    accounting: Accounting
    """Of the log."""
    target: object
    """Of the log, unchecked; the last one where it was changed."""


def _gathered(rankings: Iterable[StreamRanking] | str | os.PathLike[str]) -> _Gathered:
    """Rankings as they are given, or those of a log with everything that it says about them."""
    if not isinstance(rankings, str | os.PathLike):
        found = list(rankings)
        if wrong := [one for one in found if not isinstance(one, StreamRanking)]:
            raise EvenrankError(f"rankings hold a {type(wrong[0]).__name__} (give what `Stream.rank` returned)")
        return _Gathered(_some(found), {}, Accounting(), "relevant")
    found = []
    clicks: dict[int, dict[Item, float]] = {}
    accounting, target = Accounting(), "relevant"
    for line, record in read_log(rankings):
        try:
            if line == 1:
                accounting = Accounting(**record["state"]["accounting"])
            if "setup" in record:
                target = record["setup"]["target"]
            elif "clicks" in record:
                counts = clicks.setdefault(record["clicks"], {})
                for item, count in record["items"]:
                    counts[item] = counts.get(item, 0.0) + count
            elif "order" in record:
                found.append(StreamRanking.from_json(record))
        except (KeyError, TypeError, ValueError, EvenrankError) as error:
            raise input_error(rankings, line, reason_of(error), "restore the log from a copy") from None
    return _Gathered(_some(found), clicks, accounting, target)


def _some(rankings: list[StreamRanking]) -> list[StreamRanking]:
    if not rankings:
        raise EvenrankError("nothing to measure: the stream has no rankings")
    return rankings


def _truths(
    rankings: list[StreamRanking], grades: Grades | Sequence[Sequence[float]] | None
) -> Iterator[NDArray[np.float64]]:
    """True relevance of the candidates of each ranking, in the order in which they were given."""
    if grades is None:
        return (np.array([one.relevance for one in ranking.candidates], np.float64) for ranking in rankings)
    if isinstance(grades, Mapping):
        known = grades
        return (np.array([known.get((r.query, one.item), 0.0) for one in r.candidates], np.float64) for r in rankings)
    if callable(grades):
        asked = grades
        return (np.array([asked(r.query, one.item) for one in r.candidates], np.float64) for r in rankings)
    if [len(row) for row in grades] != [len(ranking) for ranking in rankings]:
        raise EvenrankError("grades: there must be one for each candidate of each ranking")
    return (np.array(row, np.float64) for row in grades)


def _each_request(
    rankings: list[StreamRanking],
    truths: Iterable[NDArray[np.float64]],
    accounting: Accounting,
    target: str | Mapping[str, float],
    clicks: dict[int, dict[Item, float]],
) -> Iterator[_Sums]:
    """What each request adds."""
    last: dict[str, StreamRanking] = {}
    for ranking, truth in zip(rankings, truths, strict=True):
        if not (truth >= 0.0).all() or not (truth < math.inf).all():
            raise EvenrankError(f"grades of ranking {ranking.number} of {ranking.query!r} are not numbers from 0 on")
        ranked = truth[list(ranking.order)]
        attention = accounting.attention_of(ranked)
        ideal = np.sort(truth)[::-1]
        sums = _Sums(1, float(attention @ ranked), float(accounting.attention_of(ideal) @ ideal))
        if accounting.exposure == "clicks":
            counts = clicks.get(ranking.number, {})
            given = np.array([counts.get(item, 0.0) for item in ranking])
        else:
            given = attention * accounting.per_attention(ranked)
        claimed = ranked if target == "relevant" else np.ones(len(ranked))
        for one, amount, claim in zip(ranking.ranked(), given.tolist(), claimed.tolist(), strict=True):
            for group, share in one.groups.items():
                sums.exposure[group] = sums.exposure.get(group, 0.0) + share * amount
                sums.claims[group] = sums.claims.get(group, 0.0) + share * claim
        if (before := last.get(ranking.query)) is not None:
            sums.n_switched, sums.n_pairs = _switched(before, ranking)
        last[ranking.query] = ranking
        yield sums


def _switched(before: StreamRanking, after: StreamRanking) -> tuple[float, float]:
    """Pairs of items in another order than before, and all pairs that both rankings have."""
    place = {item: at for at, item in enumerate(before)}
    seen: list[int] = []
    n_switched = 0
    for at in (place[item] for item in after if item in place):
        n_switched += len(seen) - bisect_left(seen, at)
        insort(seen, at)
    return float(n_switched), len(seen) * (len(seen) - 1) / 2


def _in_blocks(
    sums: Iterable[_Sums], n_requests: int, n_blocks: int, target: str | Mapping[str, float]
) -> tuple[list[_Sums], list[StreamPoint]]:
    """Sums of consecutive blocks, and the stream after each fifth of a block."""
    blocks = [_Sums() for _ in range(n_blocks)]
    so_far, since = _Sums(), _Sums()
    points = []
    for number, one in enumerate(sums):
        blocks[number * n_blocks // n_requests].add(one)
        so_far.add(one)
        since.add(one)
        if (number + 1) * 5 * n_blocks // n_requests > number * 5 * n_blocks // n_requests:
            values = _values(so_far, target)
            mean = since.utility / since.n_requests
            points.append(
                StreamPoint(number + 1, mean, values["unfairness"], _worst(so_far, target)[0], values["worst_ratio"])
            )
            since = _Sums()
    return blocks, points


def _shares(sums: _Sums, target: str | Mapping[str, float]) -> list[tuple[str, float, float]]:
    """(group, share of exposure, share of the target), by name."""
    claims: Mapping[str, float] = sums.claims
    if target == "equal":
        claims = dict.fromkeys(sums.claims, 1.0)
    elif not isinstance(target, str):
        claims = target
    total, claimed = math.fsum(sums.exposure.values()), math.fsum(claims.values())
    return [
        (
            group,
            sums.exposure.get(group, 0.0) / total if total > 0.0 else 0.0,
            claims.get(group, 0.0) / claimed if claimed > 0.0 else 0.0,
        )
        for group in sorted({*sums.exposure, *claims})
    ]


def _worst(sums: _Sums, target: str | Mapping[str, float]) -> tuple[str | None, float]:
    """The worst-served group, and its exposure over its target; None and NaN where no group has one."""
    ratios = [(e / t, group) for group, e, t in _shares(sums, target) if t >= LEAST_TARGET]
    if not ratios:
        return None, math.nan
    ratio, group = min(ratios)
    return group, ratio


def _values(sums: _Sums, target: str | Mapping[str, float]) -> dict[str, float]:
    """The value of every measure."""
    distance = math.sqrt(math.fsum((e - t) ** 2 for _, e, t in _shares(sums, target)))
    return {
        "utility": sums.utility / max(sums.n_requests, 1),
        "quality": sums.utility / sums.ideal if sums.ideal > 0.0 else 1.0,
        "unfairness": distance,
        "worst_ratio": _worst(sums, target)[1],
        "switches": sums.n_switched / sums.n_pairs if sums.n_pairs > 0.0 else 0.0,
    }


def _jackknife(blocks: list[_Sums], whole: _Sums, target: str | Mapping[str, float]) -> dict[str, Interval]:
    """95 % intervals from what the values are when each block is left out in turn (Student's t)."""
    from scipy.special import stdtrit

    without = []
    for block in blocks:
        whole.add(block, -1.0)
        without.append(_values(whole, target))
        whole.add(block)
    found = {}
    n_blocks = len(blocks)
    reach = float(stdtrit(n_blocks - 1, 0.5 + CONFIDENCE / 2))
    for name, value in _values(whole, target).items():
        left_out = np.array([values[name] for values in without])
        se = math.sqrt((n_blocks - 1) / n_blocks * float(((left_out - left_out.mean()) ** 2).sum()))
        found[name] = Interval(max(0.0, value - reach * se), value + reach * se, se)
    return found


def hindsight_gap(
    rankings: Iterable[StreamRanking],
    fairness: float,
    *,
    target: str | Mapping[str, float] = "relevant",
    attention: str = "log",
    exposure: Exposure = "position",
) -> tuple[float, float]:
    """The objective of the policy `optimal` that a stream reached, and how much better any rankings could have been.

    The second number is proved: it bounds what could be gained by anybody who knew all requests in advance, with the
    target's shares as they are at the end (the duality gap of Frank and Wolfe). Both are by the relevance that the
    policy saw, and in shares of the exposure that was offered.
    """
    accounting = Accounting(str(parse_attention(attention)), exposure)
    if exposure == "clicks" or accounting.attention.startswith("gerr"):
        raise EvenrankError("a gap can be proved where exposure is by position or impact and attention by rank alone")
    found = _some(list(rankings))
    wanted = check_stream_target(target)
    sums = _Sums()
    for one in _each_request(found, _truths(found, None), accounting, wanted, {}):
        sums.add(one)
    total = math.fsum(sums.exposure.values())
    shares = {group: t for group, _, t in _shares(sums, wanted)}
    excess = {group: sums.exposure.get(group, 0.0) - share * total for group, share in shares.items()}
    common = math.fsum(shares[group] * value for group, value in excess.items())
    offered = math.fsum(_offered(one, accounting) for one in found)
    prices = {group: fairness * (value - common) / offered for group, value in excess.items()}
    reached = sums.utility / offered - fairness / 2 * math.fsum(v * v for v in excess.values()) / offered**2
    return reached, math.fsum(_gain(one, prices, accounting) for one in found) / offered


def _offered(ranking: StreamRanking, accounting: Accounting) -> float:
    relevance = np.sort([one.relevance for one in ranking.candidates])[::-1]
    return float(accounting.attention_of(relevance) @ np.sort(accounting.per_attention(relevance))[::-1])


def _gain(ranking: StreamRanking, prices: Mapping[str, float], accounting: Accounting) -> float:
    """What sorting by relevance minus prices would have added to the linearised objective."""
    relevance = np.array([one.relevance for one in ranking.ranked()])
    cost = np.array([sum(prices[group] * w for group, w in one.groups.items()) for one in ranking.ranked()])
    worth = relevance - cost * accounting.per_attention(relevance)
    return float(accounting.attention_of(relevance) @ (np.sort(worth)[::-1] - worth))


@dataclass(frozen=True)
class StreamRun:
    """A file of requests, ranked: the rankings, what was measured of them, and the stream as it is afterwards."""

    requests: tuple[StreamQuery, ...]
    rankings: tuple[StreamRanking, ...]
    measures: StreamMeasures
    stream: Stream


def run_stream(
    requests: Sequence[StreamQuery],
    stream: Stream,
    *,
    blocks: int = N_BLOCKS,
    name: str = "",
    progress: Callable[[Iterable[StreamQuery]], Iterable[StreamQuery]] = iter,
) -> StreamRun:
    """Rank requests one by one and measure the stream, by the requests' grades where they have them.

    `requests` come from `read_requests`; `progress` may wrap them to show a bar.
    """
    grades = _all_grades(requests)
    rankings = []
    for one in progress(requests):
        rows = [(candidate.item, candidate.relevance, candidate.groups) for candidate in one.candidates]
        rankings.append(stream.rank(one.query, rows, time=one.time))
    accounting = stream.accounting
    measures = measure_stream(
        rankings,
        grades,
        target=stream.target,
        attention=accounting.attention,
        exposure=accounting.exposure,
        blocks=blocks,
        name=name or stream.policy.name,
    )
    measures = replace(measures, settings={**stream.settings, **measures.settings})
    return StreamRun(tuple(requests), tuple(rankings), measures, stream)


def _all_grades(requests: Sequence[StreamQuery]) -> list[tuple[float, ...]] | None:
    """The grades of all requests, or None where none has any; EvenrankError where only some have."""
    asked = [one for one in requests if one.candidates]
    n_graded = sum(one.grades is not None for one in asked)
    if 0 < n_graded < len(asked):
        first = next(one.request for one in asked if one.grades is None)
        raise EvenrankError(
            f"{n_graded} of {len(asked)} requests have grades, and request {first[:60]!r} has none "
            "(give all of them grades, or none)"
        )
    return [one.grades or () for one in requests] if n_graded else None


def streams_table(measured: Sequence[StreamMeasures]) -> Table:
    """A row per stream."""
    columns = (
        Column("stream"),
        Column("requests"),
        Column("utility", higher_is_better=True),
        Column("quality", higher_is_better=True),
        Column("unfairness", higher_is_better=False, digits=5),
        Column("ci", "unfairness 95 %", digits=5),
        Column("worst_group", "worst group"),
        Column("worst_ratio", "exposure / target", higher_is_better=True),
        Column("switches", higher_is_better=False),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            one.name,
            one.n_requests,
            one.values["utility"],
            one.values["quality"],
            one.values["unfairness"],
            one.intervals.get("unfairness"),
            one.worst_group or (None if one.worst_group is None else "(empty)"),
            one.values["worst_ratio"],
            one.values["switches"],
        )
        for one in measured
    ]
    return Table(columns, tuple(rows))


def plot_streams(measured: Sequence[StreamMeasures], path: str | os.PathLike[str] | None = None) -> Figure:
    """Unfairness so far, exposure of the worst-served group and utility over time, a line for each stream."""
    with figure_style():
        figure, axes = new_figure(7.2, 7.2, 3, 1, sharex=True)
        panels = (
            ("unfairness", "unfairness so far\n(lower is better ←)"),
            ("worst_ratio", "worst group:\nexposure / target"),
            ("utility", "utility of\nlatest requests"),
        )
        for panel, (field_name, label) in zip(axes, panels, strict=True):
            for number, one in enumerate(measured):
                colour, _ = look_of(number)
                places = [point.request for point in one.points]
                values = [getattr(p, field_name) for p in one.points]
                panel.plot(places, values, color=colour, lw=1.4, label=figure_text(one.name))
            panel.set_ylabel(label)
            clean_axes(panel)
        if all(point.unfairness > 0.0 for one in measured for point in one.points):
            axes[0].set_yscale("log")
        axes[0].set_title("Fairness of the stream over time")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
        axes[-1].set_xlabel("requests")
        if path is not None:
            save_figure_as(figure, Path(path))
    return figure
