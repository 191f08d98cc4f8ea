"""Near vectors of a large file: nearly all of the nearest, with their exact products; exact where there is no graph."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evenrank.retrieval.encode import vector_cache
from evenrank.retrieval.encode.vector_cache import VectorCache, Vectors

N_PAGES, N_DIMENSIONS, N_NEAR = 4000, 32, 100
pytestmark = pytest.mark.skipif(not vector_cache.has_usearch(), reason="needs the extra ann")


@pytest.fixture(autouse=True)
def large_from_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_cache, "EXACT_UP_TO", 1000)


def some_vectors(n: int, seed: int = 0) -> Vectors:
    """Vectors about a few subjects, as those of texts are."""
    rng = np.random.default_rng(seed)
    subjects = np.random.default_rng(99).normal(size=(30, N_DIMENSIONS))
    made = subjects[rng.integers(0, 30, n)] + 0.7 * rng.normal(size=(n, N_DIMENSIONS))
    return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), np.float32)


def made_cache(path: Path, pages: np.ndarray, vectors: Vectors) -> VectorCache:
    made = VectorCache(path, N_DIMENSIONS)
    made.add(zip(pages.tolist(), vectors, strict=True))
    return made


@pytest.fixture
def cache(tmp_path: Path) -> VectorCache:
    pages = np.random.default_rng(1).permutation(np.arange(5, 5 + 3 * N_PAGES, 3))
    return made_cache(tmp_path / "vectors-x.bin", pages, some_vectors(N_PAGES))


def recall(cache: VectorCache, queries: Vectors) -> float:
    shares = []
    for query in queries:
        found, products = cache.nearest(query, N_NEAR)
        exact, wanted = VectorCache(cache.path, N_DIMENSIONS).nearest(query, N_NEAR, up_to_page_id=10**9)
        assert (np.diff(products) <= 0).all()
        is_found = np.isin(exact, found)
        np.testing.assert_allclose(products[np.isin(found, exact)], wanted[is_found], rtol=1e-6)
        shares.append(is_found.mean())
    return float(np.mean(shares))


def test_nearly_all_of_the_nearest_are_found(cache: VectorCache) -> None:
    queries = some_vectors(20, 7) * 0.6
    assert recall(cache, queries) == 1.0  # no graph yet
    cache.index()
    assert cache.graph_path.is_file()
    assert cache._graph is not None
    assert 0.98 <= recall(cache, queries) <= 1.0


def test_the_same_vectors_give_the_same_answers(cache: VectorCache, tmp_path: Path) -> None:
    cache.index()
    (tmp_path / "again").mkdir()
    again = VectorCache(tmp_path / "again" / cache.path.name, N_DIMENSIONS)
    again.path.write_bytes(cache.path.read_bytes())
    again = VectorCache(again.path, N_DIMENSIONS)
    again.index()
    for query in some_vectors(5, 8):
        assert cache.nearest(query, 50)[0].tolist() == again.nearest(query, 50)[0].tolist()


def test_a_few_changes_change_the_graph(cache: VectorCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.index()
    known = cache._records.page_ids
    (tmp_path / "next").mkdir()
    after = VectorCache(tmp_path / "next" / cache.path.name, N_DIMENSIONS)
    after.take_over(cache, known[100:])
    after.add(zip(known[50:100].tolist(), some_vectors(50, 3), strict=True))  # other vectors
    after.add(zip(range(50_000, 50_080), some_vectors(80, 4), strict=True))  # new pages; the first fifty are gone
    monkeypatch.setattr(vector_cache, "write_graph", lambda *_: pytest.fail("made anew"))
    after.index(cache)
    assert after._graph is not None
    assert recall(after, some_vectors(20, 7)) >= 0.98
    new = after.nearest(some_vectors(80, 4)[3], 1)[0]
    assert new.tolist() == [50_003]
    assert cache._graph is not None
    assert len(cache._graph) == N_PAGES  # the earlier graph is as it was


def test_a_graph_of_other_vectors_is_not_used(cache: VectorCache) -> None:
    cache.index()
    cache.add([(1, some_vectors(1)[0])])
    assert cache._graph is None
    assert cache.nearest(some_vectors(1)[0], 1)[0].tolist() == [1]


def test_without_the_package_all_vectors_are_compared(cache: VectorCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vector_cache, "has_usearch", lambda: False)
    cache.index()
    assert not cache.graph_path.exists()
    assert recall(cache, some_vectors(5, 7)) == 1.0


def test_few_vectors_have_no_graph(tmp_path: Path) -> None:
    few = made_cache(tmp_path / "vectors-x.bin", np.arange(900), some_vectors(900))
    few.index()
    assert not few.graph_path.exists()


@pytest.mark.parametrize("content", [b"", b"usearch", bytes(5000)])
def test_a_damaged_graph_is_not_used(cache: VectorCache, content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    cache.index()
    cache.graph_path.write_bytes(content)
    again = VectorCache(cache.path, N_DIMENSIONS)
    assert recall(again, some_vectors(3, 7)) == 1.0
    again.index()
    assert again._graph is not None


def test_graphs_and_encoders_live_in_one_process(tmp_path: Path) -> None:
    """Loading onnxruntime after usearch alone ends the process."""
    pytest.importorskip("onnxruntime")
    code = """
from evenrank.retrieval.encode.vector_cache import index_type
index_type()(ndim=8, metric="cos", dtype="i8")
import onnxruntime
print(onnxruntime.get_available_providers())
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "CPU" in done.stdout
