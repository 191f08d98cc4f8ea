"""Policies on a handful of pages, worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenrank.core.records import Task
from evenrank.core.rng import derive
from evenrank.core.target import EstimatedTarget
from evenrank.errors import EvenrankError
from evenrank.policies.deficit import Deficit
from evenrank.policies.diversification import Proportional, RelevanceShare, still_due
from evenrank.policies.exposure_disparity import ExposureDisparity, best_background
from evenrank.policies.mixtures import Filter, Union
from evenrank.policies.policy import Candidates, Policy, Request, TrainingTopic
from evenrank.policies.relevance import MMR, Relevance, marginal_relevance_order
from evenrank.policies.sequences import Controller, control_terms

from .small import LEFT, RIGHT, UNKNOWN, pages, wanting


def first(policy: Policy, candidates: Candidates, target: EstimatedTarget, length: int) -> list[int]:
    return policy.rank(candidates, target, Request(1, 1, length), derive(1)).positions[0].tolist()


def sequence(policy: Policy, candidates: Candidates, target: EstimatedTarget, n: int, length: int) -> list[list[int]]:
    return policy.rank(candidates, target, Request(2, n, length), derive(1)).positions.tolist()


def test_relevance_breaks_ties_by_score_then_by_order() -> None:
    candidates = pages([LEFT] * 4, [0.5, 0.9, 0.5, 0.5])
    candidates.scores[:] = [1.0, 2.0, 3.0, 1.0]
    assert first(Relevance(), candidates, wanting(0.5, 0.5), 4) == [1, 2, 0, 3]
    assert sequence(Relevance(), candidates, wanting(0.5, 0.5), 2, 2) == [[1, 2], [1, 2]]


def test_mmr_passes_over_the_twin() -> None:
    relevance = np.array([1.0, 0.9, 0.5, 0.0], np.float32)
    similarity = np.eye(4, dtype=np.float32)
    similarity[0, 1] = similarity[1, 0] = 0.9  # page 1 repeats page 0
    # second step, balance 0.5: page 1 has 0.45 − 0.45 = 0, page 2 has 0.25 − 0, page 3 has 0
    assert marginal_relevance_order(relevance, similarity, 0.5, 4).tolist() == [0, 2, 1, 3]
    assert marginal_relevance_order(relevance, similarity, 1.0, 4).tolist() == [0, 1, 2, 3]


def test_mmr_does_not_depend_on_the_scale_of_relevance() -> None:
    vectors = np.array([[1, 0], [1, 0.1], [0, 1], [0.5, 0.5]], np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    small, large = pages([LEFT] * 4, [0.04, 0.039, 0.02, 0.01]), pages([LEFT] * 4, [0.8, 0.78, 0.4, 0.2])
    orders = []
    for candidates in (small, large):
        with_text = Candidates(**{**vars(candidates), "vectors": vectors})
        orders.append(first(MMR(), with_text, wanting(0.5, 0.5), 4))
    assert orders[0] == orders[1]
    assert orders[0][:2] == [0, 2]


def test_mmr_without_texts_says_so() -> None:
    with pytest.raises(EvenrankError, match="mmr compares texts"):
        first(MMR(), pages([LEFT], [1.0]), wanting(0.5, 0.5), 1)


def test_relevance_share_gives_seats_by_sainte_lague() -> None:
    # left has relevance 3.0 in all and right 0.9: quotients 3, .9 | 1, .9 | .6, .9 | .6, .3 | .43, .3 → L L R L L R
    candidates = pages([LEFT] * 4 + [RIGHT] * 2, [0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    assert first(RelevanceShare(), candidates, wanting(0.5, 0.5), 6) == [0, 1, 4, 2, 3, 5]


def test_relevance_share_counts_seats_over_the_sequence() -> None:
    candidates = pages([LEFT] * 2 + [RIGHT] * 2, [0.6, 0.6, 0.4, 0.4])
    rankings = sequence(RelevanceShare(), candidates, wanting(0.5, 0.5), 10, 1)
    assert sum(ranking[0] in (0, 1) for ranking in rankings) == 6


def test_exposure_disparity_alternates_between_equal_groups() -> None:
    # wanted: half of the candidates' share and half of the world (0.25, 0.75) → left 0.375, right 0.625
    candidates = pages([LEFT] * 3 + [RIGHT] * 3, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    policy = ExposureDisparity(weight=10.0)
    # gaps: rank 1 right (0.625 > 0.375); rank 2: left 0.75, right 0.25; rank 3 (weight 0.63): left −0.01, right 0.64
    assert first(policy, candidates, wanting(0.5, 0.5), 3) == [3, 0, 4]


def test_exposure_disparity_ignores_unknown_pages_in_task_1_only() -> None:
    candidates = pages([UNKNOWN, UNKNOWN, LEFT, RIGHT], [1.0, 0.9, 0.5, 0.5])
    assert first(ExposureDisparity(weight=0.5), candidates, wanting(0.5, 0.5), 2) == [0, 1]
    rankings = sequence(ExposureDisparity(weight=9.0), candidates, wanting(0.25, 0.25, 0.5), 10, 1)
    assert {ranking[0] for ranking in rankings} == {0, 2, 3}


def test_background_weight_is_learned_by_least_squares() -> None:
    share, world = np.array([0.0, 0.8, 0.2]), np.array([0.0, 0.25, 0.75])
    wanted = 0.7 * share + 0.3 * world
    assert best_background([share, share], [world, world], [wanted, wanted]) == pytest.approx(0.3)
    assert best_background([share], [world], [2 * share - world]) == 0.0
    assert best_background([share], [share], [wanted]) == 0.5


def test_exposure_disparity_learns_from_training_topics() -> None:
    candidates = pages([LEFT, LEFT, LEFT, LEFT, RIGHT], [1.0] * 5)  # share 0.8, 0.2; world 0.25, 0.75
    training = [
        TrainingTopic(
            candidates,
            wanting(0.8 - 0.55 * 0.2, 0.2 + 0.55 * 0.2),
            np.ones(candidates.alignment.n_groups),
            np.ones(5, np.bool_),
        )
    ]
    learned = ExposureDisparity(learned=True).fit(training, Request(1, 1, 5))
    assert learned.background == pytest.approx(0.2)
    assert ExposureDisparity().fit([], Request(1, 1, 5)) == ExposureDisparity()


def test_deficit_pays_what_is_owed_in_the_window() -> None:
    # window 4, half each: owed 2 and 2; relevance of left pages is higher, each page shown lowers the debt by 1/4
    candidates = pages([LEFT] * 4 + [RIGHT] * 4, [1.0, 0.95, 0.9, 0.85, 0.6, 0.55, 0.5, 0.45])
    # values: L 1+.5 | L .95+.25=1.2, R .6+.5=1.1 | L .9+0, R 1.1 | L .9, R .55+.25=.8
    assert first(Deficit(window=4), candidates, wanting(0.5, 0.5), 4) == [0, 1, 4, 2]


def test_deficit_by_column_makes_every_rank_fair() -> None:
    candidates = pages([LEFT] * 3 + [RIGHT] * 3, [0.9, 0.9, 0.9, 0.8, 0.8, 0.8])
    rankings = np.array(sequence(Deficit(), candidates, wanting(0.75, 0.25), 8, 2))
    for column in rankings.T:
        assert np.count_nonzero(column < 3) == 6


def test_deficit_prefers_work_needed_in_task_2() -> None:
    candidates = pages([LEFT, LEFT], [0.9, 0.85], work=[0.0, 1.0])
    assert first(Deficit(), candidates, wanting(1.0, 0.0), 2) == [0, 1]
    assert sequence(Deficit(), candidates, wanting(1.0, 0.0), 1, 2) == [[1, 0]]


def test_proportional_follows_the_world() -> None:
    # the world has 0.25 left and 0.75 right; all pages are equally relevant; of 12 ranks right is due 9 and left 3
    candidates = pages([LEFT] * 20 + [RIGHT] * 20, [0.5] * 40)
    ranking = first(Proportional(weight=0.9, window=12), candidates, wanting(0.5, 0.5), 12)
    # a page leaves exp(−1/3) of right's need, 0.9 at first, and exp(−1) of left's, 0.3: 0.9 0.64 0.46 0.33 | 0.24 <
    # 0.3 → left, then 0.11 is left | 0.24 0.17 0.12 | 0.09 < 0.11 → left, then 0.04 | 0.09 0.06 0.05
    assert ranking == [20, 21, 22, 23, 0, 24, 25, 26, 1, 27, 28, 29]
    by_seats = first(Proportional(diversifier="pm2", weight=1.0), candidates, wanting(0.5, 0.5), 12)
    assert np.count_nonzero(np.array(by_seats) >= 20) == 9


def test_proportional_owes_what_earlier_rankings_missed() -> None:
    share, exposure = np.array([0.0, 0.25, 0.75]), np.array([0.0, 2.0, 0.0])
    # after one ranking of exposure 2, all left: two rankings should give 1 to left and 3 to right
    assert still_due(share, exposure, 2, 2.0).tolist() == [0.0, 0.0, 1.0]
    assert still_due(share, np.zeros(3), 1, 2.0).tolist() == share.tolist()


def test_control_term_is_the_lag_behind_the_best_served_group() -> None:
    terms = control_terms(np.array([4.0, 1.0]), np.array([2.0, 1.0]))
    assert terms.tolist() == [0.0, 1.0]


def test_controller_without_noise_serves_the_lagging_group() -> None:
    candidates = pages([LEFT, LEFT, RIGHT, RIGHT], [0.9, 0.9, 0.5, 0.5])
    rankings = sequence(Controller(temperature=0.0, control=1.0), candidates, wanting(0.5, 0.5), 4, 1)
    assert rankings == [[0], [2], [0], [2]]


def test_filter_keeps_the_most_relevant() -> None:
    candidates = pages([LEFT, RIGHT, LEFT, RIGHT], [0.1, 0.9, 0.8, 0.2])
    assert sorted(first(Filter(keep=2, then="deficit"), candidates, wanting(0.5, 0.5), 2)) == [1, 2]


def test_union_ranks_the_pages_of_all_lists() -> None:
    candidates = pages([LEFT, LEFT, LEFT, RIGHT], [0.9, 0.8, 0.7, 0.3])
    target, fair = wanting(0.4, 0.6), "deficit:weight=4,window=2"
    # deficit: left 1 + 1.6, right 0.33 + 2.4, so the right page is first, then left is owed more
    assert first(Union(rankers=(fair,), then="relevance"), candidates, target, 2) == [0, 3]
    assert first(Union(rankers=(fair, "relevance"), then="relevance"), candidates, target, 2) == [0, 1]


@pytest.mark.parametrize("task", [1, 2])
def test_lambdamart_learns_which_pages_are_worth_showing(task: Task) -> None:
    """Relevant pages are those of high relevance; the trees find that, and the same trees come out again."""
    pytest.importorskip("lightgbm")
    request = Request(task, 1 if task == 1 else 3, 10)
    relevance = [0.9 - 0.01 * n for n in range(60)]
    topics = []
    for topic in range(4):
        candidates = pages([LEFT, RIGHT] * 30, relevance)
        is_relevant = np.arange(60) < 20 + topic
        topics.append(TrainingTopic(candidates, wanting(0.5, 0.5), np.ones(candidates.alignment.n_groups), is_relevant))
    policy = ExposureDisparity(learned=True, learner="lambdamart")
    learned = policy.fit(topics, request)
    assert learned == policy.fit(topics, request)
    candidates = pages([LEFT, RIGHT] * 30, relevance)
    worth = learned.worth(candidates, wanting(0.5, 0.5), request)
    assert (worth.min(), worth.max()) == (0.0, 1.0)
    assert worth[:20].mean() > worth[20:].mean() + 0.3
    ranked = learned.rank(candidates, wanting(0.5, 0.5), request, np.random.default_rng(0))
    assert ranked.positions.shape == (request.n_rankings, 10)
    assert (ranked.positions < 25).all()


def test_lambdamart_needs_relevant_pages() -> None:
    with pytest.raises(EvenrankError, match="training topics with relevant pages"):
        ExposureDisparity(learned=True, learner="lambdamart").fit([], Request(1, 1, 5))


def test_mmr_without_scaling_follows_similarity() -> None:
    """The share of one page in all relevance is small beside a cosine: a page unlike the others comes second."""
    vectors = np.eye(2, dtype=np.float32)[[0] * 20 + [1]]
    candidates = replace(pages([LEFT] * 21, [0.9] * 20 + [0.01]), vectors=vectors)
    request, rng = Request(1, 1, 3), derive(0, "mmr")
    scaled = MMR(balance=0.6).rank(candidates, wanting(0.5, 0.5), request, rng).positions[0].tolist()
    unscaled = MMR(balance=0.6, scaling="none").rank(candidates, wanting(0.5, 0.5), request, rng).positions[0].tolist()
    assert 20 not in scaled
    assert unscaled[1] == 20
