"""Files of the shape of TREC 2022: metadata with all eight dimensions, evaluation topics, runs of both tasks."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from isal import igzip

from evenrank.trec.dimensions import OCCUPATIONS, POPULATION

N_TOPICS = 50
BLOCK = 50_000
REGIONS = [name for name in POPULATION if name != "Oceania"] + ["Melanesia", "Polynesia", "Australia and New Zealand"]
CLASSES = ("Stub", "Start", "C", "B", "GA", "FA")
BANDS = {
    "first_letter_category": ("a-d", "e-k", "l-r", "s-"),
    "creation_date_category": ("2001-2006", "2007-2011", "2012-2016", "2017-2022"),
    "relative_pageviews_category": ("Low", "Medium-Low", "Medium-High", "High"),
    "num_sitelinks_category": ("English only", "2-4 languages", "5+ languages"),
}


def write_metadata(path: Path, n_pages: int, seed: int = 0) -> None:
    """Records with the keys, the order and the spread of the official file: source counts hardly repeat."""
    rng = np.random.default_rng(seed)
    pools = _pools(rng)
    ids = np.cumsum(rng.integers(1, 20, n_pages))
    with igzip.open(path, "wb", compresslevel=2) as file:
        for start in range(0, n_pages, BLOCK):
            file.write(_lines(ids[start : start + BLOCK], pools, rng))


def _pools(rng: np.random.Generator) -> dict[str, list[str]]:
    """Ready-made values of each field, drawn from as often as they come up."""
    regions = ["[]"] * 3000 + [json.dumps(_some(rng, REGIONS, 3)) for _ in range(5000)]
    sources = ["{}"] * 2000 + [json.dumps({"UNK": n}) for n in range(1, 1000)]
    for _ in range(200_000):
        counts = {name: int(rng.integers(1, 60)) for name in _some(rng, [*REGIONS, "UNK"], 5)}
        sources.append(json.dumps(counts))
    genders = ["[]"] * 70 + ['["male"]'] * 22 + ['["female"]'] * 7 + ['["non-binary"]', '["male", "female"]']
    work = ["[]"] * 7000 + [json.dumps(_some(rng, OCCUPATIONS, 3)) for _ in range(3000)]
    quality = [json.dumps(name) for name in rng.choice(CLASSES, 1000, p=[0.53, 0.32, 0.1, 0.04, 0.006, 0.004])]
    bands = {name: [json.dumps(value) for value in values] for name, values in BANDS.items()}
    return {"qual_cat": quality, "regions": regions, "sources": sources, "gender": genders, "work": work, **bands}


def _some(rng: np.random.Generator, names: list[str] | tuple[str, ...], most: int) -> list[str]:
    size = 1 + min(int(rng.geometric(0.6)) - 1, most - 1)
    return [names[place] for place in rng.choice(len(names), size, replace=False)]


def _lines(ids: np.ndarray, pools: dict[str, list[str]], rng: np.random.Generator) -> bytes:
    drawn = {name: [pool[n] for n in rng.integers(0, len(pool), len(ids)).tolist()] for name, pool in pools.items()}
    scores = rng.random(len(ids)).round(6).tolist()
    rows = zip(ids.tolist(), scores, *drawn.values(), strict=True)
    return "".join(_line(*row) for row in rows).encode()


def _line(page, score, quality, regions, sources, gender, work, letter, created, views, links) -> str:
    return (
        f'{{"page_id": {page}, "pred_qual": {score}, "qual_cat": {quality}, "page_countries": [], '
        f'"page_subcont_regions": {regions}, "source_countries": {{}}, "source_subcont_regions": {sources}, '
        f'"gender": {gender}, "occupations": {work}, "years": [], "num_sitelinks": 7, "relative_pageviews": {score}, '
        f'"first_letter": "x", "creation_date": "2011-03-02", "first_letter_category": {letter}, '
        f'"gender_category": "Unknown", "creation_date_category": {created}, "years_category": "Unknown", '
        f'"relative_pageviews_category": {views}, "num_sitelinks_category": {links}}}\n'
    )


def write_topics(path: Path, page_ids: np.ndarray, n_judgments: int, seed: int = 1) -> None:
    """Evaluation topics with relevant pages, some topics a hundred times as large as others."""
    rng = np.random.default_rng(seed)
    sizes = rng.lognormal(0, 1.2, N_TOPICS)
    sizes = np.maximum(20, (sizes / sizes.sum() * n_judgments).astype(int))
    with path.open("w") as file:
        for number, size in enumerate(sizes.tolist(), 1):
            pages = rng.choice(page_ids, min(size, len(page_ids) // 2), replace=False)
            file.write(json.dumps({"id": 100 + number, "title": f"Topic {number}", "rel_docs": pages.tolist()}) + "\n")
