"""The organisers' way for 2022, written for comparison: every target and exposure is an array of 11,176,704 cells."""

from __future__ import annotations

import math

import numpy as np

from evenrank.core.exposure import discounts
from evenrank.core.protocol import OFFICIAL_2022
from evenrank.core.records import Run
from evenrank.core.sparse import SparseAlignment
from evenrank.scoring.ranked_pages import align_pages
from evenrank.trec.collection import Collection

LEFT = OFFICIAL_2022.dimensions[:3]
RIGHT = OFFICIAL_2022.dimensions[3:]


def dense_awrf(collection: Collection, run: Run) -> dict[int, float]:
    """AWRF of a Task 1 run on each topic, by dense arrays over all groups."""
    scores = {}
    for topic, _, pages in run.rankings():
        relevant = collection.relevant_rows(collection.topic_by_id[topic])
        target = _blended(_product(collection, relevant, np.ones(len(relevant))) / len(relevant))
        rows = collection.rows_of(pages)
        weights = discounts(len(pages), np.float32).astype(np.float64)
        exposure = _product(collection, rows[rows >= 0], weights[rows >= 0])
        scores[topic] = 1.0 - _divergence(exposure.reshape(-1), target.reshape(-1))
    return scores


def _product(collection: Collection, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sum over pages of the outer product of their groups in the two halves of the dimensions."""
    left, right = (_page_by_group(collection, rows, names) for names in (LEFT, RIGHT))
    return (left * weights[:, None]).T @ right


def _page_by_group(collection: Collection, rows: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    space = collection.space(",".join(names))
    aligned = align_pages(collection, rows, space, OFFICIAL_2022)
    assert isinstance(aligned, SparseAlignment)
    matrix = np.zeros((len(rows), space.n_groups))
    sizes = np.diff(aligned.starts)[aligned.row_of_page]
    for page, (row, size) in enumerate(zip(aligned.row_of_page, sizes, strict=True)):
        start = aligned.starts[row]
        matrix[page, aligned.cells[start : start + size]] = aligned.weights[start : start + size]
    return matrix


def _blended(target: np.ndarray) -> np.ndarray:
    from evenrank.core.groups import GroupSpace
    from evenrank.trec.dimensions import DIMENSIONS

    space = GroupSpace(tuple(DIMENSIONS[name] for name in LEFT))
    cube = target.reshape(*space.shape, -1)
    marginal = target.sum(axis=0) / target.sum()
    for section, background in space.sections():
        part = cube[section]
        mass = part.sum(axis=-1, keepdims=True)
        wanted = 0.5 * background[..., None] * part.sum()
        spread = np.divide(part, mass, out=np.broadcast_to(marginal, part.shape).copy(), where=mass > 0)
        cube[section] = np.where(mass > 0, 0.5 * part, 0.0) + wanted * spread
    return target


def _divergence(p: np.ndarray, q: np.ndarray) -> float:
    p, q = p / p.sum(), q / q.sum()
    middle = (p + q) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.where(p > 0, p * np.log(p / middle), 0.0).sum()
        right = np.where(q > 0, q * np.log(q / middle), 0.0).sum()
    assert left + right <= 2 * math.log(2) + 1e-9
    return float(left + right) / 2
