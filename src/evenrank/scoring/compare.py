"""Runs against a baseline: paired tests per measure, corrected for their number, by each measure's direction."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.frames import DataFrame, pandas_frame
from evenrank.core.protocol import Protocol
from evenrank.core.rng import derive
from evenrank.errors import EvenrankError, UnknownNameError
from evenrank.measures.measure import Measure
from evenrank.measures.registry import Named, listed_measures
from evenrank.scoring.intervals import Interval, intervals
from evenrank.scoring.results import Results, RunResult
from evenrank.scoring.tables import Column, Table, TableResult, interval_label

MAX_EXACT = 16
"""Up to this number of topics that differ, all 2ⁿ sign patterns are counted."""
N_SAMPLES = 100_000
"""Sign patterns drawn when there are more."""
SIGNS_AT_ONCE = 10_000_000
"""Signs drawn together: patterns of a hundred thousand queries would fill the memory."""


def randomisation_p(differences: NDArray[np.float64], seed: int = 0) -> float:
    """Two-sided p of the paired randomisation test: how often random signs give a mean as far from 0.

    Exact when few topics differ, else from `N_SAMPLES` patterns drawn with `seed` (Smucker et al. 2007).
    """
    return randomisation_p_of_rows(differences[None], seed)[0]


def randomisation_p_of_rows(differences: NDArray[np.float64], seed: int = 0) -> list[float]:
    """`randomisation_p` of each row; rows that differ on the same number of topics share their sign patterns."""
    found = np.ones(len(differences))
    n_moved = (differences != 0.0).sum(axis=1)
    for n in np.unique(n_moved[n_moved > 0]).tolist():
        rows = np.flatnonzero(n_moved == n)
        moved = differences[rows][differences[rows] != 0.0].reshape(len(rows), n)
        observed = np.abs(moved.sum(axis=1)) * (1.0 - 1e-12)  # patterns that tie with it but for rounding count
        if n <= MAX_EXACT:
            signs = 2.0 * ((np.arange(1 << n)[:, None] >> np.arange(n)) & 1) - 1.0
            found[rows] = [(np.abs(signs @ row) >= least).mean() for row, least in zip(moved, observed, strict=True)]
            continue
        rng = derive(seed, "randomisation test", n)
        n_extreme = sum((np.abs(signs @ moved.T) >= observed).sum(axis=0) for signs in _sign_patterns(n, rng))
        found[rows] = (n_extreme + 1) / (N_SAMPLES + 1)
    return [float(p) for p in found]


def _sign_patterns(n_topics: int, rng: np.random.Generator) -> Iterator[NDArray[np.float64]]:
    """`N_SAMPLES` random patterns of signs, some at a time."""
    step = max(1, min(10_000, SIGNS_AT_ONCE // n_topics))
    for first in range(0, N_SAMPLES, step):
        bits = rng.integers(0, 2, (min(step, N_SAMPLES - first), n_topics), dtype=np.int8)
        yield np.asarray(2.0 * bits - 1.0, np.float64)


def t_test_p(differences: NDArray[np.float64], seed: int = 0) -> float:
    """Two-sided p of the paired t-test; 1 when no topic differs, 0 when all differ by the same amount."""
    if len(differences) < 2 or np.ptp(differences) == 0.0:
        return 0.0 if len(differences) > 1 and differences[0] != 0.0 else 1.0
    from scipy.special import stdtr

    n_topics = len(differences)
    t = differences.mean() / (differences.std(ddof=1) / np.sqrt(n_topics))
    return float(2.0 * stdtr(n_topics - 1, -abs(t)))


TESTS: dict[str, Callable[[NDArray[np.float64], int], float]] = {"randomisation": randomisation_p, "t-test": t_test_p}
"""Test name → p of the differences by topic."""


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for their number (Holm 1979), in the order given."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        corrected[index] = largest
    return corrected


TIE = 1e-9
"""Topics whose scores differ by no more are ties."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One run against the baseline on one measure."""

    run: str
    measure: str
    baseline_mean: float
    """Over the topics that are compared, as all that follows."""
    mean: float
    difference: float
    """Mean over topics of run minus baseline."""
    interval: Interval
    """Confidence interval of the difference."""
    wins: int
    """Topics where the run is better, by the measure's direction."""
    ties: int
    losses: int
    p: float
    p_holm: float
    """p corrected for the number of runs compared on the measure."""
    verdict: str
    """better, worse, or no clear difference, at the level of the protocol's confidence."""
    n_topics: int
    """Topics that are compared: those of both runs on which the measure is defined for both."""


@dataclass(frozen=True, repr=False)
class Comparisons(TableResult):
    """All runs against one baseline."""

    baseline: str
    test: str
    protocol: Protocol
    rows: tuple[Comparison, ...]
    notes: tuple[str, ...] = ()
    """Runs that were compared on some of the topics only, and whether so few topics can show a difference at all."""

    def to_json(self) -> dict[str, Any]:
        return {
            "protocol": self.protocol.settings(),
            "baseline": self.baseline,
            "test": self.test,
            "correction": "Holm",
            "comparisons": [asdict(row) for row in self.rows],
            "notes": list(self.notes),
        }

    def to_pandas(self) -> DataFrame:
        """A data frame: a row per run and measure."""
        records = [asdict(row) for row in self.rows]
        for record in records:
            record |= record.pop("interval")
        return pandas_frame(records)

    def table(self) -> Table:
        """A row per measure and run: means, difference, its interval, topics won and lost, p before and after Holm."""
        headings: dict[str, str | Column] = {
            "run": "",
            "measure": "",
            "baseline_mean": "baseline",
            "mean": "",
            "difference": "",
            "interval": Column("ci", interval_label(self.protocol)),
            "wins": "won",
            "ties": "tied",
            "losses": "lost",
            "p": "",
            "p_holm": "p (Holm)",
            "verdict": "",
        }
        caption = f"Against {self.baseline}: paired {self.test} over topics, Holm-corrected per measure"
        return Table.of(self.rows, headings, caption)

    def _shown(self) -> tuple[list[Table], list[str]]:
        return [self.table()], [f"note: {note}" for note in self.notes]


def compare(
    results: Results,
    baseline: str,
    test: str = "randomisation",
    measures: Named | Iterable[Named] | None = None,
    seed: int = 0,
) -> Comparisons:
    """Each run of `results` against the run named `baseline`, on the topics that both have.

    `test` is `randomisation` or `t-test`; `measures` are by default the track's own of the baseline's task.
    """
    if test not in TESTS:
        raise UnknownNameError("test", test, TESTS)
    base = _baseline(results, baseline)
    others = [run for run in results.of_task(base.task) if run.run != base.run]
    if not others:
        raise EvenrankError(f"no other run of task {base.task} to compare with {baseline}")
    rows: list[Comparison] = []
    named = [results.computed(measure, base.task) for measure in listed_measures(measures)]
    for measure in named or results.compared_measures(base.task):
        rows += _compare_on(measure, others, base, test, results.protocol, seed)
    notes = (*_notes(rows, others, base), *_unreachable(rows, len(others), test, 1.0 - results.protocol.confidence))
    return Comparisons(base.run, test, results.protocol, tuple(rows), notes)


def _baseline(results: Results, name: str) -> RunResult:
    by_name = {run.run: run for run in results.runs}
    if name not in by_name:
        raise UnknownNameError("baseline run", name, by_name)
    return by_name[name]


def _compare_on(
    measure: Measure, runs: Sequence[RunResult], base: RunResult, test: str, protocol: Protocol, seed: int
) -> list[Comparison]:
    """All runs on one measure: the family of tests that is corrected together."""
    paired = [_pairs(measure, run, base) for run in runs]
    differences = [pairs[:, 0] - pairs[:, 1] for pairs in paired]
    p_values = [TESTS[test](each, seed) for each in differences]
    corrected = holm(p_values)
    ends = intervals(differences, replace(protocol, interval_stream="shared"))
    return [
        _comparison(measure, run, pairs, end, p, p_holm, 1.0 - protocol.confidence)
        for run, pairs, end, p, p_holm in zip(runs, paired, ends, p_values, corrected, strict=True)
    ]


def _pairs(measure: Measure, run: RunResult, base: RunResult) -> NDArray[np.float64]:
    """Run and baseline on each topic that both have and on which the measure is defined for both: topic by run."""
    both = [(run.topics[topic], scores) for topic, scores in base.topics.items() if topic in run.topics]
    values = [(ours[measure.key], theirs[measure.key]) for ours, theirs in both]
    pairs: NDArray[np.float64] = np.array([pair for pair in values if not math.isnan(pair[0] - pair[1])])
    if len(pairs) == 0:
        raise EvenrankError(f"{run.run} and {base.run} have no topic in common")
    return pairs


def _notes(rows: Sequence[Comparison], runs: Sequence[RunResult], base: RunResult) -> tuple[str, ...]:
    """Notes on runs that are compared on fewer topics than there are, or on fewer for some measures."""
    notes = []
    for run in runs:
        n_all, n_shared = len({*run.topics, *base.topics}), len({*run.topics} & {*base.topics})
        if n_shared < n_all:
            notes.append(f"{run.run}: compared on the {n_shared} topics that {base.run} has too, of {n_all}")
        fewer = [f"{row.measure} on {row.n_topics}" for row in rows if row.run == run.run and row.n_topics < n_shared]
        if fewer:
            notes.append(f"{run.run}: compared where a measure is defined for both: {', '.join(fewer)}")
    return tuple(notes)


def _unreachable(rows: Sequence[Comparison], n_runs: int, test: str, level: float) -> list[str]:
    """A note where no difference, however large, can be clear: n topics have 2ⁿ patterns of signs."""
    n_topics = max(row.n_topics for row in rows)
    least = n_runs * 2.0 / 2.0**n_topics
    if test != "randomisation" or least <= level:
        return []
    compared = "one comparison" if n_runs == 1 else f"{n_runs} comparisons"
    p = f"{min(least, 1.0):.3g}"
    return [f"with {n_topics} topics and {compared}, no difference can be clear: the least p (Holm) is {p}"]


def _comparison(
    measure: Measure,
    run: RunResult,
    pairs: NDArray[np.float64],
    interval: Interval,
    p: float,
    p_holm: float,
    level: float,
) -> Comparison:
    differences = pairs[:, 0] - pairs[:, 1]
    gains = differences if measure.higher_is_better else -differences
    clear = "better" if gains.mean() > 0 else "worse"
    return Comparison(
        run=run.run,
        measure=measure.key,
        baseline_mean=float(pairs[:, 1].mean()),
        mean=float(pairs[:, 0].mean()),
        difference=float(differences.mean()),
        interval=interval,
        wins=int((gains > TIE).sum()),
        ties=int((np.abs(gains) <= TIE).sum()),
        losses=int((gains < -TIE).sum()),
        p=p,
        p_holm=p_holm,
        verdict=clear if p_holm < level else "no clear difference",
        n_topics=len(pairs),
    )
