"""Expected exposure from its definition (Diaz et al. 2020), by enumeration: every reader, every ideal ranking.

`expeval`, the authors' own program, is not on the package index (`benchmarks/measure_agreement.py --expeval` compares
with a checkout of it); this is an independent computation for every run of the tests. Judgments are binary, so a reader
of a cascade stops at relevant pages alone, and work levels are the grades of the ideal policy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import permutations, product
from pathlib import Path

import orjson
import pytest

from evenrank.scoring.evaluate import evaluate
from evenrank.trec.collection import Collection
from evenrank.trec.import_files import ImportFiles, import_collection

PAGES = {
    1: ("Stub", "Africa"), 2: ("Stub", "Asia"), 3: ("C", "Asia"), 4: ("FA", "Europe"), 5: ("FA", "Africa"),
    6: ("Stub", "Europe"), 7: ("B", "Africa"),
}  # fmt: skip
LEVELS = ([1, 2], [3], [4, 5])
"""Relevant pages by the work that they need, most first; 6 and 7 are not relevant."""
RELEVANT = {page for level in LEVELS for page in level}
DEPTH = len(RELEVANT)
"""Ranks that readers can reach: as many as an ideal ranking has relevant pages."""
RANKINGS = ([6, 1, 3, 7, 5], [4, 5, 1, 6, 2], [3, 2, 7], [1, 2, 3, 4, 5])
Exposure = dict[int, float]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Collection, Path]:
    folder = tmp_path_factory.mktemp("expected-exposure")
    records = [
        {"page_id": page, "quality_score_disc": quality, "geographic_locations": [place]}
        for page, (quality, place) in PAGES.items()
    ]
    (folder / "metadata").write_bytes(b"\n".join(map(orjson.dumps, records)))
    (folder / "topics").write_bytes(orjson.dumps({"id": 1, "title": "t", "rel_docs": sorted(RELEVANT)}))
    rows = [f"1\t{number}\t{page}" for number, ranking in enumerate(RANKINGS, 1) for page in ranking]
    (folder / "run.tsv").write_text("\n".join(rows) + "\n")
    files = ImportFiles(folder / "metadata", eval_topics=(folder / "topics",))
    return import_collection(folder / "collection", files), folder / "run.tsv"


def readers(ranking: Sequence[int], patience: float, satisfaction: float) -> Iterable[tuple[float, int]]:
    """Every way to read a ranking: its chance, and how many pages are looked at."""
    chance = 1.0
    for n_seen, page in enumerate(ranking[:DEPTH], 1):
        stops = satisfaction if page in RELEVANT else 0.0
        yield chance * stops, n_seen
        chance *= 1.0 - stops
        yield chance * (1.0 - patience), n_seen
        chance *= patience
    yield chance, len(ranking[:DEPTH])


def exposure(rankings: Iterable[Sequence[int]], patience: float, satisfaction: float) -> Exposure:
    """The chance that a page is looked at, when each of the rankings is shown equally often."""
    shown, summed = list(rankings), defaultdict(float)
    for ranking in shown:
        for chance, n_seen in readers(ranking, patience, satisfaction):
            for page in ranking[:n_seen]:
                summed[page] += chance / len(shown)
    return summed


def ideal_rankings() -> list[list[int]]:
    """All orders of the relevant pages in which those that need more work come first."""
    return [[page for level in chosen for page in level] for chosen in product(*map(permutations, LEVELS))]


def by_group(exposures: Exposure) -> dict[str, float]:
    groups: dict[str, float] = defaultdict(float)
    for page, value in exposures.items():
        groups[PAGES[page][1]] += value
    return groups


def compared(given: dict, wanted: dict) -> list[float]:
    """Loss, disparity and relevance."""
    keys = {*given, *wanted}
    loss = sum((given.get(key, 0.0) - wanted.get(key, 0.0)) ** 2 for key in keys)
    return [loss, sum(value**2 for value in given.values()), sum(given.get(key, 0.0) * wanted[key] for key in wanted)]


@pytest.mark.parametrize(
    ("attention", "patience", "satisfaction"),
    [("rbp:0.5", 0.5, 0.0), ("rbp:0.9", 0.9, 0.0), ("gerr:0.8,0.5", 0.8, 0.5), ("gerr:0.6,0.9", 0.6, 0.9)],
)
def test_loss_disparity_and_relevance_of_groups_and_pages(
    files: tuple[Collection, Path], attention: str, patience: float, satisfaction: float
) -> None:
    collection, run = files
    names = ["EE-L", "EE-D", "EE-R"]
    results = evaluate(
        collection,
        run,
        "paper-2021",
        "geography",
        measures=[*names, *(f"{name}-item" for name in names)],
        attention=attention,
        blend=0.0,
        task2_depth=DEPTH,
        task2_rankings=len(RANKINGS),
        missing_ranking="skipped",
    )
    scores = results.runs[0].topics[1]
    given = exposure(RANKINGS, patience, satisfaction)
    wanted = exposure(ideal_rankings(), patience, satisfaction)
    assert [scores[f"{name}-item"] for name in names] == pytest.approx(compared(given, wanted), rel=1e-12)
    assert [scores[name] for name in names] == pytest.approx(compared(by_group(given), by_group(wanted)), rel=1e-12)


def test_chances_of_readers_sum_to_one() -> None:
    for ranking in (*RANKINGS, *ideal_rankings()):
        assert sum(chance for chance, _ in readers(ranking, 0.7, 0.6)) == pytest.approx(1.0)
    assert len(ideal_rankings()) == 4
