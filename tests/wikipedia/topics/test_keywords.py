"""Contrastive keywords: the formula worked by hand, and its properties."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenrank.core.records import Article
from evenrank.io.corpus import Site
from evenrank.wikipedia.topics.keywords import ProjectWords, WordReader, log_odds_z, projects_of_pages


def test_worked_by_hand() -> None:
    z = log_odds_z(np.array([8.0]), 10, np.array([10.0]), 100, prior_articles=10.0)
    inside = math.log(8 + 1) - math.log(10 - 8 + 10 - 1)
    outside = math.log(2 + 1) - math.log(90 - 2 + 10 - 1)
    assert z[0] == pytest.approx((inside - outside) / math.sqrt(1 / 9 + 1 / 3))


@given(st.integers(1, 50), st.integers(1, 200), st.floats(0.5, 500.0))
def test_a_word_as_common_inside_as_outside_is_no_keyword(n_inside: int, n_outside: int, prior: float) -> None:
    n, inside = n_inside + n_outside, n_inside / 2
    z = log_odds_z(np.array([inside]), n_inside, np.array([n / 2]), n, prior)
    assert abs(z[0]) < 1e-6
    more = log_odds_z(np.array([inside + 0.25]), n_inside, np.array([n / 2 + 0.25]), n, prior)
    assert more[0] > z[0]


def test_forms_of_a_word_count_once_and_common_words_never() -> None:
    reader = WordReader(Site(), 1000)
    chess = [Article(page, "", "", "The chess opening and openings") for page in range(1, 11)]
    rest = [Article(page, "", "", "The river and the hill") for page in range(11, 111)]
    counts = ProjectWords(projects_of_pages([range(1, 11)]), 1)
    counts.add(reader((*chess, *rest)))
    assert [keyword.word for keyword in counts.keywords(0, 10, 100.0)] == ["chess", "opening"]


def test_words_of_wikitext() -> None:
    reader = WordReader(Site(), 1000)
    text = "'''Ēna''' is a [[lake|Big Lake]] of {{convert|3|km}}.<ref>secret</ref> It's 3rd."
    assert reader.words(text) == ("big", "it's", "lake", "ēna")
