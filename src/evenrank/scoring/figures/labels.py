"""Labels beside points that do not cover each other: each takes the freest place around its point."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

RADII = (9.0, 16.0, 26.0, 38.0, 52.0, 68.0)
"""Distances of a label from its point that are tried, in pixels of the layout."""
N_DIRECTIONS = 16
OVERLAP, POINT, OUTSIDE, DISTANCE = 40.0, 60.0, 500.0, 3.0
"""Costs: per 100 square pixels over another label, per point covered, per label leaving the area, per pixel away."""


def place_labels(
    points: NDArray[np.float64], sizes: NDArray[np.float64], area: tuple[float, float, float, float]
) -> NDArray[np.float64]:
    """Lower left corner of each label; crowded points choose first.

    `points` are label anchors and `sizes` label widths and heights in pixels; `area` is (left, bottom, right, top).
    """
    corners = np.full(points.shape, np.nan)
    crowd = [(np.hypot(*(points - point).T) < 120).sum() for point in points]
    for index in sorted(range(len(points)), key=lambda i: (-crowd[i], i)):
        options = _corners_around(points[index], sizes[index])
        costs = [_cost(corner, index, points, sizes, corners, area) for corner in options]
        corners[index] = options[int(np.argmin(costs))]
    return corners


def _corners_around(point: NDArray[np.float64], size: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Places to try, near ones first, to the right first."""
    places = []
    for radius in RADII:
        for turn in range(N_DIRECTIONS):
            angle = 2 * math.pi * turn / N_DIRECTIONS
            way = np.array([math.cos(angle), math.sin(angle)])
            places.append(point + radius * way + (way - 1.0) * size / 2)
    return places


def _cost(
    corner: NDArray[np.float64],
    index: int,
    points: NDArray[np.float64],
    sizes: NDArray[np.float64],
    corners: NDArray[np.float64],
    area: tuple[float, float, float, float],
) -> float:
    end = corner + sizes[index]
    left, bottom, right, top = area
    outside = corner[0] < left or corner[1] < bottom or end[0] > right or end[1] > top
    covered = np.all((points > corner - 4) & (points < end + 4), axis=1).sum()
    placed = ~np.isnan(corners[:, 0])
    shared = np.minimum(end, (corners + sizes)[placed]) - np.maximum(corner, corners[placed]) + 2
    overlap = np.prod(np.maximum(shared, 0.0), axis=1).sum()
    distance = float(np.hypot(*(corner + sizes[index] / 2 - points[index])))
    return OUTSIDE * bool(outside) + POINT * int(covered) + OVERLAP * float(overlap) / 100 + DISTANCE * distance / 10
