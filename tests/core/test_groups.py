"""Group spaces: names of cells, and margins of values by group."""

from __future__ import annotations

import numpy as np
import pytest

from evenrank.core.groups import GroupSpace
from evenrank.trec.dimensions import DIMENSIONS

SPACE = GroupSpace((DIMENSIONS["geography"], DIMENSIONS["gender"]))


def test_margins_of_one_distribution_by_hand() -> None:
    values = np.zeros(SPACE.n_groups)
    for name, share in {"Africa|female": 0.1, "Africa|male": 0.2, "Asia|female": 0.3, "Unknown|unknown": 0.4}.items():
        values[SPACE.names.index(name)] = share
    by_geography = dict(zip(DIMENSIONS["geography"].groups, SPACE.margin(values, "geography"), strict=True))
    assert by_geography["Africa"] == pytest.approx(0.3)
    assert by_geography["Asia"] == pytest.approx(0.3)
    assert SPACE.margin(values, "gender") == pytest.approx([0.4, 0.4, 0.2, 0.0])


def test_margins_of_rows_are_the_margins_of_each_row() -> None:
    rows = np.random.default_rng(1).random((5, SPACE.n_groups))
    for name in ("geography", "gender"):
        margins = SPACE.margin(rows, name)
        assert margins.shape == (5, len(SPACE.dimension(name).groups))
        assert np.array_equal(margins[3], SPACE.margin(rows[3], name))


def test_margin_of_a_single_dimension_is_the_distribution() -> None:
    values = np.array([0.1, 0.2, 0.3, 0.4])
    assert np.array_equal(GroupSpace((DIMENSIONS["gender"],)).margin(values, "gender"), values)
