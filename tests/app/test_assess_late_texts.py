"""Pages that come into the pool while the server runs: assessors read them whole, without a restart."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette", reason="needs the extra web")

from evenrank.app.assess.judging import Judging, open_judging
from evenrank.app.assess.texts import (
    Absence,
    ArticleContent,
    LateTexts,
    Texts,
    add_texts,
    keys_of,
    open_texts,
    unread_pages,
)
from evenrank.app.state import open_state
from evenrank.trec.assessment.assessors import Overlap, assign_pages, load_pool
from evenrank.trec.assessment.pool import Pool, PooledPage
from evenrank.trec.assessment.votes import open_store
from evenrank.trec.collection import Collection
from tests.app.conftest import UNLIMITED, client_of
from tests.judging_files import JudgingFiles, make_judging

GONE = 2_000_000_001
"""A page that the collection does not have."""


@pytest.fixture
def files(generated: Collection, tmp_path: Path) -> JudgingFiles:
    return make_judging(tmp_path, generated)


@pytest.fixture
def judging(generated: Collection, files: JudgingFiles, tmp_path: Path) -> Iterator[Judging]:
    state = open_state(generated.path, files.settings(replace(UNLIMITED, store=tmp_path / "desk.sqlite")))
    opened = open_judging(state)
    assert opened is not None
    yield opened
    opened.close()
    state.close()


def expected(collection: Collection, path: Path, page: int) -> ArticleContent:
    """The whole text, from a file of texts of its own."""
    texts = open_texts(path, collection, [page])
    found = texts.find(page)
    texts.close()
    assert isinstance(found, ArticleContent)
    return found


def longest(collection: Collection, files: JudgingFiles) -> int:
    """The longest article that is not in the pool."""
    with open_store(files.judgments) as store:
        pooled = [page for (page,) in store.connection.execute("SELECT page FROM item")]
    assert collection.size_bytes is not None
    return int(collection.page_ids[np.argmax(np.where(np.isin(collection.page_ids, pooled), 0, collection.size_bytes))])


def pool_more(files: JudgingFiles, *pages: int) -> None:
    """What `evenrank judgments pool` and `assign` do, from outside."""
    with open_store(files.judgments) as store:
        load_pool(store, Pool(pages=tuple(PooledPage(files.topics[0], 1, page, ()) for page in pages)), {})
        assign_pages(store, ["Ada", "Ben"], Overlap(1.0, 2))


def test_a_new_page_is_read_whole(generated: Collection, judging: Judging, files: JudgingFiles, tmp_path: Path) -> None:
    page = longest(generated, files)
    pool_more(files, page, GONE)
    assert judging.content(page) is not None  # the opening, or already the whole
    judging.texts.wait()
    assert judging.content(page) == expected(generated, tmp_path / "other.sqlite", page)
    assert judging.content(GONE) is None
    assert judging.texts.texts.find(GONE) is Absence.GONE


def test_after_new_data_texts_come_from_them(generated: Collection, judging: Judging, files: JudgingFiles) -> None:
    """They came from the data of the start, whose files a server kept open until its end."""
    page = longest(generated, files)
    pool_more(files, page)
    sources = {**generated.manifest.sources, "corpus": replace(generated.manifest.sources["corpus"], path="/gone")}
    away = replace(generated, manifest=replace(generated.manifest, sources=sources))
    earlier = judging.renewed(replace(judging.state, collection=away))
    assert earlier.texts.find(page, lambda: {page}) is Absence.UNREAD
    earlier.texts.wait()
    renewed = earlier.renewed(replace(judging.state, collection=generated))
    renewed.texts.find(page, lambda: {page})
    renewed.texts.wait()
    assert isinstance(renewed.texts.find(page, set), ArticleContent)


def test_the_page_of_the_assessor_shows_its_end(generated: Collection, files: JudgingFiles, tmp_path: Path) -> None:
    page = longest(generated, files)
    end = expected(generated, tmp_path / "other.sqlite", page).parts[-1].title
    assert end
    state = open_state(generated.path, files.settings(replace(UNLIMITED, store=tmp_path / "desk.sqlite")))
    with client_of(state) as client:
        pool_more(files, page)
        address = f"/judge/{files.secrets['Ada']}/{files.topics[0]}/{page}"
        assert client.get(address).status_code == 200
        client.app.state.judging.texts.wait()  # type: ignore[attr-defined]
        assert f">{end}</h" in client.get(f"{address}?whole=1").text


def test_a_corpus_that_cannot_be_read_is_tried_once(
    generated: Collection, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = tmp_path / "corpus.json.gz"
    broken.write_bytes(b"\x1f\x8b no gzip")
    source = replace(generated.manifest.sources["corpus"], path=str(broken))
    sources = {**generated.manifest.sources, "corpus": source}
    late = LateTexts(
        open_texts(tmp_path / "texts.sqlite", generated, []),
        replace(generated, manifest=replace(generated.manifest, sources=sources)),
    )
    page = int(generated.page_ids[0])
    with caplog.at_level(logging.ERROR, "evenrank.app"):
        for _ in range(3):
            assert late.find(page, set) is Absence.UNREAD
            late.wait()
    assert [record.getMessage() for record in caplog.records] == [
        "texts of new pages in the pool were not read; the next start tries again"
    ]
    late.close()


def test_a_search_that_was_ended_calls_no_page_gone(generated: Collection, tmp_path: Path) -> None:
    pages = [int(generated.page_ids[0]), GONE]
    with open_texts(tmp_path / "texts.sqlite", generated, []).store as store:
        add_texts(store, generated, keys_of(pages, None), is_over=lambda: True)
        assert unread_pages(store, pages) == frozenset(pages)
        add_texts(store, generated, keys_of(pages, None))
        assert Texts(store).find(GONE) is Absence.GONE
        assert isinstance(Texts(store).find(pages[0]), ArticleContent)
