"""Small data sets in the official formats of 2022, with everything odd that these files may have."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.scoring.reference_2022 import OCEANIA, PEOPLE, WORK

REGIONS = [*PEOPLE, *OCEANIA]
GENDERS = ["male", "female", "transgender female", "cisgender male", "non-binary", "intersex", "unknown"]
OCCUPATIONS = [
    "activist", "agricultural worker", "artist", "athlete", "biologist", "businessperson", "chemist", "civil servant",
    "clergyperson", "computer scientist", "linguist", "politician", "sportsperson (non-athlete)", "writer",
]  # fmt: skip
BANDS = {
    "first_letter_category": ["a-d", "e-k", "l-r", "s-"],
    "creation_date_category": ["2001-2006", "2007-2011", "2012-2016", "2017-2022"],
    "relative_pageviews_category": ["Low", "Medium-Low", "Medium-High", "High"],
    "num_sitelinks_category": ["English only", "2-4 languages", "5+ languages"],
}


@dataclass(frozen=True)
class Files:
    """Paths of a data set."""

    metadata: Path
    reldocs: Path
    runs: dict[int, Path]
    """By task."""


def write_files(folder: Path, seed: int, *, is_regular: bool) -> Files:
    """A data set; with `is_regular` all records have the same keys in the same order, as in the official file.

    Otherwise fields are missing, in another order, null, or of no known meaning.
    """
    rng = np.random.default_rng(seed)
    ids = [0, *np.unique(rng.integers(1, 2**31 - 1, 160)).tolist(), 2**31 - 1]
    records = [_record(page, rng) if is_regular else _disturbed(_record(page, rng), rng) for page in ids]
    rng.shuffle(records)  # type: ignore[arg-type]
    records.append({**records[0], "gender": ["female"], "qual_cat": "FA"})  # a repeated page: the first line counts
    metadata = folder / "trec_2022_articles_discrete_assessed.json.gz"
    with gzip.open(metadata, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(record, ensure_ascii=bool(seed % 2)) + "\n" for record in records)
    without_metadata = [int(page) for page in rng.integers(1, 2**31 - 1, 20) if page not in ids]
    topics = _topics(ids, without_metadata, rng)
    reldocs = folder / "trec_2022_eval_reldocs.jsonl"
    judged = [
        {"id": topic, "title": f"Topic {topic}", "rel_docs": pages, "notes": None} for topic, pages in topics.items()
    ]
    reldocs.write_text("\n".join(map(json.dumps, judged)) + "\n\n", encoding="utf-8")
    pool = [*ids, *without_metadata]
    paths = {task: folder / f"run{task}.{'gz' if task == 1 else 'tsv'}" for task in (1, 2)}
    with gzip.open(paths[1], "wt") as file:
        file.write("id\tpage_id\n")
        for topic, relevant in topics.items():
            if topic != 9:  # a topic without an answer
                pages = _ranking(relevant, pool, int(rng.integers(1, 90)), rng)
                file.writelines(f"{topic}\t{page}\n" for page in pages)
    with paths[2].open("w") as file:
        for topic, relevant in topics.items():
            for number in range(1, 4 + topic % 3):
                pages = _ranking(relevant if number != 2 else [], pool, int(rng.integers(1, 50)), rng)
                file.writelines(f"{topic}\t{number}\t{page}\n" for page in pages)
    return Files(metadata, reldocs, paths)


def write_random_files(folder: Path, seed: int) -> Files:
    """A data set whose size, ids, topics and runs are drawn at random too, in every form that the files may have.

    Among the topics are some without a judgment, with none but pages without metadata, and with one page; runs leave
    out topics, interleave rows, number rankings with holes, and have a header or none.
    """
    rng = np.random.default_rng([2022, seed])
    n_pages = int(rng.choice([3, 40, 150, 400]))
    highest = int(rng.choice([n_pages + 2, 5000, 2**31 - 2]))
    ids = sorted(int(page) for page in rng.choice(highest, n_pages, replace=False)) if highest < 10_000 else None
    ids = ids or np.unique(rng.integers(1, highest, n_pages)).tolist()
    is_regular = bool(rng.random() < 0.5)
    records = [_record(page, rng) if is_regular else _disturbed(_record(page, rng), rng) for page in ids]
    whole = _record(ids[0], np.random.default_rng(seed))  # a file without any record of a dimension is refused
    records[0] |= {name: value for name, value in whole.items() if not any(name in record for record in records)}
    metadata = folder / "trec_2022_articles_discrete_assessed.json.gz"
    with gzip.open(metadata, "wt", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(record, ensure_ascii=bool(rng.random() < 0.5)) + "\n" for record in records)
    strangers = [page for page in rng.integers(1, highest, 30).tolist() if page not in set(ids)]
    topics = {}
    for topic in rng.choice(2000, int(rng.choice([1, 3, 7])), replace=False).tolist():
        size = int(rng.choice([0, 1, min(5, n_pages), min(60, n_pages)], p=[0.1, 0.2, 0.3, 0.4]))
        topics[topic] = [int(page) for page in rng.choice(ids, size, replace=False)]
        if rng.random() < 0.3:
            topics[topic] += [*strangers[: int(rng.integers(0, 6))], *topics[topic][:2]]
    first = next(iter(topics))
    topics[first] = topics[first] or [int(rng.choice(ids))]  # a run of nothing but topics without judgments is refused
    judged = [{"id": topic, "title": f"Sélection {topic} “日本”", "rel_docs": pages} for topic, pages in topics.items()]
    reldocs = folder / "trec_2022_eval_reldocs.jsonl"
    reldocs.write_text("\n".join(json.dumps(one, ensure_ascii=False) for one in judged), encoding="utf-8")
    answered = [topic for topic in topics if topic == first or rng.random() < 0.8]
    pool = [*ids, *strangers]
    runs = {task: folder / f"run{task}.{rng.choice(['gz', 'tsv'])}" for task in (1, 2)}
    for task, path in runs.items():
        _write_rows(path, _rows(task, answered, topics, pool, rng), bool(rng.random() < 0.5))
    return Files(metadata, reldocs, runs)


def _rows(
    task: int, answered: list[int], topics: dict[int, list[int]], pool: list[int], rng: np.random.Generator
) -> list[tuple[int, ...]]:
    rankings: dict[tuple[int, ...], list[int]] = {}
    for topic in answered:
        n_rankings = 1 if task == 1 else int(rng.integers(1, 6))
        for number in sorted(rng.choice(100, n_rankings, replace=False).tolist()):
            key = (topic,) if task == 1 else (topic, number + 1)
            rankings[key] = _ranking(topics[topic], pool, int(rng.integers(1, 500 if task == 1 else 60)), rng)
    rows = [(*key, page) for key, pages in rankings.items() for page in pages]
    if rng.random() < 0.3:  # the pages of a ranking keep their order wherever they are in the file
        by_rank = sorted(range(len(rows)), key=lambda at: (rankings[rows[at][:-1]].index(rows[at][-1]), rows[at][0]))
        rows = [rows[at] for at in by_rank]
    return rows


def _write_rows(path: Path, rows: list[tuple[int, ...]], has_header: bool) -> None:
    header = ["id\tpage_id" if len(rows[0]) == 2 else "id\trep_number\tpage_id"] if has_header else []
    text = "\n".join([*header, *("\t".join(map(str, row)) for row in rows)]) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def _record(page: int, rng: np.random.Generator) -> dict[str, Any]:
    some = lambda names, most: rng.choice(names, int(rng.integers(0, most + 1)), replace=False).tolist()  # noqa: E731
    sources = {name: int(rng.integers(0, 60)) for name in some([*REGIONS, "UNK"], 4)}
    return {
        "page_id": page,
        "pred_qual": [None, 0, 1, 0.5, round(float(rng.random()), 6)][int(rng.integers(0, 5))],
        "qual_cat": str(rng.choice(WORK)) if rng.random() < 0.9 else None,
        "page_countries": some(["Côte d'Ivoire", "Peru"], 2),
        "page_subcont_regions": some(REGIONS, 3),
        "source_countries": {"Perú": 3} if rng.random() < 0.5 else {},
        "source_subcont_regions": sources,
        "gender": some(GENDERS, 2) if rng.random() < 0.5 else [],
        "occupations": some(OCCUPATIONS, 4),
        "years": [1850, 1900],
        "num_sitelinks": int(rng.integers(1, 40)),
        **{key: str(rng.choice(names)) if rng.random() < 0.93 else None for key, names in BANDS.items()},
    }


def _disturbed(record: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    """The record with fields missing, null, in another order, and others that nobody knows."""
    names = [str(name) for name in rng.permutation([*record])]
    kept = {name: record[name] for name in names if name == "page_id" or rng.random() < 0.85}
    for name in ("page_subcont_regions", "source_subcont_regions", "gender", "occupations"):
        if rng.random() < 0.1:
            kept[name] = None
    if rng.random() < 0.3:
        kept["pred_qual_2020"] = {"GA": 0.25, "FA": [1, {"page_id": 7, "qual_cat": "FA"}]}
    return kept


def _topics(ids: list[int], without_metadata: list[int], rng: np.random.Generator) -> dict[int, list[int]]:
    """Few judgments, many, a repeated one, and pages without metadata among them."""
    sizes = {9: 20, 187: 1, 400: 12, 5: 45, 1001: 3}
    topics = {topic: [int(page) for page in rng.choice(ids, size, replace=False)] for topic, size in sizes.items()}
    topics[400] += [*without_metadata[:4], topics[400][0]]
    return topics


def _ranking(relevant: list[int], pool: list[int], length: int, rng: np.random.Generator) -> list[int]:
    wanted = [page for page in relevant if rng.random() < 0.6]
    others = [page for page in rng.permutation(pool).tolist() if page not in wanted][:length]
    return [int(page) for page in rng.permutation(list(dict.fromkeys([*wanted, *others])))][: max(length, 1)]
