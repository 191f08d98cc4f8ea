"""The visible list of dimensions. A new one is one file and one line here."""

from __future__ import annotations

from evenrank.alignment.dimension import Dimension
from evenrank.alignment.gender import GENDER
from evenrank.alignment.geography import GEOGRAPHY

DIMENSIONS: dict[str, Dimension] = {dimension.name: dimension for dimension in (GEOGRAPHY, GENDER)}
