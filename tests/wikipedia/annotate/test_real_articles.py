"""Counts and quality of the real articles in the dump that the package `gensim` carries.

`page_counts.csv` was made by searching the raw wikitext of each article for what is counted.
"""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pytest

from evenrank.io.content import read_batches
from evenrank.io.corpus import PAGE_END, read_site
from evenrank.io.faults import FaultLog
from evenrank.wikipedia.annotate.dump_pages import annotate_pages
from evenrank.wikipedia.annotate.labeller import annotate
from evenrank.wikipedia.annotate.settings import AnnotateInputs, AnnotateSettings

gensim = pytest.importorskip("gensim", reason="gensim carries the real dump")
NAME = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
DUMP = Path(gensim.__file__).parent / "test" / "test_data" / NAME
COUNTED = list(csv.DictReader(Path(__file__).with_name("page_counts.csv").read_text("utf-8").splitlines()))
ANARCHISM, AUTISM, ALABAMA, ASIA_MINOR = 12, 25, 303, 694
"""The last one is a page that only tells apart other pages of that name."""


@pytest.fixture(scope="module", params=["v1", "v2"])
def pages(request, tmp_path_factory):
    out = tmp_path_factory.mktemp("real") / "metadata.json.gz"
    annotate(
        out, AnnotateInputs(DUMP), AnnotateSettings(quality_model=request.param, percentiles="enwiki"), n_workers=1
    )
    return {page["page_id"]: page for page in map(json.loads, gzip.open(out, "rt", encoding="utf-8"))}


def test_all_articles_are_there_without_redirects(pages):
    assert len(pages) == 106


def test_long_and_well_sourced_articles_are_at_the_top(pages):
    for page_id in (ANARCHISM, AUTISM, ALABAMA):
        assert pages[page_id]["quality_score_disc"] in ("B", "GA", "FA")
        assert pages[page_id]["quality_score"] > 0.8


def test_short_pages_are_at_the_bottom(pages):
    assert pages[ASIA_MINOR]["quality_score_disc"] == "Stub"
    assert min(pages.values(), key=lambda page: page["quality_score"])["quality_score"] < 0.35


@pytest.fixture(scope="module")
def counts():
    """Counts of each article: bytes, media, headings, references, short footnotes, links, categories."""
    site = read_site(DUMP)
    batches = [annotate_pages(batch, site) for batch in read_batches(DUMP, FaultLog(), record_end=PAGE_END)]
    return {row[0]: row[2:] for batch in batches for row in batch.rows["pages"]}


@pytest.mark.parametrize("article", COUNTED, ids=[article["title"] for article in COUNTED])
def test_counts_of_articles(counts, article):
    n_bytes, n_media, n_headings, n_references, _, n_links, n_categories = counts[int(article["page_id"])]
    assert [n_bytes, n_media, n_headings, n_references, n_links, n_categories] == [
        int(article[name]) for name in ("n_bytes", "n_media", "n_headings", "n_references", "n_links", "n_categories")
    ]
