"""Intervals that carry what is unknown: `evaluate(…, uncertainty=…)` and `score(…, uncertainty=…)`.

Draws of missing and wrong groups, of judgments and of the target's blend (`scoring.imputation`) are scored like data,
all draws of a topic in one batch, and pooled over draws and topics by Rubin's rules (`intervals.pooled_interval`). All
runs are scored on the same draws, so differences are paired. The share of each source is its total effect: what the
mean changes when that source alone is drawn anew (Jansen 1999; Saltelli et al. 2010).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import Alignment
from evenrank.core.problem import QueryBatch
from evenrank.core.rng import derive
from evenrank.core.types import Floats
from evenrank.core.uncertainty import Uncertainty
from evenrank.errors import EvenrankError
from evenrank.measures.measure import Measure
from evenrank.progress import track
from evenrank.scoring.imputation import GroupedItems, JudgedRanks, draw_kinds, draw_relevance
from evenrank.scoring.intervals import PooledInterval, pooled_interval
from evenrank.scoring.tables import Cell, Column, Table, TableResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Ints = NDArray[np.intp]
N_DRAWS = 100
"""Draws of what is unknown."""
ROWS_AT_ONCE = 1 << 21
"""Ranked rows over all draws that are scored together."""
MEASURED = ("nDCG", "P", "AWRF", "Score", "EE-L", "EE-D", "EE-R")
"""Measures whose intervals can carry what is unknown: those that batches of draws compute."""
FEW = 30
"""Topics below which intervals are known to be less reliable (benchmarks/interval_coverage.py)."""


@dataclass(frozen=True)
class DrawnRun:
    """A run as rows of the items that are drawn."""

    name: str
    batch: QueryBatch
    """Of all its topics; gains, groups and targets are those of a draw."""
    rows: Ints
    """Item (a row of `UncertainData`) of each ranked row."""
    topics: Ints
    """Number of the topic of each pair."""


@dataclass(frozen=True)
class UncertainDimension:
    """One dimension of the items."""

    name: str
    is_personal: bool
    groups: tuple[str, ...]
    """Known groups."""
    kind: Ints
    """Kind of each item: 0 is unknown; kinds after `members` are in no group and never drawn."""
    members: NDArray[np.bool_]
    """Groups of the kinds from 1 on."""
    weights: Floats
    """Group weights of all kinds, the unknown group first: kind by group."""


@dataclass(frozen=True)
class UncertainData:
    """Items of topics, ranked or relevant, with all that is recorded of them; and the runs."""

    topic: Ints
    """Number of each item's topic."""
    topic_names: tuple[Any, ...]
    attention: Floats
    """Attention that all runs together give to each item."""
    judged: JudgedRanks
    dimensions: tuple[UncertainDimension, ...]
    join: Callable[[Sequence[Floats]], Floats]
    """Weights of the kinds of each dimension → weights of all combinations over the scored groups."""
    target: Callable[[Floats, Floats, Ints], Floats]
    """Group masses of relevant items, shares of the world and topics (one each a row) → wanted exposure."""
    target_weights: Callable[[NDArray[np.bool_]], Floats]
    """Relevance by draw and item → weight of each item in the target."""
    blend: float | None
    """Share of the world in the target as the protocol has it; None where targets are not blended."""
    runs: tuple[DrawnRun, ...]
    group_names: tuple[str, ...]
    """Scored groups, without those that do not count."""

    @property
    def n_topics(self) -> int:
        return len(self.topic_names)


@dataclass(frozen=True)
class UncertainMean:
    """The mean of one measure of one run with its interval and the shares of its sources."""

    run: str
    measure: str
    recorded: float
    """Mean over topics of the data as recorded."""
    interval: PooledInterval
    shares: dict[str, float]
    """Share of the variance by source."""


@dataclass(frozen=True)
class GroupInterval:
    """Exposure and target of one group, in the mean over topics, as shares."""

    run: str
    group: str
    exposure: PooledInterval
    target: PooledInterval


@dataclass(frozen=True, repr=False)
class UncertainResults(TableResult):
    """Scores with intervals that carry the sources asked for."""

    sources: tuple[str, ...]
    model: Uncertainty
    n_draws: int
    n_topics: int
    seed: int
    means: tuple[UncertainMean, ...]
    groups: tuple[GroupInterval, ...]
    differences: tuple[UncertainMean, ...]
    """Main measure of the first run less that of each other run, on the same draws and topics."""
    notes: tuple[str, ...]

    def tables(self) -> list[Table]:
        """All tables, for readers."""
        return [self.table(), *([self.difference_table()] if self.differences else []), self.group_table()]

    def table(self) -> Table:
        """A row per run and measure: the score as recorded, the mean of the draws, its interval, shares of sources."""
        return self._table(self.means, f"Intervals that carry {', '.join(self.sources)}")

    def difference_table(self) -> Table:
        """The best run against each other run."""
        return self._table(self.differences, "Differences of runs, on the same draws and topics")

    def _table(self, means: Sequence[UncertainMean], caption: str) -> Table:
        names = ("run", "measure", "recorded", "mean", "interval")
        columns = [Column(name) for name in names] + [Column(f"{name} %") for name in self.sources]
        rows: list[tuple[Cell, ...]] = [
            (
                m.run,
                m.measure,
                m.recorded,
                m.interval.mean,
                m.interval,
                *(round(100 * m.shares[s]) for s in self.sources),
            )
            for m in means
        ]
        return Table(tuple(columns), tuple(rows), caption)

    def group_table(self) -> Table:
        """Exposure and target of each group as shares, with their intervals."""
        names = ("run", "group", "exposure", "exposure interval", "target", "target interval")
        rows = [(g.run, g.group, g.exposure.mean, g.exposure, g.target.mean, g.target) for g in self.groups]
        return Table(tuple(Column(name, digits=3) for name in names), tuple(rows), "Shares of exposure by group")

    def to_json(self) -> dict[str, Any]:
        """Everything, with the model."""

        def ends(one: PooledInterval) -> dict[str, float]:
            return {"mean": one.mean, "low": one.low, "high": one.high, "se": one.se}

        def row(one: UncertainMean) -> dict[str, Any]:
            found = {"run": one.run, "measure": one.measure, "recorded": one.recorded}
            return {**found, **ends(one.interval), "shares": one.shares}

        return {
            "schema": "evenrank.uncertainty/1",
            "sources": list(self.sources),
            "model": self.model.to_json(),
            "n_draws": self.n_draws,
            "n_topics": self.n_topics,
            "seed": self.seed,
            "runs": [row(one) for one in self.means],
            "differences": [row(one) for one in self.differences],
            "groups": [
                {"run": g.run, "group": g.group, "exposure": ends(g.exposure), "target": ends(g.target)}
                for g in self.groups
            ],
            "notes": list(self.notes),
        }

    def plot(self) -> Figure:
        """Intervals of the main measure of each run, with the share of each source in their width."""
        from evenrank.scoring.figures import uncertainty_figure

        return uncertainty_figure(self)

    def _shown(self) -> tuple[list[Table], list[str]]:
        return self.tables(), []


@dataclass(frozen=True)
class _Draws:
    """What was drawn."""

    kinds: tuple[Ints, ...]
    """For each dimension the kind of each item: draw by item."""
    relevant: NDArray[np.bool_]
    unranked: Ints
    """Relevant items that no run has, beyond those that are recorded: draw by topic."""
    blend: Floats


def estimate_uncertainty(
    data: UncertainData,
    measures: Sequence[Measure],
    main: str,
    sources: Sequence[str],
    model: Uncertainty,
    *,
    n_draws: int = N_DRAWS,
    seed: int = 0,
    confidence: float = 0.95,
) -> UncertainResults:
    """Intervals of the means of runs from draws of all that the sources name."""
    if n_draws < 2:
        raise EvenrankError(f"draws is {n_draws} (give at least 2, better 100)")
    kept = [measure for measure in measures if measure.name in MEASURED]
    if not kept:
        raise EvenrankError(f"no measure whose interval can carry what is unknown (choose from {', '.join(MEASURED)})")
    model.check({one.name: one.groups for one in data.dimensions})
    random = [source for source in sources if source != "topics"]
    as_recorded = _draw(data, model, (), seed, 1, {})
    steps = [(), *[(source,) for source in random]] if random else []
    drawn = {again: _draw(data, model, random, seed, n_draws, dict.fromkeys(again, 1)) for again in steps}
    scored: dict[tuple[str, ...], list[_Scored]] = {}
    for again, one in track(list(drawn.items()), "draws", len(drawn), "source"):
        scored[again] = [_score(data, run, one, kept, with_groups=not again) for run in data.runs]
    plain = [_score(data, run, as_recorded, kept, with_groups=True) for run in data.runs]
    scored.setdefault((), plain)
    found = _Pooled(tuple(sources), random, confidence, "topics" in sources)
    means, groups = [], []
    for number, run in enumerate(data.runs):
        by_source = {again[0]: scored[again][number].values for again in scored if again}
        base = scored[()][number]
        for place, measure in enumerate(kept):
            others = {source: values[..., place] for source, values in by_source.items()}
            recorded = float(np.nanmean(plain[number].values[0, :, place]))
            means.append(found.mean(run.name, measure, recorded, base.values[..., place], others))
        for at, group in enumerate(data.group_names):
            groups.append(
                GroupInterval(
                    run.name,
                    group,
                    found.interval(base.exposure[..., at], 0.0, 1.0),
                    found.interval(base.target[..., at], 0.0, 1.0),
                )
            )
    place = next((n for n, measure in enumerate(kept) if measure.key == main), 0)
    differences = _differences(data, kept, place, scored, plain, found)
    return UncertainResults(
        tuple(sources),
        model,
        n_draws,
        data.n_topics,
        seed,
        tuple(means),
        tuple(groups),
        differences,
        _notes(data, model, sources),
    )


def _notes(data: UncertainData, model: Uncertainty, sources: Sequence[str]) -> tuple[str, ...]:
    notes = []
    if "errors" in sources and all(model.of(one.name).errors is None for one in data.dimensions):
        notes.append("errors: no rate or table is stated, so recorded groups are taken as right")
    if "topics" in sources and data.n_topics == 1:
        notes.append("one topic says nothing of other topics: intervals carry the other sources alone")
    elif "topics" in sources and data.n_topics < FEW:
        notes.append(f"{data.n_topics} are few topics: below {FEW} intervals can be too narrow")
    is_ranked = np.isfinite(data.judged.rank)
    n_unjudged = int((is_ranked & ~data.judged.is_judged).sum())
    if "judgments" in sources and model.judgments.unjudged == "estimated" and n_unjudged:
        share = n_unjudged / int(is_ranked.sum())
        notes.append(
            f"judgments: {share:.0%} of the ranked items were not judged; they are taken to be relevant as often as "
            "judged ones at such ranks (else state judgments.unjudged=irrelevant)"
        )
    for one in data.dimensions:
        of_dimension = model.of(one.name, one.is_personal)
        n_unknown = int((one.kind == 0).sum())
        share = n_unknown / max(1, len(one.kind))
        if "missing" not in sources or not n_unknown:
            continue
        if of_dimension.missing is None:
            notes.append(
                f"{one.name}: {share:.0%} of the items have no group, taken as they are (state how many are missing)"
            )
        elif one.name not in model.dimensions or model.dimensions[one.name].missing is None:
            notes.append(
                f"{one.name}: {share:.0%} of the items have no group; all are taken to have one, missing at random"
            )
    return tuple(notes)


@dataclass(frozen=True)
class _Pooled:
    """How draws become intervals."""

    sources: tuple[str, ...]
    random: Sequence[str]
    confidence: float
    samples_topics: bool

    def interval(self, values: Floats, low: float = -math.inf, high: float = math.inf) -> PooledInterval:
        """The interval, cut where no value can lie."""
        found = pooled_interval(values, self.confidence, samples_topics=self.samples_topics)
        return replace(found, low=max(found.low, low), high=min(found.high, high))

    def mean(
        self,
        run: str,
        measure: Measure,
        recorded: float,
        values: Floats,
        others: dict[str, Floats],
        *,
        cut: bool = True,
    ) -> UncertainMean:
        """The mean of a measure, or of differences in it, whose interval is not cut."""
        interval = self.interval(values, measure.low, measure.high) if cut else self.interval(values)
        of_draw = np.nanmean(values, axis=1)
        effects = {s: float(np.mean((of_draw - np.nanmean(v, axis=1)) ** 2)) / 2.0 for s, v in others.items()}
        effects["topics"] = interval.of_topics
        total = sum(effects.get(source, 0.0) for source in self.sources)
        shares = {s: effects.get(s, 0.0) / total if total > 0.0 else 0.0 for s in self.sources}
        return UncertainMean(run, measure.key, recorded, interval, shares)


def _differences(
    data: UncertainData,
    measures: Sequence[Measure],
    place: int,
    scored: dict[tuple[str, ...], list[_Scored]],
    plain: list[_Scored],
    found: _Pooled,
) -> tuple[UncertainMean, ...]:
    """The best run as recorded less each other run, on the topics that both have."""
    if len(data.runs) < 2:
        return ()
    sign = 1.0 if measures[place].higher_is_better else -1.0
    scores = [sign * float(np.nanmean(one.values[0, :, place])) for one in plain]
    best = int(np.argmax(scores))

    def difference(of_runs: list[_Scored], other: int) -> Floats:
        _, at, of = np.intersect1d(data.runs[best].topics, data.runs[other].topics, return_indices=True)
        return np.asarray(of_runs[best].values[:, at, place] - of_runs[other].values[:, of, place])

    rows = []
    for other in range(len(data.runs)):
        if other != best:
            by_source = {again[0]: difference(scored[again], other) for again in scored if again}
            name = f"{data.runs[best].name} − {data.runs[other].name}"
            recorded = float(np.nanmean(difference(plain, other)))
            drawn = difference(scored[()], other)
            rows.append(found.mean(name, measures[place], recorded, drawn, by_source, cut=False))
    return tuple(rows)


def _draw(
    data: UncertainData, model: Uncertainty, sources: Sequence[str], seed: int, n_draws: int, again: dict[str, int]
) -> _Draws:
    """Draws of the sources; those in `again` from streams of their own."""

    def stream(source: str, *ids: str) -> np.random.Generator:
        return derive(seed, "uncertainty", source, again.get(source, 0), *ids)

    relevant = np.broadcast_to(data.judged.is_relevant, (n_draws, len(data.topic)))
    unranked = np.zeros((n_draws, data.n_topics), np.intp)
    if "judgments" in sources:
        relevant, unranked = draw_relevance(data.judged, model.judgments, stream("judgments"), n_draws)
    kinds = []
    for one in data.dimensions:
        drawn = np.repeat(one.kind[None], n_draws, axis=0)
        real = np.flatnonzero(one.kind <= len(one.members))
        items = GroupedItems(one.kind[real], one.members, one.groups, _levels(data, one, real))
        rngs = stream("missing", one.name), stream("errors", one.name)
        drawn[:, real] = draw_kinds(items, model.of(one.name, one.is_personal), sources, rngs, n_draws)
        kinds.append(drawn)
    low, high = model.blend if "target" in sources else (data.blend or 0.0,) * 2
    blend = low + (high - low) * stream("target").random(n_draws)
    return _Draws(tuple(kinds), relevant, unranked, blend)


def _levels(data: UncertainData, dimension: UncertainDimension, real: Ints) -> tuple[Ints, ...]:
    """Strata: all items; those of a topic; of its relevant and other items by attention; of each look in the others."""
    band = _bands(data)
    place = (data.topic * 2 + data.judged.is_relevant) * 3 + band
    codes = [np.zeros(len(data.topic), np.intp), data.topic, place]
    look = np.zeros(len(data.topic), np.intp)
    for other in data.dimensions:
        if other.name != dimension.name:
            look = look * (int(other.kind.max(initial=0)) + 1) + other.kind
    if len(data.dimensions) > 1:
        codes.append(place * (int(look.max(initial=0)) + 1) + look)
    return tuple(np.unique(code[real], return_inverse=True)[1].reshape(-1) for code in codes)


def _bands(data: UncertainData) -> Ints:
    """0 for items that get no attention, 1 for those that share the lower half of a topic's, 2 for the upper half."""
    order = np.lexsort([-data.attention, data.topic])
    total = np.bincount(data.topic, data.attention, minlength=data.n_topics)
    summed = np.cumsum(data.attention[order])
    before = np.concatenate([[0.0], np.cumsum(total)[:-1]])[data.topic[order]]
    is_upper = np.empty(len(order), bool)
    is_upper[order] = summed - before - data.attention[order] < 0.5 * total[data.topic[order]]
    return np.where(data.attention <= 0.0, 0, np.where(is_upper, 2, 1))


@dataclass(frozen=True)
class _Scored:
    values: Floats
    """Draw by topic by measure."""
    exposure: Floats
    """Shares of the groups that count: draw by topic by group."""
    target: Floats


def _score(
    data: UncertainData, run: DrawnRun, drawn: _Draws, measures: Sequence[Measure], *, with_groups: bool
) -> _Scored:
    """The measures of a run in all draws, some draws at a time."""
    n_draws = len(drawn.blend)
    step = max(1, ROWS_AT_ONCE // max(1, len(run.rows), len(data.topic)))
    weights = data.join([one.weights for one in data.dimensions])
    parts = []
    for first in range(0, n_draws, step):
        batch = _batch(data, run, drawn, slice(first, min(first + step, n_draws)), weights)
        values = np.stack([measure.over(batch) for measure in measures], axis=1)
        shares = [_shares_of(part) for part in (batch.exposure, batch.target)] if with_groups else [values, values]
        parts.append((values, *shares))
    shape = n_draws, len(run.topics), -1
    return _Scored(*(np.concatenate(part).reshape(shape) for part in zip(*parts, strict=True)))


def _shares_of(values: Floats) -> Floats:
    total = values.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, values / np.where(total > 0.0, total, 1.0), np.nan)


def _batch(data: UncertainData, run: DrawnRun, drawn: _Draws, part: slice, weights: Floats) -> QueryBatch:
    """The run's topics in some draws: the pairs of the first draw, then those of the next."""
    relevant = drawn.relevant[part]
    n_draws, n_pairs, base = len(relevant), len(run.topics), run.batch
    joint = np.zeros((n_draws, len(data.topic)), np.intp)
    for one, kinds in zip(data.dimensions, drawn.kinds, strict=True):
        joint = joint * len(one.weights) + kinds[part]
    n_topics, n_kinds = data.n_topics, len(weights)
    key = (np.arange(n_draws)[:, None] * n_topics + data.topic) * n_kinds + joint
    mass = np.bincount(
        key.reshape(-1), data.target_weights(relevant).reshape(-1), minlength=n_draws * n_topics * n_kinds
    )
    by_group = mass.reshape(n_draws, n_topics, n_kinds)[:, run.topics].reshape(-1, n_kinds) @ weights
    topics = np.tile(run.topics, n_draws)
    n_relevant = np.stack([np.bincount(data.topic, one, minlength=n_topics) for one in relevant]).astype(np.intp)
    n_relevant = (n_relevant + drawn.unranked[part])[:, run.topics].reshape(-1)

    def tiled(values: NDArray[Any]) -> NDArray[Any]:
        return np.tile(values, n_draws)

    def numbered(values: NDArray[Any], n: int) -> NDArray[Any]:
        return (values[None] + n * np.arange(n_draws)[:, None]).reshape(-1)

    gains: NDArray[Any] = relevant[:, run.rows].reshape(-1)
    if base.gains.dtype != np.bool_:
        gains = gains * np.where(tiled(base.gains) > 0.0, tiled(base.gains), 1.0)
    judged = base.judged
    if judged is not None:
        judged = replace(judged, first=tiled(judged.first), end=tiled(judged.end))
    return replace(
        base,
        items=tiled(base.items),
        pairs=numbered(base.pairs, n_pairs),
        rankings=numbered(base.rankings, int(base.rankings.max(initial=-1)) + 1),
        ranks=tiled(base.ranks),
        gains=gains,
        n_rankings=tiled(base.n_rankings),
        depth=tiled(base.depth),
        ideal_depth=tiled(base.ideal_depth),
        n_relevant=n_relevant,
        judged=judged,
        alignment=Alignment(weights, joint[:, run.rows].reshape(-1)),
        full_target=data.target(by_group, np.repeat(drawn.blend[part], n_pairs), topics),
        values={},
    )
