"""How near `optimal` comes to the best there is, how long it takes, and how that grows; peers in the same run.

    OPENBLAS_NUM_THREADS=1 python benchmarks/optimal.py [--topics 20] [--first-seed 1000] [--growth]

Topics 0 to 19 were used to choose the solver's constants; the default ones were not. Times are of one core.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from time import process_time

import numpy as np

from evenrank.alignment.groups import GroupSpace
from evenrank.exposure import discounts
from evenrank.policies.candidates import Candidates
from evenrank.policies.deficit import Deficit
from evenrank.policies.optimal import Optimal
from evenrank.policies.optimal_list import list_problem
from evenrank.policies.optimal_sequence import sequence_problem
from evenrank.policies.optimisation.permutohedron import best_ranking
from evenrank.policies.policy import Policy, Request
from evenrank.policies.relevance import Relevance
from evenrank.rng import derive
from evenrank.targets.target import EstimatedTarget
from optimal_topics import TRACK, made_up_space, make_topic

TASK1, TASK2 = Request(1, 1, 1000), Request(2, 100, 50)
Ranker = Callable[[Candidates, EstimatedTarget, Request], np.ndarray]


def by_policy(policy: Policy) -> Ranker:
    """A policy as a function to positions."""
    return lambda candidates, target, request: (
        policy.rank(candidates, target, request, derive(1, candidates.topic_id)).positions
    )


def plain_frank_wolfe(candidates: Candidates, target: EstimatedTarget, request: Request) -> np.ndarray:
    """The textbook version: ranking t is the best for the gradient at the mean of the rankings before it."""
    problem, _ = sequence_problem(Optimal(), candidates, target, request.length)
    mean, rankings = np.zeros(len(problem.target) + 1), []
    for step in range(request.n_rankings):
        scores = problem.page_scores(2.0 * (problem.target - mean[:-1]))
        rankings.append(best_ranking(scores, len(problem.discounts)))
        mean += (problem.outcome(rankings[-1]) - mean) / (step + 1)
    return np.array(rankings)


def timed(
    ranker: Ranker, candidates: Candidates, target: EstimatedTarget, request: Request
) -> tuple[np.ndarray, float]:
    """Positions, and milliseconds of one core."""
    start = process_time()
    positions = ranker(candidates, target, request)
    return positions, 1000.0 * (process_time() - start)


def task2_table(seeds: range) -> None:
    """Gap to the lower bound of the objective, EE-L, expected precision and time."""
    rankers = {
        "optimal": by_policy(Optimal()),
        "Frank-Wolfe 1/t": plain_frank_wolfe,
        "deficit": by_policy(Deficit()),
        "relevance": by_policy(Relevance()),
    }
    rows: dict[str, list[tuple[float, ...]]] = {name: [] for name in rankers}
    squares = []
    for seed in seeds:
        candidates, target = make_topic(seed, 2)
        problem, unreachable = sequence_problem(Optimal(), candidates, target, TASK2.length)
        bound = Optimal().rank(candidates, target, TASK2, derive(1)).certificate["lower_bound"]
        squares.append(float(np.sum((target.values * discounts(50).sum()) ** 2)))
        for name, ranker in rankers.items():
            positions, milliseconds = timed(ranker, candidates, target, TASK2)
            outcome = np.mean([problem.outcome(row) for row in positions], axis=0)
            loss = float(np.sum((outcome[:-1] - problem.target) ** 2)) + unreachable
            gap = problem.loss(outcome) + unreachable - bound
            rows[name].append((gap, loss, candidates.relevance[positions].mean(), milliseconds))
    print(f"Task 2: {len(seeds)} topics, 5000 candidates, 32 groups, mean ‖T‖² {np.mean(squares):.1f}, 100 × 50")
    print(f"{'':18}{'gap':>9}{'ratio':>9}{'EE-L':>9}{'ratio':>9}{'P@50':>8}{'ms':>8}{'worst ms':>10}")
    base = np.mean(rows["optimal"], axis=0)
    for name, values in rows.items():
        gap, loss, precision, milliseconds = np.mean(values, axis=0)
        worst = np.max(values, axis=0)[3]
        print(
            f"{name:18}{gap:9.4f}{gap / base[0]:9.1f}{loss:9.4f}{loss / base[1]:9.1f}{precision:8.3f}"
            f"{milliseconds:8.1f}{worst:10.1f}"
        )


def task1_table(seeds: range, depth: int, log_base: float, label: str) -> None:
    """Score and upper bound, how much of the gap is rounding, and time."""
    policy = Optimal(scored_depth=depth, log_base=log_base)
    rankers = {"optimal": by_policy(policy), "deficit": by_policy(Deficit()), "relevance": by_policy(Relevance())}
    rows: dict[str, list[tuple[float, ...]]] = {name: [] for name in rankers}
    parts = []
    for seed in seeds:
        candidates, target = make_topic(seed, 1)
        certificate = policy.rank(candidates, target, TASK1, derive(1)).certificate
        parts.append([certificate[key] for key in ("upper_bound", "gap", "rounding", "relaxed")])
        problem = list_problem(policy, candidates, target, depth)
        for name, ranker in rankers.items():
            positions, milliseconds = timed(ranker, candidates, target, TASK1)
            head = positions[0, :depth]
            rows[name].append((problem.score(head), problem.outcome(head)[-1], problem.awrf(head), milliseconds))
    bound, gap, rounding, relaxed = np.mean(parts, axis=0)
    print(f"\nTask 1, depth {depth} ({label}): upper bound {bound:.5f}, relaxed optimum {relaxed:.5f}")
    worst_gap = np.max(parts, axis=0)[1]
    print(f"optimal is within {gap:.3%} (worst {worst_gap:.3%}), {rounding:.3%} of that lost to whole pages")
    print(f"{'':18}{'score':>9}{'of bound':>10}{'nDCG kept':>11}{'AWRF':>8}{'ms':>8}{'worst ms':>10}")
    for name, values in rows.items():
        score, share, awrf, milliseconds = np.mean(values, axis=0)
        worst = np.max(values, axis=0)[3]
        print(f"{name:18}{score:9.5f}{score / bound:10.4f}{share:11.4f}{awrf:8.4f}{milliseconds:8.1f}{worst:10.1f}")


def growth_row(label: str, seeds: range, n_pages: int, space: GroupSpace) -> None:
    """Gaps and times of both tasks at one size."""
    cells = []
    for policy, request in ((Optimal(), TASK2), (Optimal(), TASK1), (Optimal(scored_depth=20), TASK1)):
        values = []
        for seed in seeds:
            candidates, target = make_topic(seed, request.task, n_pages, space)
            start = process_time()
            certificate = policy.rank(candidates, target, request, derive(1)).certificate
            values.append((certificate["gap"], 1000.0 * (process_time() - start)))
        cells.append(np.mean(values, axis=0))
    print(f"{label:>12}" + "".join(f"{gap:12.5f}{milliseconds:9.1f}" for gap, milliseconds in cells))


def growth_tables(seeds: range) -> None:
    """How gaps and times grow with candidates and with groups."""
    heads = "".join(f"{head:>12}{'ms':>9}" for head in ("Task 2 gap", "Task 1 gap", "depth 20"))
    print(f"\n{'candidates':>12}{heads}")
    for n_pages in (500, 1500, 5000, 15_000, 50_000):
        growth_row(f"{n_pages:,}", seeds, n_pages, TRACK)
    print(f"\n{'groups':>12}{heads}")
    for sizes in ((8,), (8, 4), (8, 4, 4), (8, 8, 8)):
        growth_row(str(math.prod(sizes)), seeds, 5000, made_up_space(sizes))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--topics", type=int, default=20)
    options.add_argument(
        "--first-seed", type=int, default=1000, help="0 to 19 were used to choose the solver's constants"
    )
    options.add_argument("--growth", action="store_true", help="also the growth tables")
    chosen = options.parse_args()
    seeds = range(chosen.first_seed, chosen.first_seed + chosen.topics)
    task2_table(seeds)
    task1_table(seeds, 1000, 2.0, "paper-2021")
    task1_table(seeds, 20, math.e, "official-2021")
    task1_table(seeds, 20, 2.0, "base 2")
    if chosen.growth:
        growth_tables(seeds[: max(2, chosen.topics // 4)])


if __name__ == "__main__":
    main()
