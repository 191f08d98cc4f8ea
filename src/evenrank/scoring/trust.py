"""How far a leaderboard can be trusted: how its order depends on the topics that happened to be chosen.

Topics are resampled, the same ones for all runs, and the leaderboard is made again each time. Pairs of runs are tested
on the topics as they are, with a correction for all pairs, and the size of difference that so many topics can detect
stands beside them. Formulas: Sakai, *Topic set size design*, Information Retrieval Journal 19, 2016 (detectable
differences and topics needed); Voorhees and Buckley, SIGIR 2002 (split halves); Holm 1979.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.frames import DataFrame, pandas_frame
from evenrank.core.records import Task
from evenrank.core.rng import derive
from evenrank.errors import EvenrankError
from evenrank.measures.measure import Measure
from evenrank.measures.registry import Named
from evenrank.scoring.compare import TESTS, holm, randomisation_p_of_rows
from evenrank.scoring.results import Results
from evenrank.scoring.sensitivity import few_topics_note
from evenrank.scoring.tables import Column, Table, TableResult

N_RESAMPLES = 2_000
MAX_TOPICS_NEEDED = 1_000_000
VALUES_AT_ONCE = 1 << 23
"""Values drawn together: all resamples of a hundred thousand queries at once would fill the memory."""


@dataclass(frozen=True, slots=True)
class RankSpread:
    """Where one run stands when topics are resampled."""

    run: str
    mean: float
    rank: int
    """Rank on the topics as they are."""
    best_rank: int
    """Lower end of the central 95 % of its ranks over resamples."""
    worst_rank: int
    first: float
    """Share of resamples in which it is first."""


@dataclass(frozen=True, slots=True)
class PairTest:
    """Two runs on the topics that both have, the better one first."""

    better: str
    worse: str
    difference: float
    """Mean over topics, in the direction of better."""
    effect: float
    """The difference in standard deviations of the differences by topic (Cohen's d for pairs)."""
    p: float
    p_holm: float
    """p corrected for all pairs."""
    detectable: float
    """Smallest difference that a test on so many topics would find with the stated power."""
    topics_needed: int | None
    """Topics with which the difference as observed would be found with the stated power; None for no difference."""
    n_topics: int


@dataclass(frozen=True, repr=False)
class Trust(TableResult):
    """How far the order of the runs of one task can be trusted."""

    task: Task
    measure: str
    n_topics: int
    power: float
    level: float
    """Significance level of the tests."""
    runs: tuple[RankSpread, ...]
    """Best first."""
    pairs: tuple[PairTest, ...]
    tau: float
    """Mean Kendall τ between the order of a resample and that of all topics."""
    tau_low: float
    """The τ that 5 % of the resamples are below."""
    tau_halves: float | None
    """Mean τ between the orders of two disjoint halves of the topics; None with fewer than four topics."""
    notes: tuple[str, ...] = ()

    @property
    def best_stays(self) -> float:
        """Share of resamples in which the first run stays first."""
        return self.runs[0].first

    def rank_table(self) -> Table:
        """A row per run: mean, rank, interval of ranks, share of resamples in which it is first."""
        headings: dict[str, str | Column] = {
            "run": "",
            "mean": Column(self.measure),
            "rank": "",
            "best_rank": "best rank",
            "worst_rank": "worst rank",
            "first": Column("first", "share first", digits=3),
        }
        return Table.of(self.runs, headings, f"Task {self.task}: ranks by {self.measure} when topics are resampled")

    def pair_table(self, n_pairs: int | None = None) -> Table:
        """A row per pair of runs; with `n_pairs`, the pairs of neighbours on the leaderboard come first."""
        headings: dict[str, str | Column] = {
            "better": "",
            "worse": "",
            "difference": "",
            "effect": Column("effect", "effect size", digits=2),
            "p": "",
            "p_holm": "p (Holm)",
            "detectable": "detectable difference",
            "topics_needed": "topics needed",
        }
        caption = f"Task {self.task}: all pairs on {self.measure}, power {self.power:g}"
        return Table.of(self.pairs[:n_pairs], headings, caption)

    def summary(self) -> list[str]:
        """What an organiser should know, in sentences."""
        clear = sum(pair.p_holm < self.level for pair in self.pairs)
        first, *others = [run for run in self.runs if run.rank == 1]
        tied = f", tied with {', '.join(run.run for run in others)}," if others else ""
        said = [
            f"{first.run} stays first{tied} in {first.first:.0%} of resamples of the {self.n_topics} topics",
            f"the order of a resample has a mean Kendall τ of {self.tau:.2f} with this one; 5 % are at or below"
            f" {self.tau_low:.2f}",
        ]
        if self.tau_halves is not None:
            said.append(f"two halves of the topics agree with a mean τ of {self.tau_halves:.2f}")
        if self.pairs:
            said.append(f"{clear} of {len(self.pairs)} pairs of runs differ clearly after correction for all pairs")
        return said

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "best_stays": self.best_stays, "summary": self.summary()}

    def to_pandas(self, pairs: bool = False) -> DataFrame:
        """A data frame: a row per run, or per pair of runs."""
        return pandas_frame([asdict(one) for one in (self.pairs if pairs else self.runs)])

    def _shown(self) -> tuple[list[Table], list[str]]:
        return [self.rank_table(), self.pair_table()], [*self.summary(), *(f"note: {note}" for note in self.notes)]


def trust(
    results: Results,
    task: Task | None = None,
    measure: Named | None = None,
    *,
    n_resamples: int = N_RESAMPLES,
    power: float = 0.8,
    level: float = 0.05,
    test: str = "randomisation",
    seed: int = 0,
) -> Trust:
    """How far the order of runs can be trusted: ranks under resampled topics, and tests of all pairs.

    `measure` is by default the main one of the task. Only topics that all runs have, and on which the measure is
    finite for all, are used. `power` and `level` decide which difference counts as detectable.
    """
    chosen = _task(results, task)
    found = results.main_of(chosen) if measure is None else results.computed(measure, chosen)
    runs = results.of_task(chosen)
    topics = _shared_topics(results, chosen, found)
    if len(runs) < 2 or len(topics) < 2:
        raise EvenrankError("at least two runs and two topics that all runs have are needed to compare an order")
    values = np.array([[run.topics[topic][found.key] for topic in topics] for run in runs])
    gains = values if found.higher_is_better else -values
    order = np.argsort(-gains.mean(axis=1), kind="stable")
    runs, values, gains = [runs[place] for place in order], values[order], gains[order]
    names = [run.run for run in runs]
    ranks = _resampled_ranks(gains, n_resamples, seed)
    taus = _taus(ranks)
    return Trust(
        task=chosen,
        measure=found.key,
        n_topics=len(topics),
        power=power,
        level=level,
        runs=tuple(_spreads(names, values.mean(axis=1), gains, ranks)),
        pairs=tuple(_pair_tests(names, gains, test, power, level, seed)),
        tau=float(taus.mean()),
        tau_low=float(np.quantile(taus, 0.05)),
        tau_halves=_tau_of_halves(gains, n_resamples, seed) if len(topics) >= 4 else None,
        notes=tuple(_notes(results, chosen, topics)),
    )


def _task(results: Results, task: Task | None) -> Task:
    if task is None and len(results.tasks) > 1:
        raise EvenrankError("runs of both tasks (say which one: task=1 or task=2)")
    return results.tasks[0] if task is None else task


def _shared_topics(results: Results, task: Task, measure: Measure) -> list[Any]:
    """Topics that all runs of the task have, and on which the measure is finite for all."""
    runs = results.of_task(task)
    shared = [topic for topic in runs[0].topics if all(topic in run.topics for run in runs)] if runs else []
    return [topic for topic in shared if all(math.isfinite(run.topics[topic][measure.key]) for run in runs)]


def _resampled_ranks(gains: NDArray[np.float64], n_resamples: int, seed: int) -> NDArray[np.intp]:
    """Rank of each run, from 1, in each resample of the topics; equal means share the better rank."""
    n_topics = gains.shape[1]
    rng = derive(seed, "trust", n_topics)
    means = []
    for n in _parts(n_resamples, n_topics):
        draws = rng.integers(0, n_topics, (n, n_topics))
        counts = np.zeros((n, n_topics))
        np.add.at(counts, (np.arange(n)[:, None], draws), 1.0)
        means.append(counts @ gains.T / n_topics)
    return _ranks(np.concatenate(means))


def _parts(n_draws: int, n_values: int) -> list[int]:
    """How many of the draws of `n_values` values to make at a time."""
    step = max(1, VALUES_AT_ONCE // n_values)
    return [min(step, n_draws - first) for first in range(0, n_draws, step)]


def _ranks(means: NDArray[np.float64]) -> NDArray[np.intp]:
    """Ranks along the last axis, the largest first; values that differ by rounding alone are equal."""
    shown = np.round(means, 12)
    return np.asarray(1 + (shown[:, None, :] > shown[:, :, None]).sum(axis=2))


def _taus(ranks: NDArray[np.intp]) -> NDArray[np.float64]:
    """Kendall's τ-a of each resample with the order of the rows, which are best first."""
    first, second = np.triu_indices(ranks.shape[1], 1)
    return np.asarray(np.sign(ranks[:, second] - ranks[:, first]).mean(axis=1))


def _tau_of_halves(gains: NDArray[np.float64], n_splits: int, seed: int) -> float:
    """Mean τ between the orders of two disjoint halves, over random splits of the topics."""
    n_runs, n_topics = gains.shape
    rng = derive(seed, "halves", n_topics)
    half = n_topics // 2
    first, second = np.triu_indices(n_runs, 1)
    agreement = 0.0
    for n in _parts(n_splits, n_runs * n_topics):
        places = rng.permuted(np.tile(np.arange(n_topics), (n, 1)), axis=1)
        left, right = (gains[:, part].mean(axis=2).T for part in (places[:, :half], places[:, half : 2 * half]))
        signs = np.sign(left[:, first] - left[:, second]) * np.sign(right[:, first] - right[:, second])
        agreement += float(signs.sum())
    return agreement / (n_splits * len(first))


def _spreads(
    names: Sequence[str], means: NDArray[np.float64], gains: NDArray[np.float64], ranks: NDArray[np.intp]
) -> list[RankSpread]:
    low, high = np.quantile(ranks, [0.025, 0.975], axis=0, method="inverted_cdf").astype(int)
    firsts = (ranks == 1).mean(axis=0)
    placed = _ranks(gains.mean(axis=1)[None])[0]
    return [
        RankSpread(name, float(means[n]), int(placed[n]), int(low[n]), int(high[n]), float(firsts[n]))
        for n, name in enumerate(names)
    ]


def _pair_tests(
    names: Sequence[str], gains: NDArray[np.float64], test: str, power: float, level: float, seed: int
) -> list[PairTest]:
    """All pairs, neighbours on the leaderboard first."""
    n_topics = gains.shape[1]
    places = sorted(combinations(range(len(names)), 2), key=lambda pair: (pair[1] - pair[0], pair))
    differences = [gains[better] - gains[worse] for better, worse in places]
    if test == "randomisation":
        p_values = randomisation_p_of_rows(np.array(differences), seed)
    else:
        p_values = [TESTS[test](each, seed) for each in differences]
    found = []
    for (better, worse), each, p, p_holm in zip(places, differences, p_values, holm(p_values), strict=True):
        spread = float(each.std(ddof=1))
        mean = float(each.mean())
        effect = mean / spread if spread > 0.0 else math.copysign(math.inf, mean) if mean else 0.0
        found.append(
            PairTest(
                better=names[better],
                worse=names[worse],
                difference=mean,
                effect=effect,
                p=p,
                p_holm=p_holm,
                detectable=detectable_difference(spread, n_topics, power, level),
                topics_needed=topics_needed(effect, power, level),
                n_topics=n_topics,
            )
        )
    return found


def detectable_difference(spread: float, n_topics: int, power: float = 0.8, level: float = 0.05) -> float:
    """The smallest mean difference that a paired t-test on `n_topics` topics finds with that power.

    `spread` is the standard deviation of the differences by topic. The t-test's power is approximated through its
    critical value and a normal quantile: (t₁₋α⁄₂ + z_power) · spread / √n.
    """
    return (_critical(n_topics - 1, level) + NormalDist().inv_cdf(power)) * spread / math.sqrt(n_topics)


def topics_needed(effect: float, power: float = 0.8, level: float = 0.05) -> int | None:
    """The fewest topics with which a paired t-test finds that effect size with that power; None for no effect."""
    if effect == 0.0:
        return None
    low, high = 2, MAX_TOPICS_NEEDED
    if detectable_difference(1.0, high, power, level) > abs(effect):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if detectable_difference(1.0, middle, power, level) <= abs(effect) else (middle + 1, high)
        )
    return low


def _critical(freedom: int, level: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, 1.0 - level / 2))


def _notes(results: Results, task: Task, topics: Sequence[Any]) -> list[str]:
    notes = []
    n_all = len({topic for run in results.of_task(task) for topic in run.topics})
    if len(topics) < n_all:
        notes.append(f"compared on {len(topics)} of {n_all} topics, those on which all runs have a finite value")
    return notes + few_topics_note(len(topics))
