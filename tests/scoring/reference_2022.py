"""Scores of 2022 once more, from the definition alone: plain dictionaries and dense arrays, nothing of the package.

It reads the official files by itself and follows the definition step by step: an array has a row for each cell of the
three blended dimensions and a column for each combination of the other five that occurs in a topic.
"""

from __future__ import annotations

import gzip
import itertools
import json
import math
import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Shares = dict[str, float]
Cell = tuple[str, ...]
SUB_GEO, SRC_GEO, GENDER, OCC = "sub-region", "source-region", "gender", "occupation"
BLENDED = (SUB_GEO, SRC_GEO, GENDER)
BANDS = {
    "first-letter": "first_letter_category",
    "creation-date": "creation_date_category",
    "popularity": "relative_pageviews_category",
    "languages": "num_sitelinks_category",
}
ALL = (*BLENDED, OCC, *BANDS)
SETS = {"2021": (SUB_GEO, GENDER), "Internal": tuple(BANDS), "Demographic": ALL[:4], "intersection": ALL}
PEOPLE = {
    "Antarctica": 1106, "Caribbean": 42517000, "Central America": 167387000, "Central Asia": 64370000,
    "Eastern Africa": 373202000, "Eastern Asia": 1620807000, "Eastern Europe": 294162000, "Middle Africa": 135750000,
    "Northern Africa": 210002000, "Northern America": 355361000, "Northern Europe": 100404000, "Oceania": 38304000,
    "South America": 406740000, "South-eastern Asia": 618793000, "Southern Africa": 60425000,
    "Southern Asia": 1749046000, "Southern Europe": 155827000, "Western Africa": 331255000, "Western Asia": 245707000,
    "Western Europe": 192060000,
}  # fmt: skip
OCEANIA = ("Australia and New Zealand", "Melanesia", "Micronesia", "Polynesia")
WORLD = {name: people / sum(PEOPLE.values()) for name, people in PEOPLE.items()}
BACKGROUND = {SUB_GEO: WORLD, SRC_GEO: WORLD, GENDER: {"female": 0.495, "male": 0.495, "third": 0.01}}
WORK = ("Stub", "Start", "C", "B", "GA", "FA")
CELLS = list(itertools.product(*(("?", *BACKGROUND[name]) for name in BLENDED)))
ROW = {cell: row for row, cell in enumerate(CELLS)}


def regions(counts: dict[str, float]) -> Shares:
    """Counts by region as shares; those of Oceania are added after counting."""
    found: dict[str, float] = defaultdict(float)
    for name, count in counts.items():
        if count:
            found["?" if name in ("UNK", "Unknown") else "Oceania" if name in OCEANIA else name] += count
    total = sum(found.values())
    return {name: count / total for name, count in found.items()} if total else {"?": 1.0}


def genders(values: list[str | None]) -> Shares:
    """Every gender counts in full."""
    found = {}
    for value in values or [None]:
        name = "?" if value is None else re.sub(r"(trans|cis)gender\s+((fe)?male)", r"\2", value)
        found["?" if name == "unknown" else name if name in ("?", "female", "male") else "third"] = 1.0
    return found


def shares_of(record: dict[str, Any]) -> dict[str, Shares]:
    """The groups of a page in each dimension; nothing in a band that is not known."""
    jobs = sorted({job or "?" for job in record.get("occupations") or []}) or ["?"]
    shares = {
        SUB_GEO: regions({name or "UNK": 1 for name in record.get("page_subcont_regions") or []}),
        SRC_GEO: regions(record.get("source_subcont_regions") or {}),
        GENDER: genders(record.get("gender") or []),
        OCC: {job: 1.0 / len(jobs) for job in jobs},
    }
    for name, key in BANDS.items():
        band = record.get(key)
        shares[name] = {} if band in (None, "", "Unknown") else {band: 1.0}
    return shares


def product(page: dict[str, Shares], names: tuple[str, ...]) -> dict[Cell, float]:
    """Weights of the cells that a page belongs to."""
    return {
        tuple(group for group, _ in cell): math.prod(share for _, share in cell)
        for cell in itertools.product(*(page[name].items() for name in names))
    }


def discount(n_ranks: int) -> np.ndarray:
    """Attention of ranks, in single precision."""
    return np.float32(1) / np.log2(np.maximum(np.arange(1, n_ranks + 1), 2).astype(np.float32))


@dataclass(eq=False)
class Data:
    """The official files of 2022, and what runs score on them."""

    pages: dict[int, dict[str, Shares]] = field(default_factory=dict)
    quality: dict[int, str] = field(default_factory=dict)
    relevant: dict[int, list[int]] = field(default_factory=dict)
    targets: dict[tuple[int, int], dict[Cell, float]] = field(default_factory=dict)

    @classmethod
    def read(cls, metadata: Path, reldocs: Path) -> Data:
        data = cls()
        for line in gzip.decompress(metadata.read_bytes()).decode().splitlines():
            record = json.loads(line)
            if record["page_id"] not in data.pages:
                data.pages[record["page_id"]] = shares_of(record)
                if record.get("qual_cat"):
                    data.quality[record["page_id"]] = record["qual_cat"]
        for line in filter(None, reldocs.read_text("utf-8").splitlines()):
            record = json.loads(line)
            data.relevant[record["id"]] = list(dict.fromkeys(record["rel_docs"]))
        return data

    def total(self, weights: dict[int, float], names: tuple[str, ...]) -> dict[Cell, float]:
        """Weighted sum of the cells of pages; pages without metadata are left out."""
        summed: dict[Cell, float] = defaultdict(float)
        for page in sorted(weights):
            if page in self.pages:
                for cell, share in product(self.pages[page], names).items():
                    summed[cell] += weights[page] * share
        return summed

    def page_weights(self, topic: int, task: int) -> tuple[dict[int, float], float]:
        """The weight of each relevant page in the target, and the total by which it is divided."""
        listed = [page for page in self.relevant[topic] if page in self.pages]
        if task == 1:
            return dict.fromkeys(listed, 1.0), float(len(listed))
        ideal, start = {}, 0
        attention = discount(len(listed))
        for level in WORK:
            block = sum(self.quality.get(page) == level for page in listed)
            ideal[level] = np.float32(attention[start : start + block].mean()) if block else np.float32(0)
            start += block
        exposure = {page: ideal.get(self.quality.get(page, ""), np.float32(0)) for page in listed}
        total = np.array(list(exposure.values()), np.float32).sum()
        return {page: float(value) for page, value in exposure.items()}, float(total)

    def full_target(self, topic: int, task: int) -> dict[Cell, float]:
        """The target over all eight dimensions, worked out once; empty where no relevant page is in a group."""
        if (topic, task) not in self.targets:
            self.targets[topic, task] = self._full_target(topic, task)
        return self.targets[topic, task]

    def _full_target(self, topic: int, task: int) -> dict[Cell, float]:
        """Section by section blended with its background."""
        weights, divisor = self.page_weights(topic, task)
        mass = self.total(weights, ALL)
        if not any(mass.values()):
            return {}
        others = sorted({cell[3:] for cell in mass})
        column = {cell: at for at, cell in enumerate(others)}
        table = np.zeros((len(CELLS), len(others)))
        for cell, value in mass.items():
            table[ROW[cell[:3]], column[cell[3:]]] = value / divisor
        spread = table.sum(axis=0) / table.sum()
        blended = table.copy()
        for known in itertools.product((False, True), repeat=3):
            rows = [row for row, cell in enumerate(CELLS) if tuple(group != "?" for group in cell) == known]
            section = table[rows].sum()
            for row in rows if any(known) else ():
                background = math.prod(
                    BACKGROUND[name][group] for name, group in zip(BLENDED, CELLS[row], strict=True) if group != "?"
                )
                here = table[row].sum()
                if here > 0:
                    blended[row] = table[row] * (0.5 + 0.5 * background * section / here)
                else:
                    blended[row] = 0.5 * background * section * spread
        return {
            (*CELLS[row], *others[at]): float(blended[row, at]) for row, at in zip(*np.nonzero(blended), strict=True)
        }

    def target(self, topic: int, task: int, groups: str) -> dict[Cell, float]:
        """The target of an attribute alone, or of a set: the margin of that of all eight."""
        if groups in SETS:
            places = [ALL.index(name) for name in SETS[groups]]
            margin: dict[Cell, float] = defaultdict(float)
            for cell, value in self.full_target(topic, task).items():
                margin[tuple(cell[place] for place in places)] += value
            return margin
        weights, divisor = self.page_weights(topic, task)
        mass = self.total(weights, (groups,))
        if not any(mass.values()):
            return {}
        divisor = divisor if task == 1 else sum(mass.values())  # gender counts twice where a page has two
        mass = {cell: value / divisor for cell, value in mass.items()}
        if groups not in BACKGROUND:
            return mass
        known = sum(value for (group,), value in mass.items() if group != "?")
        wanted = {(g,): 0.5 * mass.get((g,), 0.0) + 0.5 * known * share for g, share in BACKGROUND[groups].items()}
        return wanted | {cell: value for cell, value in mass.items() if cell == ("?",)}

    def task1(self, topic: int, ranking: list[int], groups: str) -> dict[str, float]:
        """nDCG, AWRF and their product; AWRF is NaN where nothing is known of the ranked or of the relevant pages."""
        relevant = self.relevant[topic]
        weights = discount(max(500, len(ranking)))
        gains = np.isin(ranking, relevant) * weights[: len(ranking)]
        ndcg = float(gains.sum() / weights[: min(500, len(relevant))].sum())
        attention = dict(zip(ranking, weights.tolist(), strict=False))
        exposure = self.total(attention, SETS.get(groups, (groups,)))
        wanted = self.target(topic, 1, groups)
        awrf = 1.0 - divergence(exposure, wanted) if wanted and any(exposure.values()) else math.nan
        return {"nDCG": ndcg, "AWRF": awrf, "Score": ndcg * awrf}

    def task2(self, topic: int, rankings: list[list[int]], groups: str) -> dict[str, float]:
        """EE-L, EE-D and EE-R of the mean exposure; only relevant pages get any."""
        relevant, summed = set(self.relevant[topic]), defaultdict(float)
        for ranking in rankings:
            for page, weight in zip(ranking, discount(len(ranking)).tolist(), strict=True):
                if page in relevant:
                    summed[page] += weight / len(rankings)
        exposure = self.total(summed, SETS.get(groups, (groups,)))
        scale = float(discount(20).sum())
        wanted = {cell: scale * value for cell, value in self.target(topic, 2, groups).items()}
        cells = sorted({*exposure, *wanted})
        e, t = (np.array([part.get(cell, 0.0) for cell in cells]) for part in (exposure, wanted))
        return {"EE-L": float(((e - t) ** 2).sum()), "EE-D": float(e @ e), "EE-R": float(e @ t)}


def divergence(one: dict[Cell, float], other: dict[Cell, float]) -> float:
    """Jensen–Shannon divergence of two distributions, after dividing each by its sum; natural logarithm."""
    cells = sorted({*one, *other})
    p, q = (np.array([part.get(cell, 0.0) for cell in cells]) for part in (one, other))
    p, q = p / p.sum(), q / q.sum()
    middle = (p + q) / 2
    return sum(float((x[x > 0] * np.log(x[x > 0] / middle[x > 0])).sum()) for x in (p, q)) / 2


def read_run(path: Path) -> dict[int, list[list[int]]]:
    """Rankings by topic, in the order of the file; a Task 1 run has one ranking each."""
    rankings: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    content = path.read_bytes()
    for line in (gzip.decompress(content) if path.suffix == ".gz" else content).decode().splitlines():
        first, *middle, page = line.split()
        if first != "id":
            rankings[int(first)][middle[0] if middle else "1"].append(int(page))
    return {topic: list(by_number.values()) for topic, by_number in rankings.items()}
