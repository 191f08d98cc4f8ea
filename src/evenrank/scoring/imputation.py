"""Draws of what is unknown: data sets that agree with what was recorded and with the model of what was not.

Groups. The kinds of items in a stratum (a topic, its relevant and other items, those at the top and further down) have
a distribution that is drawn from its posterior under a hierarchical Dirichlet prior, whose concentrations are drawn
too: small strata borrow from larger ones as far as strata are alike. Errors are undone by data augmentation (Tanner and
Wong 1987), missing groups follow from the recorded ones by odds (a pattern-mixture model, Little 1993).

Relevance. A logistic model in the logarithm of the best rank with an intercept for each topic, in the Laplace
approximation; the spread of the intercepts is drawn as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.core.types import Floats
from evenrank.core.uncertainty import DimensionModel, JudgmentModel

Ints = NDArray[np.intp]
UNKNOWN_KIND = 0
"""Kind of items without a group."""
CONCENTRATIONS = np.geomspace(0.5, 1000.0, 16)
"""Concentrations that are considered: how much the distributions in strata resemble that of the stratum above."""
SPREADS = np.array([0.05, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0])
"""Standard deviations of topics' intercepts that are considered."""
N_SWEEPS = 6
"""Sweeps of data augmentation before a draw is taken; chains start at the estimate."""
N_NEWTON = 12
PRIOR_SPREAD = 5.0
"""Standard deviation of the prior of slope and intercept, on the logit scale."""
CELLS_AT_ONCE = 1 << 23


@dataclass(frozen=True)
class GroupedItems:
    """Items of topics with their kinds, as recorded."""

    kind: Ints
    """Kind of each item: `UNKNOWN_KIND`, or a set of groups."""
    members: NDArray[np.bool_]
    """Groups of each kind from 1 on: kind by group."""
    groups: tuple[str, ...]
    levels: tuple[Ints, ...]
    """Stratum of each item from coarse to fine, each level within the one before; numbered from 0."""

    @property
    def n_kinds(self) -> int:
        """Kinds with a group."""
        return len(self.members)


def draw_kinds(
    items: GroupedItems,
    model: DimensionModel,
    sources: Sequence[str],
    rngs: tuple[np.random.Generator, np.random.Generator],
    n_draws: int,
) -> Ints:
    """True kinds of the items in each draw: draw by item. The generators serve missing groups and errors."""
    has_missing = "missing" in sources and model.missing is not None and bool((items.kind == UNKNOWN_KIND).any())
    has_errors = "errors" in sources and model.errors is not None
    if not items.n_kinds or not (has_missing or has_errors):
        return np.broadcast_to(items.kind, (n_draws, len(items.kind)))
    strata = _Strata.of(items)
    of_missing, of_errors = rngs
    table = _kind_errors(items, model, of_errors, n_draws) if has_errors else None
    shares = strata.draw_shares(table, of_errors if has_errors else of_missing, n_draws)
    drawn = np.repeat(items.kind[None], n_draws, axis=0)
    if table is not None:
        known = np.flatnonzero(items.kind != UNKNOWN_KIND)
        drawn[:, known] = 1 + _draw_true(strata.finest[known], items.kind[known] - 1, shares, table, of_errors)
    if has_missing:
        missing = np.flatnonzero(items.kind == UNKNOWN_KIND)
        cumulative = np.cumsum(_missing_shares(items, strata, model, shares, of_missing, n_draws), axis=2)
        drawn[:, missing] = _pick(cumulative, strata.finest[missing], of_missing)
    return drawn


def _kind_errors(items: GroupedItems, model: DimensionModel, rng: np.random.Generator, n_draws: int) -> Floats:
    """Probability of each recorded kind given the true one; kinds of several groups are taken as recorded."""
    assert model.errors is not None
    by_group = model.errors.draw(items.groups, rng, n_draws)
    single = np.flatnonzero(items.members.sum(axis=1) == 1)
    group = items.members[single].argmax(axis=1)
    table = np.repeat(np.eye(items.n_kinds)[None], n_draws, axis=0)
    table[:, single[:, None], single[None]] = by_group[:, group[:, None], group[None]]
    return table


@dataclass(frozen=True)
class _Strata:
    """Counts of recorded kinds in strata, level by level."""

    counts: tuple[Floats, ...]
    """Stratum by kind, for each level."""
    parents: tuple[Ints, ...]
    """Stratum of the level above, for each level but the first."""
    finest: Ints
    """Finest stratum of each item."""
    n_missing: Floats
    """Items without a group in each finest stratum."""

    @classmethod
    def of(cls, items: GroupedItems) -> _Strata:
        known = items.kind != UNKNOWN_KIND
        counts, parents = [], []
        for level in items.levels:
            n = int(level.max(initial=-1)) + 1
            key = level[known] * items.n_kinds + items.kind[known] - 1
            counts.append(np.bincount(key, minlength=n * items.n_kinds).reshape(n, -1).astype(np.float64))
        for above, level in zip(items.levels, items.levels[1:], strict=False):
            parent = np.zeros(int(level.max(initial=-1)) + 1, np.intp)
            parent[level] = above
            parents.append(parent)
        finest = items.levels[-1]
        n_missing = np.bincount(finest[~known], minlength=len(counts[-1])).astype(np.float64)
        return cls(tuple(counts), tuple(parents), finest, n_missing)

    def means(self) -> list[Floats]:
        """Estimated shares of kinds in the strata of each level, shrunk to the level above."""
        return self._fit(self.counts[-1])[0]

    def _fit(self, finest: Floats) -> tuple[list[Floats], list[Floats]]:
        """Shares of kinds by level, and the posterior of each concentration, from counts in the finest strata."""
        counts = self._summed(finest)
        n_kinds = finest.shape[-1]
        top = counts[0] + 1.0 / n_kinds
        means, posteriors = [top / top.sum(axis=-1, keepdims=True)], []
        for of_level, parent in zip(counts[1:], self.parents, strict=True):
            prior = means[-1][parent]
            posterior = _concentration_posterior(of_level, prior)
            typical = float(np.exp(posterior @ np.log(CONCENTRATIONS)))
            mixed = of_level + typical * prior
            means.append(mixed / mixed.sum(axis=-1, keepdims=True))
            posteriors.append(posterior)
        return means, posteriors

    def _summed(self, finest: Floats) -> list[Floats]:
        """Counts of all levels from those of the finest one; the axis of strata is the last but one."""
        counts = [finest]
        for number in range(len(self.parents) - 1, -1, -1):
            counts.insert(0, _sum_by(counts[0], self.parents[number], len(self.counts[number])))
        return counts

    def draw_shares(self, table: Floats | None, rng: np.random.Generator, n_draws: int) -> Floats:
        """Shares of true kinds among recorded items of the finest strata: draw by stratum by kind."""
        counts = np.broadcast_to(self.counts[-1], (n_draws, *self.counts[-1].shape))
        if table is None:
            return self._posterior_draw(self._fit(self.counts[-1]), counts, rng)
        start = self._without_errors(table.mean(axis=0))
        fitted = self._fit(start)
        shares = np.broadcast_to(fitted[0][-1], counts.shape)
        stratum, recorded = np.nonzero(self.counts[-1])
        n_recorded, held = self.counts[-1][stratum, recorded].astype(np.int64), np.unique(stratum)
        for _ in range(N_SWEEPS):
            # Recorded kind by true kind: how many recorded items are which kind in truth.
            joint = shares[:, :, None, :] * table.transpose(0, 2, 1)[:, None]
            total = joint.sum(axis=3, keepdims=True)
            joint = np.where(total > 0.0, joint / np.where(total > 0.0, total, 1.0), 1.0 / joint.shape[3])
            allotted = np.zeros(counts.shape)
            drawn = rng.multinomial(n_recorded, joint[:, stratum, recorded]).astype(np.float64)
            starts = np.searchsorted(stratum, held)
            allotted[:, held] = np.add.reduceat(drawn, starts, axis=1)
            shares = self._posterior_draw(fitted, allotted, rng)
        return shares

    def _without_errors(self, table: Floats) -> Floats:
        """Expected counts of true kinds in the finest strata: a few steps of expectation and maximisation."""
        recorded = self.counts[-1]
        shares = self.means()[-1]
        expected = recorded
        for _ in range(30):
            joint = shares[:, None, :] * table.T[None]
            total = joint.sum(axis=2, keepdims=True)
            expected = (recorded[:, :, None] * joint / np.where(total > 0.0, total, 1.0)).sum(axis=1)
            mixed = expected + shares
            shares = mixed / mixed.sum(axis=1, keepdims=True)
        return expected

    def _posterior_draw(
        self, fitted: tuple[list[Floats], list[Floats]], finest: Floats, rng: np.random.Generator
    ) -> Floats:
        """Shares of kinds from their posterior, from the top down.

        A level's strata count in the level above as often as they drew from it (expected number of tables in the
        Chinese restaurant franchise, Teh et al. 2006): a hundred alike items of one topic say little of other topics.
        """
        from scipy.special import digamma

        means, posteriors = fitted
        n_draws = len(finest)
        chosen = [CONCENTRATIONS[rng.choice(len(one), n_draws, p=one)][:, None, None] for one in posteriors]
        effective = [finest]
        for number in range(len(self.parents) - 1, -1, -1):
            base = np.maximum(chosen[number] * means[number][self.parents[number]], 1e-9)
            tables = base * (digamma(base + effective[0]) - digamma(base))
            effective.insert(0, _sum_by(tables, self.parents[number], len(self.counts[number])))
        shares = _dirichlet_rows(effective[0] + 1.0 / finest.shape[2], rng)
        for number, parent in enumerate(self.parents):
            shares = _dirichlet_rows(effective[number + 1] + chosen[number] * shares[:, parent], rng)
        return shares


def _sum_by(values: Floats, parent: Ints, n_parents: int) -> Floats:
    """Sums over strata (the last axis but one) with the same parent."""
    order = np.argsort(parent, kind="stable")
    starts = np.searchsorted(parent[order], np.arange(n_parents))
    return np.asarray(np.add.reduceat(values[..., order, :], starts, axis=-2))


def _dirichlet_rows(parameters: Floats, rng: np.random.Generator) -> Floats:
    gamma = rng.standard_gamma(np.maximum(parameters, 1e-6)) + 1e-300
    return np.asarray(gamma / gamma.sum(axis=-1, keepdims=True))


def _concentration_posterior(counts: Floats, prior: Floats) -> Floats:
    """Posterior of a level's concentration on `CONCENTRATIONS`, uniform on its logarithm before."""
    from scipy.special import gammaln

    used = counts.sum(axis=1) > 0
    counts, prior = counts[used], np.maximum(prior[used], 1e-9)
    logs = np.empty(len(CONCENTRATIONS))
    n = counts.sum(axis=1)
    for place, value in enumerate(CONCENTRATIONS):
        base = value * prior
        logs[place] = (gammaln(base + counts) - gammaln(base)).sum() + (gammaln(value) - gammaln(value + n)).sum()
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def _missing_shares(
    items: GroupedItems,
    strata: _Strata,
    model: DimensionModel,
    shares: Floats,
    rng: np.random.Generator,
    n_draws: int,
) -> Floats:
    """Shares of kinds among items without a recorded group, none first: draw by stratum by kind."""
    assert model.missing is not None
    odds = model.missing.weights(items.groups, rng, n_draws)
    members = items.members / items.members.sum(axis=1, keepdims=True)
    of_kind = np.exp(np.log(np.maximum(odds, 1e-12)) @ members.T)
    weights = shares * of_kind[:, None, :]
    if model.missing.rate is None:
        present = model.missing.shares(rng, n_draws)[:, None, None]
        weights = present * weights / np.maximum(weights.sum(axis=2, keepdims=True), 1e-300)
    else:
        weights = weights * _known_odds(strata, rng, n_draws)
        weights = weights / np.maximum(weights.sum(axis=2, keepdims=True), 1.0)
    return np.concatenate([1.0 - weights.sum(axis=2, keepdims=True), weights], axis=2)


def _known_odds(strata: _Strata, rng: np.random.Generator, n_draws: int) -> Floats:
    """Items with a recorded group over those without, in each finest stratum; shrunk to that of all items."""
    known = strata.counts[-1].sum(axis=1)
    overall = (known.sum() + 0.5) / (known.sum() + strata.n_missing.sum() + 1.0)
    a, b = known + 2.0 * overall, strata.n_missing + 2.0 * (1.0 - overall)
    share = rng.beta(a, b, (n_draws, len(a)))
    return np.asarray(share / np.maximum(1.0 - share, 1e-6))[:, :, None]


def _draw_true(stratum: Ints, recorded: Ints, shares: Floats, table: Floats, rng: np.random.Generator) -> Ints:
    """True kinds of items with a recorded kind: draw by item."""
    n_kinds = shares.shape[2]
    pairs, of_item = np.unique(stratum * n_kinds + recorded, return_inverse=True)
    joint = shares[:, pairs // n_kinds] * table.transpose(0, 2, 1)[:, pairs % n_kinds]
    total = joint.sum(axis=2, keepdims=True)
    joint = np.where(total > 0.0, joint / np.where(total > 0.0, total, 1.0), 1.0 / n_kinds)
    return _pick(np.cumsum(joint, axis=2), of_item.reshape(-1), rng)


def _pick(cumulative: Floats, row: Ints, rng: np.random.Generator) -> Ints:
    """One of the columns for each item and draw, by the cumulative shares (draw by row by column) of its row."""
    n_draws, _, n_columns = cumulative.shape
    uniform = rng.random((n_draws, len(row)))
    picked = np.empty(uniform.shape, np.intp)
    step = max(1, CELLS_AT_ONCE // max(1, len(row) * n_columns))
    for first in range(0, n_draws, step):
        part = slice(first, first + step)
        picked[part] = (uniform[part, :, None] >= cumulative[part][:, row, :-1]).sum(axis=2)
    return picked


@dataclass(frozen=True)
class JudgedRanks:
    """Ranked items of topics with what was judged of them."""

    topic: Ints
    """Number of each item's topic, from 0."""
    rank: Floats
    """Best rank of each item over the runs, from 1; infinite for items that no run has."""
    is_relevant: NDArray[np.bool_]
    """Whether it was judged relevant, or is tagged."""
    is_judged: NDArray[np.bool_]
    """Whether its judgment is known; where judgments are lists of relevant items, all of them are."""


def draw_relevance(
    items: JudgedRanks, model: JudgmentModel, rng: np.random.Generator, n_draws: int
) -> tuple[NDArray[np.bool_], Ints]:
    """Relevance of the items in each draw (draw by item), and relevant items of each topic that no run has."""
    n_topics = int(items.topic.max(initial=-1)) + 1
    low, high = model.tagging
    tagging = low + (high - low) * rng.random(n_draws)
    ranked = np.isfinite(items.rank)
    drawn = np.repeat(items.is_relevant[None], n_draws, axis=0)
    open_ = ranked & ~items.is_relevant if low < 1.0 else ranked & ~items.is_judged
    if model.unjudged == "irrelevant":
        open_ &= items.is_judged
    if open_.any() and (ranked & items.is_judged).any():
        seen = ranked & items.is_judged
        slopes, intercepts = _draw_logistic(
            items.topic[seen], items.rank[seen], items.is_relevant[seen], n_topics, rng, n_draws
        )
        at = np.flatnonzero(open_)
        step = max(1, CELLS_AT_ONCE // len(at))
        for first in range(0, n_draws, step):
            part = slice(first, first + step)
            logits = intercepts[part][:, items.topic[at]] + slopes[part, None] * _feature(items.rank[at])
            tagged = 1.0 / (1.0 + np.exp(-logits))
            relevant = np.minimum(tagged / tagging[part, None], 1.0)
            untagged = (relevant - tagged) / np.maximum(1.0 - tagged, 1e-12)
            chance = np.where(items.is_judged[at], untagged, relevant)
            drawn[part, at] = rng.random(chance.shape) < chance
    unranked = np.bincount(items.topic[~ranked & items.is_relevant], minlength=n_topics)
    hidden = np.zeros((n_draws, n_topics), np.intp)
    has = np.flatnonzero(unranked)
    if low < 1.0 and len(has):
        hidden[:, has] = rng.negative_binomial(unranked[has], tagging[:, None])
    return drawn, hidden


def _feature(rank: Floats) -> Floats:
    return np.asarray(np.log2(1.0 + rank) - 3.0)


def _draw_logistic(
    topic: Ints, rank: Floats, is_relevant: NDArray[np.bool_], n_topics: int, rng: np.random.Generator, n_draws: int
) -> tuple[Floats, Floats]:
    """Slopes (by draw) and intercepts (by draw and topic) of relevance on log rank, from their posterior."""
    x, y = _feature(rank), is_relevant.astype(np.float64)
    fits = [_fit_logistic(topic, x, y, n_topics, spread) for spread in SPREADS]
    evidence = np.array([fit[2] for fit in fits])
    weights = np.exp(evidence - evidence.max())
    chosen = rng.choice(len(fits), n_draws, p=weights / weights.sum())
    normal = rng.standard_normal((n_draws, n_topics + 2))
    drawn = np.empty((n_draws, n_topics + 2))
    for place in np.unique(chosen).tolist():
        mode, factor, _ = fits[place]
        rows = chosen == place
        drawn[rows] = mode + np.linalg.solve(factor.T, normal[rows].T).T
    return drawn[:, 1], drawn[:, :1] + drawn[:, 2:]


def _fit_logistic(topic: Ints, x: Floats, y: Floats, n_topics: int, spread: float) -> tuple[Floats, Floats, float]:
    """Mode, Cholesky factor of the Hessian, and approximate log evidence of the logistic model (Laplace)."""
    precision = np.concatenate([np.full(2, PRIOR_SPREAD**-2), np.full(n_topics, spread**-2)])
    mode = np.zeros(n_topics + 2)
    hessian = np.diag(precision)
    for _ in range(N_NEWTON):
        logits = mode[0] + mode[1] * x + mode[2 + topic]
        p = 1.0 / (1.0 + np.exp(-np.clip(logits, -30.0, 30.0)))
        w, error = p * (1.0 - p), y - p
        by_topic = [np.bincount(topic, v, minlength=n_topics) for v in (error, w, w * x)]
        gradient = np.concatenate([[error.sum(), error @ x], by_topic[0]]) - precision * mode
        hessian = np.diag(np.concatenate([[w.sum(), w @ (x * x)], by_topic[1]]) + precision)
        hessian[0, 1] = hessian[1, 0] = w @ x
        hessian[0, 2:] = hessian[2:, 0] = by_topic[1]
        hessian[1, 2:] = hessian[2:, 1] = by_topic[2]
        step = np.linalg.solve(hessian, gradient)
        mode = mode + step * min(1.0, 3.0 / max(float(np.abs(step).max()), 1e-12))
        if float(np.abs(step).max()) < 1e-6:
            break
    logits = mode[0] + mode[1] * x + mode[2 + topic]
    likelihood = float((y * logits - np.logaddexp(0.0, logits)).sum())
    factor = np.linalg.cholesky(hessian)
    penalty = 0.5 * float(precision @ mode**2) - 0.5 * float(np.log(precision).sum())
    return mode, factor, likelihood - penalty - float(np.log(np.diag(factor)).sum())
