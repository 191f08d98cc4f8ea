"""How near `optimal` comes to the best there is, how long it takes, and how that grows; peers in the same run.

    OPENBLAS_NUM_THREADS=1 python benchmarks/optimal.py [--topics 40] [--first-seed 9201] [--growth]

Topics 0 to 19 were used to choose the solver's constants; the default ones were not. Times are of one core. The tables
are Markdown.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from time import process_time

import numpy as np

from evenrank.core.exposure import discounts
from evenrank.core.groups import GroupSpace
from evenrank.core.rng import derive
from evenrank.core.target import EstimatedTarget
from evenrank.policies.deficit import Deficit
from evenrank.policies.optimal import Optimal
from evenrank.policies.optimal.list import OptimalList, list_problem
from evenrank.policies.optimal.permutohedron import best_ranking
from evenrank.policies.optimal.sequence import OptimalSequence, sequence_problem
from evenrank.policies.optimal.solver import mean_exposure
from evenrank.policies.policy import Candidates, Policy, Request
from evenrank.policies.relevance import Relevance
from optimal_topics import TRACK, made_up_space, make_topic

AT_TWENTY = Optimal(depths=(20,), depth_weights=(1.0,))
TASK1, TASK2 = Request(1, 1, 1000), Request(2, 100, 50)
Ranker = Callable[[Candidates, EstimatedTarget, Request], np.ndarray]


def by_policy(policy: Policy) -> Ranker:
    """A policy as a function to positions."""
    return lambda candidates, target, request: (
        policy.rank(candidates, target, request, derive(1, candidates.topic_id)).positions
    )


def plain_frank_wolfe(candidates: Candidates, target: EstimatedTarget, request: Request) -> np.ndarray:
    """The textbook version: ranking t is the best for the gradient at the mean of the rankings before it."""
    problem = sequence_problem(OptimalSequence(), candidates, target, request).loss
    mean, rankings = np.zeros(len(candidates)), []
    for step in range(request.n_rankings):
        rankings.append(best_ranking(-problem.slope(mean), len(problem.discounts)))
        newest = mean_exposure(rankings[-1][None], problem.discounts, len(candidates))
        mean += (newest - mean) / (step + 1)
    return np.array(rankings)


def timed(
    ranker: Ranker, candidates: Candidates, target: EstimatedTarget, request: Request
) -> tuple[np.ndarray, float]:
    """Positions, and milliseconds of one core."""
    start = process_time()
    positions = ranker(candidates, target, request)
    return positions, 1000.0 * (process_time() - start)


def table(*rows: Sequence[str]) -> None:
    """A Markdown table; the first row is its head, the first column text and the others numbers."""
    head, *body = ["| " + " | ".join(row) + " |" for row in rows]
    print("\n".join([head, "|---" + "|---:" * (len(rows[0]) - 1) + "|", *body]))


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
        problem = sequence_problem(OptimalSequence(), candidates, target, TASK2)
        bound = Optimal().rank(candidates, target, TASK2, derive(1)).certificate["lower_bound"]
        squares.append(float(np.sum((target.values * discounts(50).sum()) ** 2)))
        for name, ranker in rankers.items():
            positions, milliseconds = timed(ranker, candidates, target, TASK2)
            exposure = mean_exposure(positions, problem.loss.discounts, len(candidates))
            loss = problem.loss.group_loss(exposure) + problem.unreachable
            gap = problem.loss.loss(exposure) + problem.unreachable - bound
            rows[name].append((gap, loss, candidates.relevance[positions].mean(), milliseconds))
    print(f"Task 2: {len(seeds)} topics, 5000 candidates, 32 groups, mean ‖T‖² {np.mean(squares):.1f}, 100 × 50\n")
    base = np.mean(rows["optimal"], axis=0)
    lines = [["", "gap", "ratio", "EE-L", "ratio", "P@50", "ms", "worst ms"]]
    for name, values in rows.items():
        gap, loss, precision, milliseconds = np.mean(values, axis=0)
        ratios = [f"{gap:.4f}", f"{gap / base[0]:.1f}", f"{loss:.4f}", f"{loss / base[1]:.1f}"]
        lines.append([name, *ratios, f"{precision:.3f}", f"{milliseconds:.1f}", f"{np.max(values, axis=0)[3]:.1f}"])
    table(*lines)


def task1_table(seeds: range, depth: int, log_base: float, label: str) -> None:
    """Score and upper bound, how much of the gap is rounding, and time."""
    policy = OptimalList(depths=(depth,), depth_weights=(1.0,), log_base=log_base, proof="thorough")
    rankers = {"optimal": by_policy(policy), "deficit": by_policy(Deficit()), "relevance": by_policy(Relevance())}
    rows: dict[str, list[tuple[float, ...]]] = {name: [] for name in rankers}
    parts = []
    for seed in seeds:
        candidates, target = make_topic(seed, 1)
        certificate = policy.rank(candidates, target, TASK1, derive(1)).certificate
        parts.append([certificate[key] for key in (f"upper_bound@{depth}", f"gap@{depth}", "rounding", "relaxed")])
        problem = list_problem(policy, candidates, target, depth)
        for name, ranker in rankers.items():
            positions, milliseconds = timed(ranker, candidates, target, TASK1)
            head = positions[0, :depth]
            rows[name].append((problem.score(head), problem.outcome(head)[-1], problem.awrf(head), milliseconds))
    bound, gap, rounding, relaxed = np.mean(parts, axis=0)
    worst = np.max(parts, axis=0)[1]
    print(f"\nTask 1, depth {depth} ({label}): upper bound {bound:.5f}, gap {gap:.3%}, at worst {worst:.3%}.")
    if depth == TASK1.length:
        print(f"The best mixture of rankings has {relaxed:.5f}: against it whole pages cost {rounding:.3%}.")
    print()
    lines = [["", "score", "of bound", "nDCG kept", "AWRF", "ms", "worst ms"]]
    for name, values in rows.items():
        score, share, awrf, milliseconds = np.mean(values, axis=0)
        scores = [f"{score:.5f}", f"{score / bound:.4f}", f"{share:.4f}", f"{awrf:.4f}"]
        lines.append([name, *scores, f"{milliseconds:.1f}", f"{np.max(values, axis=0)[3]:.1f}"])
    table(*lines)


def default_table(seeds: range) -> None:
    """The list of the default settings, made for several depths at once: its scores, bounds and time."""
    policy, rows, times = OptimalList(), [], []
    for seed in seeds:
        candidates, target = make_topic(seed, 1)
        start = process_time()
        certificate = policy.rank(candidates, target, TASK1, derive(1)).certificate
        times.append(1000.0 * (process_time() - start))
        alone = Optimal(depths=(1000,), depth_weights=(1.0,)).rank(candidates, target, TASK1, derive(1)).certificate
        names = ("score", "upper_bound", "gap", "relevance_share", "AWRF")
        rows.append(
            [[certificate[f"{name}@{depth}"] for name in names] for depth in policy.depths]
            + [[alone[name] for name in names]]
        )
    print(f"\nTask 1, default settings: one list for depths {', '.join(map(str, policy.depths))}; ", end="")
    print(f"{np.mean(times):.0f} ms a topic, at worst {np.max(times):.0f} ms.\n")
    labels = [*(f"depth {depth}" for depth in policy.depths), "depth 1000 alone"]
    lines = [["", "score", "upper bound", "gap", "nDCG kept", "AWRF"]]
    for label, (score, bound, gap, kept, awrf) in zip(labels, np.mean(rows, axis=0), strict=True):
        lines.append([label, f"{score:.4f}", f"{bound:.4f}", f"{gap:.2%}", f"{kept:.4f}", f"{awrf:.4f}"])
    table(*lines)


def growth_row(label: str, seeds: range, n_pages: int, space: GroupSpace) -> list[str]:
    """Gaps and times of both tasks at one size; at depth 20 also what whole pages cost."""
    cells = [label]
    for policy, request in ((Optimal(), TASK2), (Optimal(), TASK1), (AT_TWENTY, TASK1)):
        values = []
        for seed in seeds:
            candidates, target = make_topic(seed, request.task, n_pages, space)
            start = process_time()
            certificate = policy.rank(candidates, target, request, derive(1)).certificate
            values.append((certificate["gap"], certificate["rounding"], 1000.0 * (process_time() - start)))
        gap, rounding, milliseconds = np.mean(values, axis=0)
        if request.task == 2:
            cells.append(f"{gap:.4f}")
        else:
            cells += [f"{gap:.3%}", f"{rounding:.2%}"] if policy is AT_TWENTY else [f"{gap:.3%}"]
        cells.append(f"{milliseconds:.0f}")
    return cells


def growth_tables(seeds: range) -> None:
    """How gaps and times grow with candidates and with groups."""
    head = ["Task 2 gap", "ms", "Task 1 gap", "ms", "depth 20 gap", "whole pages", "ms"]
    sizes = (500, 1500, 5000, 15_000, 50_000)
    print(f"\nGrowth, {len(seeds)} topics each\n")
    table(["candidates", *head], *(growth_row(f"{n_pages:,}", seeds, n_pages, TRACK) for n_pages in sizes))
    print()
    spaces = [made_up_space(shape) for shape in ((8,), (8, 4), (8, 4, 4), (8, 8, 8))]
    table(["groups", *head], *(growth_row(str(space.n_groups), seeds, 5000, space) for space in spaces))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--topics", type=int, default=40)
    options.add_argument(
        "--first-seed", type=int, default=9201, help="0 to 19 were used to choose the solver's constants"
    )
    options.add_argument("--growth", action="store_true", help="also the growth tables")
    chosen = options.parse_args()
    seeds = range(chosen.first_seed, chosen.first_seed + chosen.topics)
    task2_table(seeds)
    default_table(seeds)
    task1_table(seeds, 1000, 2.0, "paper-2021")
    task1_table(seeds, 20, math.e, "official-2021")
    task1_table(seeds, 20, 2.0, "base 2")
    if chosen.growth:
        growth_tables(seeds[: min(12, chosen.topics)])


if __name__ == "__main__":
    main()
