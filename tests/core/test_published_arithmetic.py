"""Roundings of the organisers' code, against plain loops with exact fractions that round once for each operation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from evenrank.core.sparse import SparseVector
from evenrank.trec.published_target import block_sum, dot, single_sum, sum_of_products

Values = NDArray[np.float64]


def sparse_array(rng: np.random.Generator, size: int, share: float) -> Values:
    return np.where(rng.random(size) < share, rng.random(size) ** 4, 0.0)


def held(array: Values) -> SparseVector:
    cells = np.flatnonzero(array)
    return SparseVector(cells, array[cells])


def fused(total: float, x: float, y: float) -> float:
    """x · y + total, rounded once."""
    return float(Fraction(x) * Fraction(y) + Fraction(total))


def pairwise(values: list[float]) -> float:
    """The pairwise sum of numpy: halves down to 128 elements, which are added in eight lanes."""
    if len(values) > 128:
        half = len(values) // 2
        half -= half % 8
        return pairwise(values[:half]) + pairwise(values[half:])
    if len(values) < 8:
        return sum(values)
    whole = len(values) // 8 * 8
    lanes = list(values[:8])
    for place in range(8, whole):
        lanes[place % 8] += values[place]
    a, b, c, d, e, f, g, h = lanes
    total = ((a + b) + (c + d)) + ((e + f) + (g + h))
    for value in values[whole:]:
        total += value
    return total


@pytest.mark.parametrize("size", [1, 7, 100, 8192, 8193, 20_011, 65_536])
def test_sums_are_pairwise_within_blocks(size: int) -> None:
    array = sparse_array(np.random.default_rng(size), size, 0.3)
    expected = 0.0
    for start in range(0, size, 8192):
        expected += pairwise(array[start : start + 8192].tolist())
    assert block_sum(held(array), size) == expected


def test_the_order_of_a_sum_matters() -> None:
    """So that the test above could fail: one pairwise sum over everything rounds differently."""
    array = sparse_array(np.random.default_rng(5), 65_536, 0.9)
    assert block_sum(held(array), len(array)) != pairwise(array.tolist())


def test_sums_keep_their_precision() -> None:
    values = np.random.default_rng(1).random(20_000).astype(np.float32)
    total = np.float32(0)
    for start in range(0, len(values), 8192):
        total += np.float32(values[start : start + 8192].sum())
    assert single_sum(values) == float(total)


def dot_of_thread(x: Values, y: Values) -> float:
    lanes = [0.0] * 32
    n_steps, n_halves = len(x) // 32 * 32, len(x) // 16 * 16
    for place in range(n_steps):
        lanes[place % 32] = fused(lanes[place % 32], x[place], y[place])
    folded = [lanes[8 * (place // 4) + place % 4] + lanes[8 * (place // 4) + 4 + place % 4] for place in range(16)]
    for place in range(n_steps, n_halves):
        folded[place - n_steps] = fused(folded[place - n_steps], x[place], y[place])
    four = [((folded[lane] + folded[4 + lane]) + folded[8 + lane]) + folded[12 + lane] for lane in range(4)]
    total = (four[0] + four[2]) + (four[1] + four[3])
    for place in range(n_halves, len(x)):
        total = fused(total, x[place], y[place])
    return total


@pytest.mark.parametrize("size", [0, 5, 31, 16, 64, 4_999, 10_000, 10_001, 12_345])
def test_dot_products_are_taken_in_lanes_on_two_threads(size: int) -> None:
    rng = np.random.default_rng(size)
    x, y = sparse_array(rng, size, 0.4), sparse_array(rng, size, 0.8)
    first = size if size <= 10_000 else (size + 1) // 2
    expected = (0.0 + dot_of_thread(x[:first], y[:first])) + dot_of_thread(x[first:], y[first:])
    assert dot(held(x), held(y), size) == expected


@pytest.mark.parametrize(("n_pages", "blocks"), [(1, [1]), (384, [384]), (385, [193, 192]), (1000, [384, 308, 308])])
def test_products_of_pages_are_added_in_blocks(n_pages: int, blocks: list[int]) -> None:
    rng = np.random.default_rng(n_pages)
    cells = rng.integers(0, 3, (n_pages, 2))
    cells[:, 1] = (cells[:, 0] + 1) % 3
    left, right = rng.random((n_pages, 2)), rng.choice([1.0, 0.5, 1 / 3], (n_pages, 2))
    expected = dict.fromkeys(range(3), 0.0)
    start = 0
    for length in blocks:
        block = dict.fromkeys(range(3), 0.0)
        for page in range(start, start + length):
            for entry in range(2):
                cell = int(cells[page, entry])
                block[cell] = fused(block[cell], left[page, entry], right[page, entry])
        expected = {cell: expected[cell] + value for cell, value in block.items()}
        start += length
    pages = np.repeat(np.arange(n_pages), 2)
    found = sum_of_products(cells.reshape(-1), left.reshape(-1), right.reshape(-1), pages, n_pages)
    assert dict(zip(found.cells.tolist(), found.values.tolist(), strict=True)) == {
        cell: value for cell, value in expected.items() if cell in cells
    }
