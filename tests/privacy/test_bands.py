"""Coarse bands: what they are worth, and that a thousand adaptive requests learn nothing from them about a person."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evenrank.app.fairness import disclosure
from evenrank.app.fairness.disclosure import BANDS, EPSILON, FEWEST_BIOGRAPHIES, MOST_BANDS, draw_band
from evenrank.app.state import AppState
from evenrank.trec.dimensions import GENDER
from tests.privacy.conftest import N_PEOPLE, are_women

MOST_ACCURATE = math.exp(MOST_BANDS * EPSILON) / (1 + math.exp(MOST_BANDS * EPSILON))


def band_chances(n_women: int, n_people: int) -> np.ndarray:
    """The exact chance of each band: two-sided geometric noise, summed over all counts that round to the band."""
    noise = np.arange(-2000, 2001)
    ratio = math.exp(-EPSILON)
    chances = (1 - ratio) / (1 + ratio) * ratio ** np.abs(noise)
    bands = [min(max(round((n_women + n) / n_people * (len(BANDS) - 1)), 0), len(BANDS) - 1) for n in noise.tolist()]
    return np.bincount(bands, chances, minlength=len(BANDS))


@pytest.mark.parametrize("n_people", [FEWEST_BIOGRAPHIES, 333, 1000])
def test_one_gender_changes_the_chance_of_no_band_by_more_than_is_promised(n_people: int) -> None:
    chances = np.array([band_chances(n_women, n_people) for n_women in range(n_people + 1)])
    assert np.abs(np.diff(np.log(chances), axis=0)).max() <= EPSILON + 1e-9


def test_what_is_promised_is_a_coin_within_seven_in_a_hundred() -> None:
    assert MOST_ACCURATE <= 0.57


def test_bands_are_drawn_with_these_chances() -> None:
    drawn = np.bincount([draw_band(30, 200) for _ in range(4000)], minlength=len(BANDS)) / 4000
    np.testing.assert_allclose(drawn, band_chances(30, 200), atol=0.03)


def test_bands_are_mostly_right() -> None:
    """Within one band of the truth nearly always, from the least number of biographies on."""
    chances = band_chances(FEWEST_BIOGRAPHIES // 4, FEWEST_BIOGRAPHIES)
    assert chances[1] > 0.85
    assert chances[:3].sum() > 0.98


def test_nobody_is_counted_more_often_than_promised_by_a_thousand_questions(usual: AppState) -> None:
    """Random halves of everybody, each as a question of its own: after a few bands there are none left to draw."""
    rng = np.random.default_rng(2)
    asked = [np.sort(rng.choice(usual.collection.page_ids, 230, replace=False)) for _ in range(1000)]
    answers = [disclosure._band(usual, pages, GENDER) for pages in asked]
    stored = disclosure._stored_bands(usual, GENDER)
    times = np.bincount(np.concatenate([pages for pages, _ in stored]))
    assert times.max() == MOST_BANDS
    assert len(stored) <= MOST_BANDS * N_PEOPLE / FEWEST_BIOGRAPHIES
    assert answers.count(None) > 900


def test_questions_that_find_nearly_the_same_have_the_same_band(usual: AppState) -> None:
    """Add one, remove one, and a class or a length more: one band, drawn once."""
    pages = np.asarray(usual.collection.page_ids)
    first = disclosure._band(usual, pages[:300], GENDER)
    others = [pages[:299], pages[:301], pages[10:300], pages[:400], np.concatenate([pages[:250], pages[300:330]])]
    assert {disclosure._band(usual, some, GENDER) for some in others} == {first}
    assert len(disclosure._stored_bands(usual, GENDER)) == 1


def test_few_biographies_have_no_band(usual: AppState) -> None:
    assert disclosure._band(usual, np.asarray(usual.collection.page_ids)[: FEWEST_BIOGRAPHIES - 1], GENDER) is None


def test_an_attacker_who_knows_everybody_else_guesses_no_better_than_promised() -> None:
    """The strongest attack on bands: all other genders are known, and as many bands as possible count the person.

    The attacker guesses by the likelihood of the bands; people are 400, each in three bands at the edge between two.
    """
    women = np.resize(are_women(), 400)
    n_people, n_others = FEWEST_BIOGRAPHIES, FEWEST_BIOGRAPHIES * 3 // 8
    likelihoods = np.log(np.array([band_chances(n_others + is_woman, n_people) for is_woman in (0, 1)]))
    right = []
    for is_woman in women.tolist():
        bands = [draw_band(n_others + is_woman, n_people) for _ in range(MOST_BANDS)]
        right.append((likelihoods[1, bands].sum() > likelihoods[0, bands].sum()) == is_woman)
    assert abs(float(np.mean(right)) - 0.5) <= 0.07 + 0.05  # 400 people: two standard errors above the promise
