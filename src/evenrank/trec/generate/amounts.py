"""How much an article holds: such that the track's quality model gives it about the score it has in the metadata."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenrank.trec.generate import tables
from evenrank.wikipedia.annotate.quality import quality_models

SENTENCE_BYTES, REFERENCE_BYTES, FRAME_BYTES = 95, 150, 150
"""Typical lengths in wikitext; the frame is infobox, headings, categories and notices."""
MANY_REFERENCES = 0.833
"""Score from which on articles have more references than the model counts."""


@dataclass(frozen=True, slots=True, eq=False)
class Amounts:
    """Counts for each article."""

    sentences: NDArray[np.int64]
    references: NDArray[np.int64]
    headings: NDArray[np.int64]
    """All headings, those of the references and of the links among them."""
    images: NDArray[np.int64]


def expected_sentences(score: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sentences of articles with these quality scores, on average."""
    rows = tables.table_rows("amounts")
    knots = ([float(row["score"]) for row in rows], [float(row["sentences"]) for row in rows])
    return np.interp(score, *knots)


def draw_amounts(score: NDArray[np.float64], rng: np.random.Generator) -> Amounts:
    """Amounts for articles with these scores: length first, then references, headings make up the rest."""
    n = len(score)
    worth = _worth()
    sentences = np.maximum(np.rint(expected_sentences(score) * rng.lognormal(0, 0.15, n)), 1)
    images = rng.poisson(6 * score**2)
    n_bytes = SENTENCE_BYTES * (sentences + 1) + FRAME_BYTES * (score > 1 / 6) + REFERENCE_BYTES * 10 * score
    rest = score - worth["log_length"] * np.log10(n_bytes) - worth["media"] * np.minimum(images, 5)
    references = np.rint(rest * rng.uniform(0.55, 0.75, n) / worth["references"]).clip(0)
    references += np.where(score > MANY_REFERENCES, np.rint(120 * (score - MANY_REFERENCES)), 0)
    references = np.minimum(references, sentences)
    headings = np.rint((rest - worth["references"] * np.minimum(references, 10)) / worth["headings"]).clip(0, 14)
    return Amounts(*(amount.astype(np.int64) for amount in (sentences, references, headings, images)))


def _worth() -> dict[str, float]:
    """By feature of the track's quality model: score for one unit, below the cap."""
    model = quality_models()["v1"]
    percentiles = model.published_percentiles()
    return {feature.name: feature.weight / feature.cap(percentiles) for feature in model.features}
