"""Whether the bounds of `optimal` hold: random instances against brute force, an independent solver and free runs.

    python benchmarks/bounds.py [--instances 1000] [--seed 0]

So many instances of each kind. Lists (Task 1): the score of every ranking, worked out by scipy's Jensen–Shannon
distance, is compared with the bound of each depth. Sequences (Task 2): scipy's non-negative least squares over the
distributions on all rankings gives the least loss there is, of any sequence and of those that keep to the restrictions.
Long sequences: what the policy reaches without restrictions, and with nothing but fairness in mind, is compared with
the bound that it gives at its defaults. `rerank`: the same for items, through the public functions, some of unknown
group and one group without items to rank. Half of the instances of a kind have default settings, the others draw them.
Exits with 1 when any bound is violated.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from itertools import permutations

import numpy as np
from scipy.optimize import nnls
from scipy.spatial.distance import jensenshannon

import evenrank
from evenrank.core.alignment import Alignment
from evenrank.core.exposure import discounts
from evenrank.core.rng import derive
from evenrank.core.target import EstimatedTarget
from evenrank.policies.optimal import OptimalList, OptimalSequence
from evenrank.policies.optimal.sequence import LOSS, LOSS_BOUND, RESTRICTED_LOSS_BOUND, WORK_WEIGHT, WORTH_OF_RELEVANCE
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
FREE = {"reach": 0.0, "keep_relevance": 0.0}
Slack = tuple[str, float]
"""The name of a bound, and how far inside it the best lies."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    slack: dict[str, list[float]] = {}
    for check in (check_list, check_sequence, check_long_sequence, check_rerank):
        for name, missed in check_all(check, options.instances, options.seed):
            slack.setdefault(name, []).append(missed)
    print(
        f"{options.instances} instances of each kind, seed {options.seed}; slack: how far the best is inside its bound"
    )
    print("\n| bound | checked | violated | least slack | mean slack |\n|---|---:|---:|---:|---:|")
    n_violated = 0
    for name, missed in slack.items():
        violated = sum(value < -ERROR for value in missed)
        n_violated += violated
        print(f"| {name} | {len(missed)} | {violated} | {min(missed):.1e} | {np.mean(missed):.4f} |")
    sys.exit(1 if n_violated else 0)


def check_all(
    check: Callable[[np.random.Generator, int, bool], Iterator[Slack]], n_instances: int, seed: int
) -> Iterator[Slack]:
    """What a check finds in random instances, every other one with default settings."""
    for number in range(n_instances):
        yield from check(derive(seed, "bounds", check.__name__, number), number, number % 2 == 0)


def make_topic(rng: np.random.Generator, number: int, n_pages: int) -> tuple[Candidates, EstimatedTarget]:
    """Pages over four groups, some of them unknown, some in two groups."""
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


def check_list(rng: np.random.Generator, number: int, is_default: bool) -> Iterator[Slack]:
    """At each depth of a list; at defaults that is its end."""
    n_pages = int(rng.integers(2, 7))
    candidates, target = make_topic(rng, number, n_pages)
    policy, depths = OptimalList(), (n_pages,)
    if not is_default:
        depths = tuple(range(1, n_pages + 1))
        policy = OptimalList(
            fairness=float(rng.choice([0.3, 1.0, 3.0])),
            depths=depths,
            depth_weights=tuple(rng.dirichlet(np.ones(n_pages)).tolist()),
            log_base=float(rng.choice([2.0, np.e])),
            proof=str(rng.choice(["quick", "thorough"])),  # type: ignore[arg-type]
        )
    certificate = policy.rank(candidates, target, Request(1, 1, n_pages), rng).certificate
    for depth in depths:
        best = max(true_score(candidates, target, ranking, policy) for ranking in permutations(range(n_pages), depth))
        yield "Task 1, score", certificate[f"upper_bound@{depth}"] - best


def true_score(candidates: Candidates, target: EstimatedTarget, ranking: tuple[int, ...], policy: OptimalList) -> float:
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


def check_sequence(rng: np.random.Generator, number: int, is_default: bool) -> Iterator[Slack]:
    """The expected loss, EE-L alone, and EE-L under the restrictions, against mixtures of all rankings."""
    n_pages, length = int(rng.integers(3, 7)), int(rng.integers(1, 4))
    candidates, target = make_topic(rng, number, n_pages)
    policy = OptimalSequence()
    if not is_default:
        policy = OptimalSequence(
            fairness=float(rng.choice([0.2, 1.0, 5.0])),
            spread=float(rng.choice([0.05, 0.1, 1.0])),
            reach=float(rng.choice([0.0, 1.0, 2.0])),
            keep_relevance=float(rng.choice([0.0, 0.6, 0.9])),
        )
    certificate = policy.rank(candidates, target, Request(2, 100, length), rng).certificate
    weights = discounts(length).astype(np.float64)
    every = np.array(list(permutations(range(n_pages), length)))
    of_pages = np.zeros((len(every), n_pages))
    np.put_along_axis(of_pages, every, np.broadcast_to(weights, every.shape), axis=1)
    centre, constant = _centre(policy, candidates, weights)
    groups, wanted = of_pages @ candidates.alignment.dense(), target.values * weights.sum()
    root = np.sqrt(policy.spread)
    least = _least(np.hstack([groups, root * of_pages]), np.append(wanted, root * centre))
    yield "Task 2, objective", least + constant - certificate["lower_bound"]
    yield "Task 2, EE-L", _least(groups, wanted) - certificate[LOSS_BOUND]
    yield "Task 2, EE-L of this sequence", certificate[LOSS] - certificate[RESTRICTED_LOSS_BOUND]
    floor = policy.keep_relevance / max(policy.fairness, 1.0) * np.sort(candidates.relevance)[::-1][:length] @ weights
    relevance = of_pages @ candidates.relevance
    n_near = max(int(np.ceil(policy.reach * candidates.relevance.sum())), 2 * length) if policy.reach else n_pages
    far = np.argsort(-candidates.relevance, kind="stable")[n_near:]
    is_near = ~np.isin(every, far).any(axis=1)
    restricted = _least_above(groups[is_near], wanted, relevance[is_near], floor)
    yield "Task 2, EE-L under restrictions", restricted - certificate[RESTRICTED_LOSS_BOUND]


def _centre(policy: OptimalSequence, candidates: Candidates, weights: np.ndarray) -> tuple[np.ndarray, float]:
    """What pages are drawn to, so that fair shares and reward are one square, and what that adds."""
    reward = candidates.relevance * (1.0 - WORK_WEIGHT * (1.0 - candidates.work_needed))
    worth = WORTH_OF_RELEVANCE * weights.sum() ** 2 / (policy.fairness * min(policy.fairness, 1.0))
    worth /= np.sort(reward)[::-1][: len(weights)] @ weights
    fair = candidates.relevance / candidates.relevance.sum() * weights.sum()  # all pages are of one quality class
    centre = fair + worth * reward / (2.0 * policy.spread)
    return centre, policy.spread * float(fair @ fair - centre @ centre)


def _least(points: np.ndarray, wanted: np.ndarray) -> float:
    """The least squared distance of a mixture of points (one in each row) from what is wanted."""
    shares, _ = nnls(np.vstack([points.T, SURE * np.ones(len(points))]), np.append(wanted, SURE))
    missed = (shares / shares.sum()) @ points - wanted
    return float(missed @ missed)


def _least_above(points: np.ndarray, wanted: np.ndarray, relevance: np.ndarray, floor: float) -> float:
    """The same of mixtures with enough relevance: what is above the floor is left over, which costs nothing."""
    conditions = np.vstack([points.T, SURE * np.ones(len(points)), SURE * relevance])
    left_over = np.append(np.zeros(len(wanted) + 1), -SURE)
    shares, _ = nnls(np.column_stack([conditions, left_over]), np.append(wanted, [SURE, SURE * floor]))
    missed = (shares[:-1] / shares[:-1].sum()) @ points - wanted
    return float(missed @ missed)


def check_long_sequence(rng: np.random.Generator, number: int, is_default: bool) -> Iterator[Slack]:
    """Bounds at defaults against what runs reach that keep to no restriction, or have nothing but fairness in mind."""
    n_pages, length = int(rng.integers(20, 300)), int(rng.integers(3, 20))
    candidates, target = make_topic(rng, number, n_pages)
    skewed = rng.random(len(ROWS)) ** 4  # some groups are hardly relevant, which is what restrictions are about
    candidates.relevance[:] *= skewed[candidates.alignment.page_type]
    settings = {} if is_default else {"fairness": float(rng.choice([0.3, 3.0])), "relevant_only": bool(rng.integers(2))}
    request = Request(2, int(rng.choice([20, 100])), length)
    proven = OptimalSequence(**settings).rank(candidates, target, request, rng).certificate  # type: ignore[arg-type]
    for other in (FREE, {**FREE, "fairness": 1e6, "spread": 0.0}):
        free = OptimalSequence(**{**settings, **other}).rank(candidates, target, request, rng).certificate  # type: ignore[arg-type]
        yield "Task 2, EE-L of free runs", free[LOSS] - proven[LOSS_BOUND]
        if "spread" not in other:
            yield "Task 2, objective of free runs", free["objective"] - proven["lower_bound"]
    yield "Task 2, EE-L of this sequence", proven[LOSS] - proven[RESTRICTED_LOSS_BOUND]


def check_rerank(rng: np.random.Generator, number: int, is_default: bool) -> Iterator[Slack]:
    """`rerank` at defaults: one ranking against all, several against a free run."""
    n_items = int(rng.integers(3, 7)) if is_default else int(rng.integers(10, 80))
    names = [f"i{item}" for item in range(n_items)]
    relevance = rng.beta(0.8, 1.5, n_items)
    group = np.append([1, 2], rng.integers(1, 4, n_items - 2))
    items = {"q": dict(zip(names, relevance.tolist(), strict=True))}
    is_known = rng.random(n_items) >= rng.choice([0.0, 0.3])
    is_known[:2] = True
    known = zip(names, group.tolist(), is_known.tolist(), strict=True)
    groups = {name: f"g{of_item}" for name, of_item, known_one in known if known_one} | {"elsewhere": "g4"}
    present = sorted(set(groups.values()))
    target = dict(zip(present, rng.dirichlet(np.ones(len(present))).tolist(), strict=True))
    if is_default:
        proven = evenrank.rerank(items, groups, target).certificates["q"]
        shares = np.array([target[name] for name in present])
        rows = np.array([[groups.get(name) == other for other in present] for name in names], float)
        yield "rerank, score", proven["upper_bound"] - max(_score(rows, shares, relevance, n_items))
        return
    k = int(rng.integers(2, min(n_items, 12)))
    proven = evenrank.rerank(items, groups, target, k=k, n_rankings=100).certificates["q"]
    free = evenrank.rerank(items, groups, target, k=k, n_rankings=100, settings={**FREE, "fairness": 1e6})
    scored = evenrank.score(free.to_dict(), groups, items, target, [LOSS], k=k).scores[LOSS]
    yield "rerank, EE-L of free runs, by `score`", scored - proven[LOSS_BOUND]


def _score(rows: np.ndarray, target: np.ndarray, relevance: np.ndarray, length: int) -> Iterator[float]:
    """Relevance · AWRF of every ranking, in units of the most relevant one."""
    weights = discounts(length).astype(np.float64)
    most = np.sort(relevance)[::-1] @ weights
    for ranking in map(list, permutations(range(length))):
        exposure = weights @ rows[ranking]
        awrf = 1.0 - jensenshannon(exposure, target, base=2.0) ** 2 if exposure.any() else 0.0
        yield float(weights @ relevance[ranking] / most * awrf)


if __name__ == "__main__":
    main()
