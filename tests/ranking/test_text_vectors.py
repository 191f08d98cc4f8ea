"""Hashed text vectors."""

from __future__ import annotations

import numpy as np

from evenrank.ranking.build import text_vectors


def test_same_words_same_vector_whatever_case_and_order() -> None:
    vectors = text_vectors(["Battle of Hastings", "hastings OF battle", "A river in Peru", ""])
    np.testing.assert_allclose(vectors[0], vectors[1])
    assert vectors[0] @ vectors[2] < 0.3
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 1, 1, 0], atol=1e-6)


def test_rare_words_weigh_more() -> None:
    texts = ["list of rivers", "list of lakes", "list of rivers in Peru", "list of towns"]
    vectors = text_vectors(texts)
    assert vectors[0] @ vectors[2] > vectors[0] @ vectors[1]


def test_no_texts() -> None:
    assert text_vectors([]).shape == (0, 256)
