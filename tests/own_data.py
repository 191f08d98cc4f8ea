"""A small news collection made on the spot: stories of outlets, with ids that are numbers or text."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import evenrank
from evenrank.trec.dimensions import read_dimension

OUTLETS = ("public", "commercial", "community")
SUBJECTS = {
    "climate": ("rain", "heat", "storm"),
    "sport": ("match", "goal", "team"),
    "arts": ("film", "music", "stage"),
    "health": ("clinic", "nurse", "virus"),
    "trade": ("tariff", "export", "market"),
}
SHARES = """label = "Outlet"
source = "audience survey"

[shares]
public = 0.4
commercial = 0.4
community = 0.2
"""


def write_news(folder: Path, page_id: Callable[[int], int | str], n_stories: int = 300) -> None:
    """Metadata, corpus, topics and shares in `folder`; the same stories whatever their ids."""
    rng = random.Random(20261115)
    relevant: dict[str, list[int | str]] = {subject: [] for subject in SUBJECTS}
    metadata, corpus = [], []
    for number in range(1, n_stories + 1):
        subject = rng.choice(list(SUBJECTS))
        outlet = rng.choices(OUTLETS, [0.3, 0.6, 0.1])[0]
        quality = rng.choice(("Stub", "Start", "C", "B"))
        record = {"page_id": page_id(number), "publisher": outlet if number % 17 else None, "qual_cat": quality}
        metadata.append(record)
        text = " ".join([*rng.choices(SUBJECTS[subject], k=30), subject])
        corpus.append({"id": page_id(number), "title": f"{subject} story {number}", "url": "", "text": text})
        if rng.random() < 0.4:
            relevant[subject].append(page_id(number))
    topics = [
        {"id": number, "title": subject, "keywords": SUBJECTS[subject], "rel_docs": pages}
        for number, (subject, pages) in enumerate(relevant.items(), 1)
    ]
    for name, records in (("metadata", metadata), ("corpus", corpus), ("topics", topics)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    (folder / "shares.toml").write_text(SHARES, "utf-8")


def story(number: int) -> str:
    """Ids whose order as text is not that of the numbers, and that are not all ASCII."""
    return f"https://news.example/{'é' if number % 2 else 'z'}/{number}"


def import_news(folder: Path) -> evenrank.Collection:
    outlet = read_dimension(f"outlet=publisher:{folder / 'shares.toml'}")
    files = evenrank.ImportFiles(
        folder / "metadata.jsonl",
        eval_topics=(folder / "topics.jsonl",),
        corpus=folder / "corpus.jsonl",
        dimensions=(outlet,),
    )
    collection = evenrank.import_collection(folder / "news", files)
    evenrank.build_index(collection)
    return collection
