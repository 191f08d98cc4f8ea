"""`greedy`: every page is the best next one by the measure, worked out from the definitions."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenrank.core.exposure import discounts
from evenrank.core.rng import derive
from evenrank.policies.greedy import Greedy
from evenrank.policies.policy import Candidates, Request

from .small import LEFT, RIGHT, UNKNOWN, pages, wanting


def prefix_score(candidates: Candidates, prefix: list[int], target: np.ndarray) -> float:
    """Expected relevance × AWRF of a prefix, from the definitions."""
    weights = discounts(len(prefix))
    exposure = np.zeros(3)
    for weight, page in zip(weights, prefix, strict=True):
        group = candidates.alignment.page_type[page]
        exposure[group] += weight * (group != UNKNOWN)
    if not exposure.any():
        return 0.0
    share = exposure / exposure.sum()
    middle = (share + target) / 2
    parts = [x * np.log2(x / m) for x, m in zip([*share, *target], [*middle, *middle], strict=True) if x > 0]
    return float(weights @ candidates.relevance[prefix] * (1 - sum(parts) / 2))


@given(
    st.lists(st.tuples(st.sampled_from([UNKNOWN, LEFT, RIGHT]), st.floats(0.05, 0.95)), min_size=2, max_size=9),
    st.floats(0.1, 0.9),
)
def test_no_other_page_would_have_raised_the_prefix_more(given_pages: list[tuple[int, float]], left: float) -> None:
    candidates = pages([group for group, _ in given_pages], [relevance for _, relevance in given_pages])
    target = wanting(left, 1 - left)
    ranking = Greedy().rank(candidates, target, Request(1, 1, 10), derive(0)).positions[0].tolist()
    for place in range(len(ranking)):
        head = ranking[:place]
        best = max(prefix_score(candidates, [*head, page], target.values) for page in ranking[place:])
        assert prefix_score(candidates, ranking[: place + 1], target.values) == pytest.approx(best, abs=1e-9)


def test_without_fairness_it_is_the_order_by_relevance() -> None:
    candidates = pages([LEFT, LEFT, RIGHT, UNKNOWN], [0.2, 0.9, 0.5, 0.7])
    found = Greedy(fairness=0.0).rank(candidates, wanting(0.1, 0.9), Request(1, 1, 4), derive(0)).positions
    assert found.tolist() == [[1, 3, 2, 0]]


def test_greedy_is_not_optimal() -> None:
    """Its known weakness: the best first page may spoil the list that follows."""
    rng = derive(4)
    short = 0
    for _ in range(30):
        candidates = pages(rng.integers(1, 3, 6).tolist(), rng.uniform(0.1, 0.9, 6).tolist())
        target = wanting(0.5, 0.5)
        ranking = Greedy().rank(candidates, target, Request(1, 1, 4), derive(0)).positions[0].tolist()
        best = max(prefix_score(candidates, list(order), target.values) for order in permutations(range(6), 4))
        reached = prefix_score(candidates, ranking, target.values)
        assert 0.8 * best < reached <= best + 1e-12
        short += reached < best - 1e-9
    assert 0 < short < 30


def test_rankings_of_a_sequence_make_up_for_each_other() -> None:
    candidates = pages([LEFT] * 20 + [RIGHT] * 20, [0.9] * 20 + [0.3] * 20)
    request = Request(2, 50, 10)
    found = Greedy().rank(candidates, wanting(0.3, 0.7), request, derive(0)).positions
    weights = request.weights()
    exposure = [float((weights * (candidates.alignment.page_type[found] == side)).sum()) for side in (LEFT, RIGHT)]
    assert np.array(exposure) / sum(exposure) == pytest.approx([0.3, 0.7], abs=0.02)
