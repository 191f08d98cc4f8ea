"""Lines of the metadata file."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import NO_CLASS, WORK_ORDER
from evenrank.trec.generate import tables
from evenrank.trec.generate.pages import PageBlock
from evenrank.trec.generate.picker import Picker
from evenrank.trec.generate.plan import GENDERS
from evenrank.trec.generate.themes import CONTINENTS

NULL_GEOGRAPHY_SHARE = 0.01
"""Pages without a geography that say null, not an empty list."""


def metadata_lines(pages: PageBlock, rng: np.random.Generator) -> bytes:
    """One JSON record a line for the pages that the metadata know."""
    listed = pages.is_listed
    columns = zip(
        pages.page_id[listed].tolist(),
        pages.score[listed].tolist(),
        pages.quality[listed].tolist(),
        _geography_texts(pages, rng)[listed].tolist(),
        _gender_texts(pages.gender, rng)[listed].tolist(),
        strict=True,
    )
    classes = [f'"{name}"' for name in WORK_ORDER] + ["null"]
    lines = [
        f'{{"page_id": {page_id}, "quality_score": {score if quality < NO_CLASS else "null"}, '
        f'"quality_score_disc": {classes[quality]}, "geographic_locations": {places}, "gender": {gender}}}\n'
        for page_id, score, quality, places, gender in columns
    ]
    return "".join(lines).encode()


def _geography_texts(pages: PageBlock, rng: np.random.Generator) -> NDArray[np.object_]:
    texts = _continent_lists()[pages.geography, pages.second_geography]
    is_null = (pages.geography == 0) & (rng.random(len(texts)) < NULL_GEOGRAPHY_SHARE)
    return np.where(is_null, "null", texts)


def _gender_texts(gender: NDArray[np.int8], rng: np.random.Generator) -> NDArray[np.object_]:
    texts = np.empty(len(gender), object)
    for code, picker in enumerate(_gender_pickers()):
        rows = np.flatnonzero(gender == code)
        texts[rows] = picker.draw(rng, len(rows))
    return texts


@cache
def _continent_lists() -> NDArray[np.object_]:
    """JSON lists by first and second continent."""
    return np.array(
        [
            [json.dumps([CONTINENTS[i] for i in (first, second) if i]) for second in range(len(CONTINENTS))]
            for first in range(len(CONTINENTS))
        ],
        object,
    )


@cache
def _gender_pickers() -> tuple[Picker, ...]:
    """JSON values of each gender group, with their weights."""
    pickers = []
    for group in GENDERS:
        rows = [row for row in tables.table_rows("genders") if row["group"] == group]
        weights = np.array([float(row["weight"]) for row in rows])
        pickers.append(Picker.weighted([_json_values(row["values"]) for row in rows], weights))
    return tuple(pickers)


def _json_values(values: str) -> str:
    return "null" if values == "null" else json.dumps(values.split("|") if values else [])
