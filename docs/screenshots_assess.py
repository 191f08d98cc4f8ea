"""The screenshots of the guide to judging: two assessors judge a pool, an organiser looks on.

    python docs/screenshots_assess.py COLLECTION [-o docs/images] [--chromium /usr/bin/chromium]

The collection must have an index and evaluation topics; use a generated one. Judgments are kept in a temporary folder.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import sync_playwright
from screenshots_server import SIZES, serve

from evenrank.app.settings import WebSettings
from evenrank.core.rng import derive
from evenrank.trec.assessment.assessors import Overlap, add_assessor, assign_pages, load_pool
from evenrank.trec.assessment.pool import Pool, PooledPage, parse_tier
from evenrank.trec.assessment.queues import queue
from evenrank.trec.assessment.votes import Store, Vote, cast_votes, create_store
from evenrank.trec.collection import Collection

N_RELEVANT = 16
"""Relevant pages of each topic that are judged."""
PICTURES = (
    ("judge", "{Ada}/next", "desktop", "light"),
    ("judge", "{Ada}/next", "phone", "dark"),
    ("organise", "{Olga}", "desktop", "light"),
    ("settle", "{Olga}/settle", "desktop", "dark"),
)
"""Name, address below the link, size and colour scheme."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("collection", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=Path(__file__).parent / "images")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        links = make_judgments(Path(folder) / "judgments.sqlite", Collection.open(options.collection))
        settings = WebSettings(store=Path(folder) / "desk.sqlite", judgments=Path(folder) / "judgments.sqlite")
        with serve(options.collection, settings) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=options.chromium, args=["--no-sandbox"])
            for name, path, size, scheme in PICTURES:
                page = browser.new_page(viewport=SIZES[size], color_scheme=scheme)
                page.goto(address + path.format(**links))
                page.screenshot(path=options.output / f"{name}-{size}-{scheme}.png", full_page=name == "organise")
                page.close()
            browser.close()


def make_judgments(path: Path, collection: Collection) -> dict[str, str]:
    """A judgments file in the middle of the work; addresses by name."""
    rng = derive(1, "pictures")
    topics = [topic for topic in collection.topics if len(topic.rel_docs) >= N_RELEVANT][:3]
    pages = [
        PooledPage(topic.id, 1 + (place >= N_RELEVANT), int(page), ())
        for topic in topics
        for place, page in enumerate([*topic.rel_docs[:N_RELEVANT], *rng.choice(collection.page_ids, 6, replace=False)])
    ]
    pool = Pool(tiers=(parse_tier("1:10"), parse_tier("1:20")), pages=tuple(sorted(set(pages))))
    with create_store(path, seed=3) as store:
        load_pool(store, pool, {topic.id: topic.title for topic in collection.topics})
        links = {name: f"/judge/{add_assessor(store, name)}" for name in ("Ada", "Ben")}
        assign_pages(store, list(links), Overlap(0.4))
        for name in links:
            cast_votes(store, list(some_votes(store, collection, name)))
        return links | {"Olga": f"/organise/{add_assessor(store, 'Olga', 'organiser')}"}


def some_votes(store: Store, collection: Collection, name: str) -> Iterator[Vote]:
    """Votes on two thirds of an assessor's pages: mostly right, some skipped or unassessable."""
    items = list(queue(store, name))
    rng = derive(1, name)
    for item in items[: 2 * len(items) // 3]:
        is_relevant = item.page in collection.topic_by_id[item.topic].rel_docs
        kind = rng.random()
        token, seconds = f"{name}-{item.topic}-{item.page}", float(rng.gamma(4, 8))
        if kind < 0.08:
            yield Vote(
                token, item.topic, item.page, name, "skipped" if kind < 0.04 else "unassessable", seconds=seconds
            )
        else:
            grade = int(is_relevant if kind < 0.8 else not is_relevant)
            yield Vote(token, item.topic, item.page, name, "graded", grade, seconds=seconds)


if __name__ == "__main__":
    main()
