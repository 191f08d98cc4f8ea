"""The quantile sketch against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenrank.core.rng import derive
from evenrank.wikipedia.annotate.quality import ACCURACY, QuantileSketch


def sketch_of(values) -> QuantileSketch:
    sketch = QuantileSketch()
    sketch.add(np.asarray(values, float))
    return sketch


values = st.lists(st.floats(1e-6, 1e9) | st.just(0.0), min_size=1, max_size=200)


@given(values, st.floats(0, 1))
def test_within_the_accuracy_of_the_exact_quantile(sample, share):
    exact = np.quantile(sample, share, method="inverted_cdf")
    assert sketch_of(sample).quantile(share) == pytest.approx(exact, rel=1.01 * ACCURACY)


@given(values, values)
def test_adding_in_parts_equals_adding_all(first, second):
    sketch = sketch_of(first)
    sketch.add(np.asarray(second, float))
    assert (sketch.counts == sketch_of(second + first).counts).all()
    assert sketch.counts.sum() == len(first) + len(second)


def test_a_long_tail():
    sample = derive(3, "tail").lognormal(8, 1.5, 200_000)
    assert sketch_of(sample).quantile(0.95) == pytest.approx(np.quantile(sample, 0.95), rel=2 * ACCURACY)


def test_no_values_and_huge_values():
    assert QuantileSketch().quantile(0.95) == 0
    assert sketch_of([1e300]).quantile(0.5) == pytest.approx(1e12, rel=ACCURACY)
