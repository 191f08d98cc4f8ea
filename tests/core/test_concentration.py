"""Topics that are nearly all in one group: pages are counted, people are not named by the handful."""

from __future__ import annotations

import numpy as np
import pytest

from evenrank.core.alignment import Alignment, align
from evenrank.core.concentration import concentrations, least_share
from evenrank.core.groups import Dimension, GroupSpace
from evenrank.trec.dimensions import GENDER, GEOGRAPHY

BOTH = GroupSpace((GEOGRAPHY, GENDER))
AFRICA, EUROPE = GEOGRAPHY.mask_of("Africa"), GEOGRAPHY.mask_of("Europe")
FEMALE, MALE = GENDER.mask_of("female"), GENDER.mask_of("male")
UNKNOWN = 1


def pages(*kinds: tuple[int, int, int], divided: bool = False) -> Alignment:
    """So many pages (the first number) of each pair of masks."""
    masks = np.array([mask for n, *mask in kinds for _ in range(n)], np.uint8).T
    return align(list(masks), BOTH, [divided, divided])


def named(alignment: Alignment) -> list[tuple[str, str, float]]:
    found = concentrations(alignment, np.ones(len(alignment)), BOTH)
    return [(one.dimension, one.group, round(one.share, 3)) for one in found]


@pytest.mark.parametrize("divided", [False, True])
def test_a_page_of_two_regions_is_in_both(divided: bool) -> None:
    """Of Nigerian history all 14 pages are in Africa, three of them in Europe too: 14 of 17 memberships."""
    nigeria = pages((11, AFRICA, UNKNOWN), (3, AFRICA | EUROPE, UNKNOWN), (40, UNKNOWN, UNKNOWN), divided=divided)
    assert named(nigeria) == [("geography", "Africa", 1.0)]


def test_four_in_five_are_nearly_everything_and_less_is_not() -> None:
    assert named(pages((16, AFRICA, UNKNOWN), (4, EUROPE, UNKNOWN))) == [("geography", "Africa", 0.8)]
    assert named(pages((15, AFRICA, UNKNOWN), (4, EUROPE, UNKNOWN))) == []
    assert named(pages((20, UNKNOWN, UNKNOWN))) == []


@pytest.mark.parametrize(
    "n_in, n_elsewhere, n_unknown, is_named",
    [(5, 1, 9, False), (5, 1, 0, True), (1, 0, 0, True), (4, 0, 40, False), (8, 0, 40, True), (25, 3, 40, True)],
)
def test_a_handful_of_known_pages_may_be_in_one_group_by_chance(
    n_in: int, n_elsewhere: int, n_unknown: int, is_named: bool
) -> None:
    """Where nothing is unknown, nothing is left to chance, however few pages there are."""
    climate = pages((n_in, AFRICA, UNKNOWN), (n_elsewhere, EUROPE, UNKNOWN), (n_unknown, UNKNOWN, UNKNOWN))
    assert bool(named(climate)) == is_named


@pytest.mark.parametrize("share, n, least", [(0.8, 20, 0.584), (1.0, 4, 0.510), (0.5, 100, 0.404), (0.9, 10, 0.596)])
def test_the_lower_end_is_wilsons(share: float, n: float, least: float) -> None:
    assert least_share(share, n) == pytest.approx(least, abs=5e-4)


def test_the_gender_of_a_few_is_not_named() -> None:
    volcanoes = pages((82, UNKNOWN, UNKNOWN), (1, UNKNOWN, MALE))
    assert named(volcanoes) == []
    assert named(pages((4, UNKNOWN, MALE))) == []
    assert named(pages((60, UNKNOWN, MALE), (4, UNKNOWN, FEMALE))) == []  # 60 of 64 men would mean four women


@pytest.mark.parametrize("n_men, is_named", [(5, False), (19, False), (20, True)])
def test_one_gender_of_all_is_named_only_of_many(n_men: int, is_named: bool) -> None:
    assert bool(named(pages((n_men, UNKNOWN, MALE)))) == is_named


def test_gender_matters_where_most_pages_are_about_people() -> None:
    assert named(pages((40, UNKNOWN, MALE), (41, UNKNOWN, UNKNOWN))) == []
    assert named(pages((41, UNKNOWN, MALE), (40, UNKNOWN, UNKNOWN))) == [("gender", "male", 1.0)]


def test_mostly_men_is_what_a_target_is_there_for() -> None:
    assert named(pages((85, UNKNOWN, MALE), (15, UNKNOWN, FEMALE))) == []
    assert named(pages((90, UNKNOWN, MALE), (10, UNKNOWN, FEMALE))) == [("gender", "male", 0.9)]


def test_pages_count_with_their_weights() -> None:
    alignment, weights = pages((10, AFRICA, UNKNOWN), (90, EUROPE, UNKNOWN)), np.repeat([0.9, 0.01], [10, 90])
    (found,) = concentrations(alignment, weights, BOTH)
    assert (found.group, found.share) == ("Africa", pytest.approx(9.0 / 9.9))
    assert concentrations(alignment, np.zeros(100), BOTH) == ()


def test_the_first_group_counts_where_none_is_unknown() -> None:
    letters = Dimension("letter", "letter", ("Unknown", "a", "b"), None, int, "", has_unknown=False)
    space = GroupSpace((letters,))
    alignment = align([np.repeat([2, 4], [9, 1]).astype(np.uint8)], space, [False])
    (found,) = concentrations(alignment, np.ones(10), space)
    assert (found.group, found.share) == ("a", 0.9)
