"""Counts of a page → the features that the quality models weigh."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenrank.annotate.page import PageCounts

Floats = NDArray[np.float64]

HEADING_LEVELS = (2, 3)
"""Headings that the models count."""


class QualityCounts(NamedTuple):
    """What the models count, one value a page in each array (or a number for one page)."""

    n_bytes: Floats
    """Length of the wikitext in UTF-8."""
    n_media: Floats
    """Images, sounds and videos."""
    n_headings: Floats
    """Headings of level 2 and 3."""
    n_references: Floats
    """Uses of `<ref>`."""
    n_short_footnotes: Floats
    """References made by templates such as {{sfn}}, which V2 counts too."""
    n_links: Floats
    """Links to articles."""
    n_categories: Floats
    """Categories."""


def quality_counts(counts: PageCounts) -> tuple[int, ...]:
    """The fields of QualityCounts for one page."""
    return (
        counts.n_bytes,
        counts.n_media,
        counts.headings(*HEADING_LEVELS),
        counts.n_references,
        counts.n_short_footnotes,
        counts.n_links,
        counts.n_categories,
    )


def _root_length(counts: QualityCounts) -> Floats:
    return np.sqrt(counts.n_bytes)


def _per_root_length(values: Floats, counts: QualityCounts) -> Floats:
    """Values over √bytes; 0 for an empty page."""
    return values / np.sqrt(np.maximum(counts.n_bytes, 1))


FEATURES: dict[str, Callable[[QualityCounts], Floats]] = {
    "log_length": lambda counts: np.log10(1 + counts.n_bytes),
    "root_length": _root_length,
    "media": lambda counts: counts.n_media,
    "headings": lambda counts: counts.n_headings,
    "references": lambda counts: counts.n_references,
    "categories": lambda counts: counts.n_categories,
    "references_per_root_length": lambda c: _per_root_length(c.n_references + c.n_short_footnotes, c),
    "headings_per_root_length": lambda c: _per_root_length(c.n_headings, c),
    "root_links_per_root_length": lambda c: _per_root_length(np.sqrt(c.n_links), c),
}
"""Features by the name that they have in `quality.toml`."""
