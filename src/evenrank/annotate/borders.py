"""A point on Earth → the country it lies in (Natural Earth borders, 1:50 million)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from evenrank.annotate.statements import Point

UNITS_PER_DEGREE = 1000


@dataclass(frozen=True)
class Borders:
    """Rings of all countries; a point is in a country if it is inside an odd number of its rings."""

    points: NDArray[np.float64]
    """Longitude and latitude of the corners of all rings; a ring's last point is its first.

    Longitudes of a ring do not jump at 180 degrees but run on, so that they may be less than -180 or more than 180.
    """
    starts: NDArray[np.int32]
    """Position of each ring's first point, and the end of the last ring."""
    countries: NDArray[np.int32]
    """Item number of each ring's country."""
    boxes: NDArray[np.float64]
    """West, south, east and north ends: one row each, one column per ring."""

    def countries_at(self, point: Point) -> list[int]:
        """The country at a point, by item number; none at sea."""
        n_inside: dict[int, int] = {}
        for x in (point.longitude - 360, point.longitude, point.longitude + 360):
            for ring in self._near(x, point.latitude):
                country = int(self.countries[ring])
                n_inside[country] = n_inside.get(country, 0) + self._is_inside(ring, x, point.latitude)
        return sorted(country for country, n in n_inside.items() if n % 2)

    def _near(self, x: float, y: float) -> list[int]:
        """Rings in whose box the point lies."""
        west, south, east, north = self.boxes
        return np.flatnonzero((west <= x) & (x <= east) & (south <= y) & (y <= north)).tolist()

    def _is_inside(self, ring: int, x: float, y: float) -> bool:
        """Whether a ray to the east crosses the ring an odd number of times."""
        corners = self.points[self.starts[ring] : self.starts[ring + 1]]
        (x1, y1), (x2, y2) = corners[:-1].T, corners[1:].T
        crosses = (y1 > y) != (y2 > y)
        at = x1[crosses] + (y - y1[crosses]) / (y2[crosses] - y1[crosses]) * (x2[crosses] - x1[crosses])
        return bool(np.count_nonzero(at > x) % 2)


@cache
def borders() -> Borders:
    """The borders that come with the package."""
    with files("evenrank.annotate.facts").joinpath("borders.npz").open("rb") as file, np.load(file) as table:
        points = np.cumsum(table["steps"], axis=0) / UNITS_PER_DEGREE
        starts, countries = table["starts"], table["countries"]
    low = np.minimum.reduceat(points, starts[:-1])
    high = np.maximum.reduceat(points, starts[:-1])
    return Borders(points, starts, countries, np.vstack([low.T, high.T]))
