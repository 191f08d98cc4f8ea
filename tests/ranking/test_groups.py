"""Restrictions to groups, and beliefs about groups that a system does not know."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evenrank.core.groups import GroupSpace
from evenrank.core.records import Task
from evenrank.core.rng import derive
from evenrank.core.target import blend
from evenrank.errors import EvenrankError
from evenrank.policies.mixtures import Inferred
from evenrank.policies.optimal import OptimalSequence
from evenrank.policies.optimal.sequence import sequence_problem
from evenrank.policies.optimal.solver import mean_exposure
from evenrank.policies.policy import Request
from evenrank.policies.registry import make_policy
from evenrank.ranking.build import BuildSettings, build_candidates
from evenrank.ranking.groups import cells_within, is_within, masks_within, parse_restriction
from evenrank.ranking.sources import Found
from evenrank.trec.collection import Collection
from evenrank.trec.dimensions import DIMENSIONS

N_DRAWS = 4000
GEOGRAPHY_ALONE = BuildSettings(information=("geography",))


def everything(collection: Collection) -> Found:
    n_pages = len(collection.page_ids)
    relevance = np.random.default_rng(1).beta(0.6, 1.4, n_pages)
    return Found(collection.page_ids.copy(), relevance, relevance)


def test_restrictions_are_alternatives_within_a_dimension() -> None:
    allowed = parse_restriction(("geography=Africa", "geography=asia", "gender=known"))
    assert allowed == {"geography": 0b1010, "gender": 0b1110}


def test_all_wrong_restrictions_at_once() -> None:
    with pytest.raises(EvenrankError) as raised:
        parse_restriction(("geography=Atlantis", "planet=Mars"))
    assert "Atlantis" in str(raised.value)
    assert "planet" in str(raised.value)


def test_candidates_and_target_keep_to_a_restriction(golden_collection: Collection) -> None:
    settings = BuildSettings(within=("geography=Europe",))
    candidates, target = build_candidates(golden_collection, 101, 1, everything(golden_collection), settings)
    rows = golden_collection.rows_of(candidates.page_ids)
    assert 0 < len(candidates) < len(golden_collection.page_ids)
    assert is_within(golden_collection, rows, settings.within).all()
    by_place = target.values.reshape(8, 4).sum(axis=1)
    assert by_place[4] == pytest.approx(1.0)
    assert cells_within(GroupSpace.of(("gender",), DIMENSIONS), settings.within) is None


def test_pages_of_several_groups_count_for_those_that_a_restriction_leaves(golden_collection: Collection) -> None:
    settings = BuildSettings(within=("geography=Europe",))
    candidates, _ = build_candidates(golden_collection, 101, 1, everything(golden_collection), settings)
    masks = golden_collection.masks["geography"][golden_collection.rows_of(candidates.page_ids)]
    assert (masks != 1 << 4).any()
    by_place = candidates.alignment.total().reshape(8, 4).sum(axis=1)
    assert by_place[4] > 0.0
    assert not np.delete(by_place, 4).any()


def test_a_page_outside_a_restriction_keeps_its_groups() -> None:
    masks = [np.array([0b110, 0b100, 0b1], np.uint8)]
    (kept,) = masks_within(masks, GroupSpace.of(("geography",), DIMENSIONS), ("geography=Africa",))
    assert kept.tolist() == [0b10, 0b100, 0b1]


def test_what_is_known_needs_no_beliefs(golden_collection: Collection) -> None:
    candidates, _ = build_candidates(golden_collection, 101, 2, everything(golden_collection), BuildSettings())
    assert candidates.beliefs is None


def test_beliefs_are_totals_of_pages_that_look_alike(golden_collection: Collection) -> None:
    """The expected exposure of all groups is about the true one, and pages of one place cannot be told apart."""
    found = everything(golden_collection)
    candidates, target = build_candidates(golden_collection, 101, 2, found, GEOGRAPHY_ALONE)
    full, _ = build_candidates(golden_collection, 101, 2, found, BuildSettings())
    assert candidates.beliefs is not None
    believed = candidates.beliefs.alignment.total()
    assert believed == pytest.approx(full.alignment.total(), abs=0.02 * len(found))
    assert len(candidates.beliefs.variance) == len(np.unique(candidates.alignment.page_type))
    by_place = candidates.beliefs.target.values.reshape(8, 4).sum(axis=1)
    assert by_place == pytest.approx(target.values)
    assert candidates.take(np.arange(3)).beliefs is not None


def test_the_objective_is_the_expected_loss_of_unknown_groups(golden_collection: Collection) -> None:
    """Groups drawn many times from the beliefs: the mean loss differs from the objective by a constant."""
    found = everything(golden_collection).take(np.arange(0, 400, 10))
    candidates, _ = build_candidates(golden_collection, 101, 2, found, GEOGRAPHY_ALONE)
    candidates = replace(candidates, quality_class=np.zeros(len(candidates), np.uint8))
    beliefs = candidates.beliefs
    assert beliefs is not None
    space = beliefs.target.space
    wanted = blend(candidates.relevance @ beliefs.alignment.dense(), space)
    beliefs = replace(beliefs, target=replace(beliefs.target, values=wanted / wanted.sum()))
    candidates = replace(candidates, beliefs=beliefs)
    problem = sequence_problem(OptimalSequence(spread=0.0, fairness=1e9), candidates, beliefs.target, Request(2, 1, 10))
    rng = np.random.default_rng(7)
    n_pages = len(candidates)
    rankings = [np.array([rng.permutation(n_pages)[:10] for _ in range(2)]) for _ in range(3)]
    exposures = np.array([mean_exposure(positions, problem.loss.discounts, n_pages) for positions in rankings])
    fair = problem.loss.discounts.sum() / candidates.relevance.sum()  # of a relevant page: all have one work level
    of_page = beliefs.alignment.dense().reshape(n_pages, 8, 4)
    places, shares = of_page.sum(axis=2), of_page.sum(axis=1) / of_page.sum(axis=(1, 2))[:, None]
    losses = np.zeros(3)
    for _ in range(N_DRAWS):
        genders = (rng.random(n_pages)[:, None] > shares.cumsum(axis=1)).sum(axis=1)
        rows = np.einsum("pg,ph->pgh", places, np.eye(4)[np.minimum(genders, 3)]).reshape(n_pages, -1)
        is_relevant = rng.random(n_pages) < candidates.relevance
        wanted = blend(fair * is_relevant @ rows, space)
        losses += np.sum((exposures @ rows - wanted) ** 2, axis=1) / N_DRAWS
    loss = problem.weighed(1e9)
    objective = np.array([loss.loss(exposure) for exposure in exposures])
    assert np.diff(losses) == pytest.approx(np.diff(objective), abs=0.15 * np.ptp(objective))


def test_unknown_groups_spread_exposure_over_more_pages(golden_collection: Collection) -> None:
    found = everything(golden_collection)
    candidates, target = build_candidates(golden_collection, 101, 2, found, GEOGRAPHY_ALONE)
    policy = OptimalSequence(spread=0.0, include_above=2.0)
    request = Request(2, 50, 20)
    blind = policy.rank(replace(candidates, beliefs=None), target, request, derive(1))
    aware = policy.rank(candidates, target, request, derive(1))
    assert aware.certificate["n_pages_shown"] > blind.certificate["n_pages_shown"]


@pytest.mark.parametrize("task", [1, 2])
def test_other_policies_can_rank_by_inferred_groups(golden_collection: Collection, task: Task) -> None:
    """Over what pages are believed to be, and as ever where everything is known or nothing is believed."""
    found, request = everything(golden_collection), Request(task, 3, 40)
    candidates, target = build_candidates(golden_collection, 1, task, found, GEOGRAPHY_ALONE, with_beliefs=True)
    believed = candidates.beliefs
    assert believed is not None
    assert believed.target.space.n_groups == 32
    seen = replace(candidates, alignment=believed.alignment, beliefs=None)
    inner = make_policy("exposure-disparity:weight=0.5")
    ranked = Inferred("exposure-disparity:weight=0.5").rank(candidates, target, request, derive(1)).positions
    assert (ranked == inner.rank(seen, believed.target, request, derive(1)).positions).all()
    assert (ranked != inner.rank(candidates, target, request, derive(1)).positions).any()
    known, known_target = build_candidates(golden_collection, 1, task, found, BuildSettings(), with_beliefs=True)
    assert known.beliefs is None
    plain = inner.rank(known, known_target, request, derive(1)).positions
    assert (
        Inferred("exposure-disparity:weight=0.5").rank(known, known_target, request, derive(1)).positions == plain
    ).all()


def test_beliefs_in_task_1_are_made_for_policies_that_ask_for_them(golden_collection: Collection) -> None:
    found = everything(golden_collection)
    assert build_candidates(golden_collection, 1, 1, found, GEOGRAPHY_ALONE)[0].beliefs is None
    assert Inferred.needs_beliefs
