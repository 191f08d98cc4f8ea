"""Charts as plain geometry, for the SVG in the templates: no script, no inline style."""

from __future__ import annotations

import math
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
    level: float | None = None,
    counts: bool = False,
) -> Plot:
    """Points of a chart in the frame of the drawing, with ticks at round numbers; whole ones where x counts things."""

    def to_x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * _share(value, x_range)

    def to_y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - _share(value, y_range))

    return Plot(
        points=tuple((to_x(x), to_y(y)) for x, y in points),
        marks=tuple((to_x(x), to_y(y)) for x, y in marks),
        x_ticks=tuple(
            Tick(to_x(value), f"{value:g}") for value in round_steps(x_range) if not counts or value == round(value)
        ),
        y_ticks=tuple(Tick(to_y(value), f"{value:g}") for value in round_steps(y_range)),
        level=None if level is None else to_y(level),
    )


def around(values: Sequence[float], least: float, highest: float) -> tuple[float, float]:
    """A range that holds all values, with a little air, at least `least` wide and not above `highest`."""
    low, high = min(values), max(values)
    air = max((high - low) * 0.06, (least - (high - low)) / 2, 0.0)
    return low - air, min(high + air, highest)


def round_steps(limits: tuple[float, float], n_wanted: int = 5) -> list[float]:
    """Round numbers inside a range: steps of 1, 2 or 5 times a power of ten, about as many as wanted."""
    width = limits[1] - limits[0]
    if width <= 0:
        return [limits[0]]
    power = 10.0 ** math.floor(math.log10(width / n_wanted))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor * n_wanted >= width)
    first, last = math.ceil(limits[0] / step - 1e-9), math.floor(limits[1] / step + 1e-9)
    return [round(number * step, 12) for number in range(first, last + 1)]


def _share(value: float, limits: tuple[float, float]) -> float:
    width = limits[1] - limits[0]
    return min(1.0, max(0.0, (value - limits[0]) / width)) if width > 0 else 0.5


@dataclass(frozen=True)
class Bar:
    """One part of a stacked column."""

    x: float
    y: float
    width: float
    height: float
    kind: int
    """Which of the parts it is."""
    value: float


@dataclass(frozen=True)
class Stack:
    """Stacked columns with names below them."""

    bars: tuple[Bar, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


def stack(columns: Sequence[Sequence[float]], names: Sequence[str], most: float = 0.0) -> Stack:
    """Stacked columns in the frame of the drawing, the first part at the bottom; `most` is the top of the scale, by
    default the highest column."""
    most = most or max((sum(column) for column in columns), default=1) or 1
    step = (WIDTH - LEFT - RIGHT) / max(1, len(columns))
    scale = (HEIGHT - TOP - BOTTOM) / most
    bars = []
    for at, column in enumerate(columns):
        floor = float(HEIGHT - BOTTOM)
        for kind, value in enumerate(column):
            floor -= value * scale
            if value:
                bars.append(Bar(LEFT + at * step + 0.15 * step, floor, 0.7 * step, value * scale, kind, value))
    shown = range(0, len(names), max(1, len(names) // 5))
    return Stack(
        bars=tuple(bars),
        x_ticks=tuple(Tick(LEFT + (at + 0.5) * step, names[at]) for at in shown),
        y_ticks=tuple(Tick(HEIGHT - BOTTOM - value * scale, f"{value:g}") for value in round_steps((0.0, float(most)))),
    )
