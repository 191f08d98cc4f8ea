"""Pages by blocks: ids, groups, quality and themes, each block from a generator of its own; and their metadata."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from evenrank.core.records import NO_CLASS, WORK_ORDER
from evenrank.core.rng import derive
from evenrank.trec.generate import tables
from evenrank.trec.generate.picker import Picker
from evenrank.trec.generate.plan import CONTINENTS, GENDERS, Plan

BLOCK = 1024
"""Pages of a block; fixed, so that the result does not depend on how the work is shared out."""
ID_SPACING = 11
"""Page ids per page: the rest are redirects, talk pages and the deleted."""
NO_QUALITY_SHARE = 0.0005
"""Pages without a quality score."""
N_ASPECTS = 5
"""Aspects of a theme; a page treats one."""
NULL_GEOGRAPHY_SHARE = 0.01
"""Pages without a geography that say null, not an empty list."""


@dataclass(frozen=True, slots=True, eq=False)
class PageBlock:
    """Consecutive pages as columns, ids ascending."""

    page_id: NDArray[np.int32]
    is_listed: NDArray[np.bool_]
    """Whether the metadata know the page."""
    geography: NDArray[np.int8]
    """Index into CONTINENTS; 0 is Unknown."""
    second_geography: NDArray[np.int8]
    """A second continent; 0 when there is none."""
    gender: NDArray[np.int8]
    """Index into GENDERS; 0 is no biography."""
    score: NDArray[np.float64]
    """Quality score, from which the amount of text follows."""
    quality: NDArray[np.int8]
    """Index into the work order; NO_CLASS where the metadata has no quality."""
    members: Members


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """Pages that belong to a theme or only mention it, sorted by page."""

    page: NDArray[np.int32]
    """Row of the page in its block."""
    theme: NDArray[np.int32]
    is_relevant: NDArray[np.bool_]
    """False for a distractor."""
    strength: NDArray[np.float64]
    """How plainly the page is about the theme, from 0 to 1: what assessors go by."""
    shown_strength: NDArray[np.float64]
    """How much of the text shows the theme: the strength, less the world's retrieval bias, with its noise."""
    aspect: NDArray[np.int8]


def n_blocks(plan: Plan) -> int:
    """Blocks of the collection."""
    return -(-plan.settings.n_pages // BLOCK)


def draw_pages(plan: Plan, block: int) -> PageBlock:
    """The pages of one block."""
    settings = plan.settings
    rng = derive(settings.seed, "pages", block)
    n_listed = min(BLOCK, settings.n_pages - block * BLOCK)
    n_unlisted = round((block + 1) * BLOCK * settings.unlisted_share) - round(block * BLOCK * settings.unlisted_share)
    n = n_listed + n_unlisted
    span = (BLOCK + round(BLOCK * settings.unlisted_share) + 1) * ID_SPACING
    cell = plan.cell_cumulated.searchsorted(rng.random(n), side="right").clip(max=len(plan.cell_cumulated) - 1)
    geography, gender = np.divmod(cell.astype(np.int8), np.int8(len(GENDERS)))
    score, quality = _draw_quality(plan, geography, rng)
    return PageBlock(
        page_id=(np.sort(rng.choice(span, n, replace=False)) + block * span + ID_SPACING).astype(np.int32),
        is_listed=_all_but(n, n_unlisted, rng),
        geography=geography,
        second_geography=_draw_second(plan, geography, rng),
        gender=gender,
        score=score,
        quality=quality,
        members=_draw_members(plan, cell, block, rng),
    )


def _all_but(n: int, n_left_out: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    chosen = np.ones(n, bool)
    chosen[rng.choice(n, n_left_out, replace=False)] = False
    return chosen


def _draw_quality(
    plan: Plan, geography: NDArray[np.int8], rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Scores to six places, and classes."""
    latent = rng.standard_normal(len(geography)) + plan.quality_tilt[geography]
    score = np.interp(latent, *plan.quality_knots).round(6)
    quality = np.minimum(score * 6, 5).astype(np.int8)
    quality[rng.random(len(score)) < NO_QUALITY_SHARE] = NO_CLASS
    return score, quality


def _draw_second(plan: Plan, geography: NDArray[np.int8], rng: np.random.Generator) -> NDArray[np.int8]:
    """Second continents, drawn as first continents are; 0 for most pages."""
    n = len(geography)
    cell = plan.cell_cumulated.searchsorted(rng.random(n), side="right").clip(max=len(plan.cell_cumulated) - 1)
    other = (cell // len(GENDERS)).astype(np.int8)
    other[other == 0] = CONTINENTS.index("Europe")
    is_second = (rng.random(n) < plan.settings.multi_continent_share) & (geography > 0) & (other != geography)
    return np.where(is_second, other, np.int8(0))


def _draw_members(plan: Plan, cell: NDArray[np.intp], block: int, rng: np.random.Generator) -> Members:
    """Themes of the pages: a Poisson number each, drawn by cell."""
    n_themes = len(plan.themes)
    page = np.repeat(np.arange(len(cell)), rng.poisson(plan.cell_rates[cell]))
    drawn = plan.theme_cumulated.ravel().searchsorted(rng.random(len(page)) + cell[page], side="right")
    column = np.minimum(drawn - cell[page] * 2 * n_themes, 2 * n_themes - 1)
    sure_page, sure_theme = _sure_members(plan, block)
    page, column = np.concatenate([sure_page, page]), np.concatenate([sure_theme, column])
    # Belonging comes before mentioning, so that `unique` keeps it when both were drawn.
    order = np.argsort(column >= n_themes, kind="stable")
    _, first = np.unique(page[order] * n_themes + column[order] % n_themes, return_index=True)
    page, column = page[order][first], column[order][first]
    is_relevant = column < n_themes
    n = len(page)
    strength = np.where(is_relevant, rng.beta(1.3, 2.2, n), rng.beta(1.0, 2.6, n))
    strength = np.minimum(strength * np.exp(2 * plan.quality_tilt[cell[page] // len(GENDERS)]), 1.0)
    aspect = rng.integers(0, N_ASPECTS, n).astype(np.int8)
    shown = _shown_strength(plan, strength, cell[page], block)
    return Members(page.astype(np.int32), (column % n_themes).astype(np.int32), is_relevant, strength, shown, aspect)


def _shown_strength(
    plan: Plan, strength: NDArray[np.float64], cell: NDArray[np.intp], block: int
) -> NDArray[np.float64]:
    """The strengths on the logit scale, shifted by the retrieval bias of the pages' groups and by noise."""
    noise, seed = plan.settings.noise, plan.settings.seed
    if not noise and not plan.retrieval_bias.any():
        return strength
    shift = plan.retrieval_bias[cell] + noise * derive(seed, "noise", block).standard_normal(len(strength))
    odds = strength * np.exp(shift)
    shown: NDArray[np.float64] = odds / (1.0 - strength + odds)
    return shown


def hide_groups(plan: Plan, pages: PageBlock, block: int) -> PageBlock:
    """The pages as their metadata know them: groups are missing in the world's shares, dimension by dimension."""
    if not plan.settings.unknown:
        return pages
    drawn = derive(plan.settings.seed, "unknown", block).random((2, len(pages.page_id)))
    no_geography = drawn[0] < plan.unknown_geography[pages.geography]
    return replace(
        pages,
        geography=np.where(no_geography, np.int8(0), pages.geography),
        second_geography=np.where(no_geography, np.int8(0), pages.second_geography),
        gender=np.where(drawn[1] < plan.unknown_gender[pages.gender], np.int8(0), pages.gender),
    )


def _sure_members(plan: Plan, block: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(page of the block, theme) such that every topic has a page, also in a small collection."""
    n_topics = plan.settings.n_topics
    n_pages = plan.settings.n_pages
    theme = np.arange(n_topics)
    page = theme * n_pages // max(n_topics, 1)
    here = page // BLOCK == block
    return page[here] % BLOCK, theme[here]


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
