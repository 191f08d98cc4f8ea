"""Charts as plain geometry, for the SVG in the templates: no script, no inline style."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 360, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 14, 42
"""Margins of the plot."""


@dataclass(frozen=True)
class Tick:
    at: float
    label: str


@dataclass(frozen=True)
class Plot:
    """A line of points in a frame, in the units of the drawing."""

    points: tuple[tuple[float, float], ...]
    marks: tuple[tuple[float, float], ...]
    """Points that stand out."""
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    level: float | None = None
    """A horizontal line to compare with."""

    @property
    def polyline(self) -> str:
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in self.points)


def plot(
    points: Sequence[tuple[float, float]],
    marks: Sequence[tuple[float, float]],
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    labels: tuple[str, str] = ("{:.2f}", "{:.2f}"),
    level: float | None = None,
) -> Plot:
    """Points of a chart in the frame of the drawing, with five ticks on each axis."""

    def to_x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * _share(value, x_range)

    def to_y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - _share(value, y_range))

    return Plot(
        points=tuple((to_x(x), to_y(y)) for x, y in points),
        marks=tuple((to_x(x), to_y(y)) for x, y in marks),
        x_ticks=tuple(Tick(to_x(value), labels[0].format(value)) for value in _steps(x_range)),
        y_ticks=tuple(Tick(to_y(value), labels[1].format(value)) for value in _steps(y_range)),
        level=None if level is None else to_y(level),
    )


def around(values: Sequence[float], least: float = 0.02) -> tuple[float, float]:
    """A range that holds all values, with a little air, at least `least` wide."""
    low, high = min(values), max(values)
    air = max((high - low) * 0.08, (least - (high - low)) / 2, 0.0)
    return low - air, high + air


def _share(value: float, limits: tuple[float, float]) -> float:
    width = limits[1] - limits[0]
    return min(1.0, max(0.0, (value - limits[0]) / width)) if width > 0 else 0.5


def _steps(limits: tuple[float, float], n: int = 4) -> list[float]:
    return [limits[0] + (limits[1] - limits[0]) * step / n for step in range(n + 1)]
