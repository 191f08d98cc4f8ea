"""A new index on OpenSearch beside the one that is in use: nobody who searches notices the change."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

import pytest

from evenrank.retrieval.engine.engines import index_folder, open_index, read_state
from evenrank.retrieval.engine.indexing import build_index
from evenrank.retrieval.engine.opensearch_engine import OpenSearchEngine
from evenrank.retrieval.engine.protocol import EngineUnavailableError, WeightedTerm
from evenrank.trec.collection import Collection
from evenrank.trec.import_files import import_collection
from tests.retrieval.engine.cluster import opensearch_address
from tests.robustness.refresh_kills import kill_refreshes
from tests.robustness.small_files import small_files

pytestmark = [pytest.mark.xdist_group("opensearch"), pytest.mark.slow]
PAGE = [WeightedTerm("title", ("page",))]


def refreshed(folder: Path, n_pages: int, engine: str | None = None) -> OpenSearchEngine:
    """The index of a new edition."""
    build_index(import_collection(folder, small_files(folder.parent / str(n_pages), n_pages)), engine=engine).close()
    opened = open_index(Collection.open(folder))
    assert isinstance(opened, OpenSearchEngine)
    return opened


def n_found(engine: OpenSearchEngine) -> tuple[int, int, int]:
    """What each kind of request finds: searches, counts, pages."""
    n_stored = sum(page is not None for page in engine.stored(list(range(1, 60))))
    return len(engine.search(PAGE, 100).page_ids), engine.document_frequencies("title", ["page"])[0], n_stored


def test_readers_keep_their_index_and_copies_of_the_folder_follow_the_alias(tmp_path: Path) -> None:
    """The index in use was deleted when the next one was published, under servers that had pinned its name."""
    folder = tmp_path / "c"
    name = f"refresh-{secrets.token_hex(4)}"
    first = refreshed(folder, 20, f"{opensearch_address()}/{name}")
    reader, copied = Collection.open(folder), shutil.copytree(folder, tmp_path / "copy")
    second = refreshed(folder, 30)
    assert (first.index, second.index) == (f"{name}-build-1", f"{name}-build-2")
    assert n_found(first) == (20, 20, 20)
    assert n_found(second) == (30, 30, 30)
    aliased = first._client.indices.get_alias(name=first._address.name)
    assert list(aliased) == [second.index]

    third = refreshed(folder, 40)
    assert n_found(first) == (20, 20, 20)  # `reader` has leased it
    of_copy = open_index(Collection.open(copied))
    assert isinstance(of_copy, OpenSearchEngine)
    assert of_copy.index == first.index
    del reader
    fourth = refreshed(folder, 50)
    assert not first._client.indices.exists(index=first.index)
    assert n_found(third) == (40, 40, 40)  # one generation stays for servers with a folder of their own
    assert n_found(of_copy) == (50, 50, 50)
    assert n_found(first) == (50, 50, 50)
    again = open_index(Collection.open(copied))
    assert isinstance(again, OpenSearchEngine)
    assert (again.index, n_found(again)) == (fourth._address.name, (50, 50, 50))

    build_index(folder, engine="tantivy").close()
    state = read_state(index_folder(Collection.open(folder)))
    assert state is not None
    assert state.engine == "tantivy"
    fourth._client.indices.delete(index=f"{fourth._address.name}-build-*")
    with pytest.raises(EngineUnavailableError):
        of_copy.search(PAGE, 10)


def test_kills_at_random_moments_leave_one_whole_edition(tmp_path: Path) -> None:
    address = f"{opensearch_address()}/kills-{secrets.token_hex(4)}"
    state = kill_refreshes(tmp_path, 5, engine=address, n_visitors=0)
    assert state.failures == []


@pytest.mark.long
@pytest.mark.timeout(0)
def test_a_hundred_kills_beside_a_server_whose_workers_are_killed_too(tmp_path: Path) -> None:
    pytest.importorskip("uvicorn", reason="needs the extra web")
    address = f"{opensearch_address()}/kills-{secrets.token_hex(4)}"
    state = kill_refreshes(tmp_path, 100, engine=address, n_workers=2)
    assert state.failures == []
    assert len(state.worker_kills) > 5
