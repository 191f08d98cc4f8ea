"""The blend of what is relevant with what the world is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evenrank.core.groups import Dimension, GroupSpace
from evenrank.core.target import background_target, blend, group_target
from evenrank.trec.dimensions import GENDER, GEOGRAPHY

AGE = Dimension("age", "age", ("unknown", "old", "new"), (0.5, 0.5), lambda value: 1, "made up")
SPACES = [GroupSpace((GEOGRAPHY,)), GroupSpace((GEOGRAPHY, GENDER)), GroupSpace((GEOGRAPHY, GENDER, AGE))]
SMALL = GroupSpace((GENDER, AGE))


@given(st.sampled_from(SPACES), st.data())
def test_each_section_keeps_its_mass(space: GroupSpace, data: st.DataObject) -> None:
    mass = data.draw(arrays(float, space.n_groups, elements=st.floats(0, 1))) + 1e-9
    distribution = mass / mass.sum()
    blended = blend(distribution, space)
    assert blended.sum() == pytest.approx(1.0)
    assert blended[0] == distribution[0]
    before, after = distribution.reshape(space.shape), blended.reshape(space.shape)
    for section, background in space.sections():
        assert after[section].sum() == pytest.approx(before[section].sum())
        assert background.sum() == pytest.approx(1.0, abs=1e-6)


def test_by_hand_on_two_small_dimensions() -> None:
    mass = np.zeros((4, 3))
    mass[2, 1] = 2.0
    mass[0, 2] = 1.0
    mass[0, 0] = 5.0
    target = group_target(mass.ravel(), SMALL, keep_unknown=False).reshape(4, 3)
    assert target[0, 0] == 0
    assert target[2, 1] == pytest.approx(0.5 * 2 / 3 + 0.5 * (2 / 3) * 0.495 * 0.5)
    assert target[1, 2] == pytest.approx(0.5 * (2 / 3) * 0.495 * 0.5)
    assert target[0, 2] == pytest.approx(0.5 / 3 + 0.5 * (1 / 3) * 0.5)
    kept = group_target(mass.ravel(), SMALL, keep_unknown=True)
    assert kept[0] == pytest.approx(5 / 8)


@pytest.mark.parametrize("space", SPACES)
def test_without_any_known_page_the_world_is_the_target(space: GroupSpace) -> None:
    only_unknown = np.zeros(space.n_groups)
    only_unknown[0] = 3.0
    target = group_target(only_unknown, space, keep_unknown=False)
    np.testing.assert_allclose(target, background_target(space))
    assert target.sum() == pytest.approx(1.0)
    assert target[0] == 0
