"""Figures: a notebook shows them without any set-up."""

from __future__ import annotations

import pytest

from evenrank.io.figures import new_figure

pytest.importorskip("matplotlib")


def test_a_notebook_can_draw_a_figure_without_pyplot() -> None:
    figure, axes = new_figure(3.0, 2.0)
    axes.plot([0, 1], [0, 1])
    assert figure._repr_png_().startswith(b"\x89PNG")
