"""Whether the bounds of `optimal` hold: random instances against brute force and an independent solver.

    python benchmarks/bounds.py [--instances 1200] [--seed 0]

Half of the instances are lists (Task 1): the score of every ranking, worked out by scipy's Jensen–Shannon distance, is
compared with the bound of each depth. The others are sequences (Task 2): scipy's non-negative least squares over the
distributions on all rankings gives the least loss there is. Exits with 1 when any bound is violated.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from itertools import permutations

import numpy as np
from scipy.optimize import nnls
from scipy.spatial.distance import jensenshannon

from evenrank.core.alignment import Alignment
from evenrank.core.exposure import discounts
from evenrank.core.rng import derive
from evenrank.core.target import EstimatedTarget
from evenrank.policies.optimal import Optimal
from evenrank.policies.optimal_sequence import WORTH_OF_RELEVANCE
from evenrank.policies.policy import Candidates, Request
from optimal_topics import made_up_space

SPACE = made_up_space((4,))
N_GROUPS = SPACE.n_groups
ROWS = np.vstack([np.eye(N_GROUPS), np.eye(N_GROUPS)[1] + np.eye(N_GROUPS)[2:]])
"""Page types: one group each, and two groups that both count in full."""
SURE = 1e5
"""Weight of the condition that the shares of all rankings sum to 1."""
ERROR = 1e-7
"""What floating-point arithmetic and the other solver may miss."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=int, default=1200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    slack: dict[str, list[float]] = {"list": [], "sequence": [], "EE-L": []}
    for number in range(options.instances):
        rng = derive(options.seed, "bounds", number)
        check = check_list if number % 2 == 0 else check_sequence
        for name, missed in check(rng, number):
            counts[name] += 1
            slack[name].append(missed)
            counts["violated"] += missed < -ERROR
    print(
        f"{options.instances} random instances, seed {options.seed}; slack is how far the best lies inside its bound\n"
    )
    print("| bound | checked | violated | least slack | mean slack |\n|---|---:|---:|---:|---:|")
    for name, missed in slack.items():
        violated = sum(value < -ERROR for value in missed)
        print(f"| {name} | {len(missed)} | {violated} | {min(missed):.1e} | {np.mean(missed):.4f} |")
    sys.exit(1 if counts["violated"] else 0)


def make_topic(rng: np.random.Generator, number: int, n_pages: int) -> tuple[Candidates, EstimatedTarget]:
    """A few pages over four groups, some of them unknown, some in two groups."""
    page_type = rng.integers(0, len(ROWS), n_pages)
    target = np.append(rng.choice([0.0, 0.1]), rng.dirichlet([0.7] * (N_GROUPS - 1)))
    candidates = Candidates(
        topic_id=number,
        page_ids=np.arange(n_pages, dtype=np.int32),
        relevance=rng.beta(0.8, 1.5, n_pages),
        scores=np.zeros(n_pages),
        work_needed=rng.random(n_pages),
        quality_class=np.zeros(n_pages, np.uint8),
        alignment=Alignment(ROWS, page_type),
    )
    return candidates, EstimatedTarget(number, SPACE, target / target.sum())


def check_list(rng: np.random.Generator, number: int) -> list[tuple[str, float]]:
    """(bound, slack) at each depth of a list."""
    n_pages = int(rng.integers(2, 7))
    candidates, target = make_topic(rng, number, n_pages)
    depths = tuple(range(1, n_pages + 1))
    policy = Optimal(
        fairness=float(rng.choice([0.3, 1.0, 3.0])),
        depths=depths,
        depth_weights=tuple(rng.dirichlet(np.ones(n_pages)).tolist()),
        log_base=float(rng.choice([2.0, np.e])),
        proof=str(rng.choice(["quick", "thorough"])),  # type: ignore[arg-type]
    )
    certificate = policy.rank(candidates, target, Request(1, 1, n_pages), rng).certificate
    found = []
    for depth in depths:
        best = max(true_score(candidates, target, ranking, policy) for ranking in permutations(range(n_pages), depth))
        found.append(("list", certificate[f"upper_bound@{depth}"] - best))
    return found


def true_score(candidates: Candidates, target: EstimatedTarget, ranking: tuple[int, ...], policy: Optimal) -> float:
    """Relevance · AWRF^fairness of a ranking, in units of the most relevant one."""
    weights = discounts(len(ranking)).astype(np.float64)
    most = np.sort(candidates.relevance)[::-1][: len(ranking)] @ weights
    exposure = weights @ candidates.alignment.dense()[list(ranking)]
    if target.values[0] == 0.0:
        exposure[0] = 0.0
    if not exposure.any():
        return 0.0
    awrf = 1.0 - jensenshannon(exposure, target.values, base=policy.log_base) ** 2
    return float(weights @ candidates.relevance[list(ranking)] / most * max(awrf, 0.0) ** policy.fairness)


def check_sequence(rng: np.random.Generator, number: int) -> list[tuple[str, float]]:
    """(bound, slack) of the expected loss, and of EE-L alone."""
    n_pages, length = int(rng.integers(3, 7)), int(rng.integers(1, 4))
    candidates, target = make_topic(rng, number, n_pages)
    fairness, spread = float(rng.choice([0.2, 1.0, 5.0])), float(rng.choice([0.05, 0.1, 1.0]))
    policy = Optimal(fairness=fairness, spread=spread, work_weight=0.3, reach=0.0, keep_relevance=0.0)
    certificate = policy.rank(candidates, target, Request(2, 100, length), rng).certificate
    weights = discounts(length).astype(np.float64)
    every = np.array(list(permutations(range(n_pages), length)))
    of_pages = np.zeros((len(every), n_pages))
    np.put_along_axis(of_pages, every, np.broadcast_to(weights, every.shape), axis=1)
    reward = candidates.relevance * (0.7 + 0.3 * candidates.work_needed)
    worth = (
        WORTH_OF_RELEVANCE
        * weights.sum() ** 2
        / (fairness * min(fairness, 1.0))
        / (np.sort(reward)[::-1][:length] @ weights)
    )
    fair = candidates.relevance / candidates.relevance.sum() * weights.sum()  # all pages are of one quality class
    centre = fair + worth * reward / (2.0 * spread)
    constant = spread * float(fair @ fair - centre @ centre)
    groups, wanted = of_pages @ candidates.alignment.dense(), target.values * weights.sum()
    least = _least(np.hstack([groups, np.sqrt(spread) * of_pages]), np.append(wanted, np.sqrt(spread) * centre))
    return [
        ("sequence", least + constant - certificate["lower_bound"]),
        ("EE-L", _least(groups, wanted) - certificate["EE-L_lower_bound"]),
    ]


def _least(points: np.ndarray, wanted: np.ndarray) -> float:
    """The least squared distance of a mixture of points (one in each row) from what is wanted."""
    shares, _ = nnls(np.vstack([points.T, SURE * np.ones(len(points))]), np.append(wanted, SURE))
    missed = (shares / shares.sum()) @ points - wanted
    return float(missed @ missed)


if __name__ == "__main__":
    main()
