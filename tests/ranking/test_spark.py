"""Topics ranked, and pages prepared for an index, on a real Spark cluster: the same results as on this machine."""

from __future__ import annotations

import pickle
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from evenrank.errors import EvenrankError
from evenrank.io.articles import map_articles, open_articles
from evenrank.io.faults import FaultLog
from evenrank.ranking import job
from evenrank.ranking.rank import rank
from evenrank.retrieval.engine.indexing import build_index, page_fields, prepare_pages
from evenrank.retrieval.engine.protocol import IndexLayout, WeightedTerm
from evenrank.spark import map_on_spark
from evenrank.trec.collection import Collection
from evenrank.trec.generate.generate import generate_collection
from evenrank.trec.generate.settings import GenerateSettings
from tests.desk_collections import shared_generated

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return shared_generated(tmp_path_factory)


@pytest.mark.slow
def test_topics_are_ranked_the_same_by_executors(generated: Collection, spark_session: Any, tmp_path: Path) -> None:
    for name, session in (("here", None), ("there", spark_session)):
        ranked = rank(generated, 2, "plackett-luce", topics="all", seed=3, workers=1, command=["rank"], spark=session)
        ranked.write(tmp_path / f"{name}.tsv")
    assert len(ranked.topics) == 6
    for ending in ("tsv", "tsv.json"):
        assert (tmp_path / f"there.{ending}").read_bytes() == (tmp_path / f"here.{ending}").read_bytes()


def test_executors_find_a_collection_with_a_relative_path(
    generated: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def map_elsewhere(_: Any, function: Any, batches: Any) -> Any:
        """What executors do, in a folder of their own."""
        for packed in [pickle.dumps(batch) for batch in batches]:
            with monkeypatch.context() as there:
                there.chdir(tmp_path)
                yield function(pickle.loads(packed))

    monkeypatch.setattr(job, "map_on_spark", map_elsewhere)
    monkeypatch.chdir(generated.path.parent)
    collection = Collection.open(Path(generated.path.name))
    assert not collection.path.is_absolute()
    cluster: Any = object()
    there = rank(collection, 1, "relevance", topics="all", seed=3, command=["rank"], spark=cluster)
    here = rank(generated, 1, "relevance", topics="all", seed=3, command=["rank"])
    assert [one.page_ids.tolist() for one in there.topics] == [one.page_ids.tolist() for one in here.topics]


@pytest.mark.slow
def test_pages_are_prepared_the_same_by_executors(generated: Collection, spark_session: Any) -> None:
    assert generated.corpus is not None
    version = (generated.path, generated.manifest)
    prepare = partial(prepare_pages, fields=page_fields, layout=IndexLayout(), version=version)
    source = open_articles(generated.corpus)
    found = [
        list(map_articles(prepare, source, FaultLog(), n_workers=1, size=1 << 18, spark=session))
        for session in (None, spark_session)
    ]
    assert found[0] == found[1]
    assert len(found[0]) > 2
    assert sum(batch.result.n_pages for batch in found[0]) == len(generated)


@pytest.mark.slow
def test_errors_of_executors_are_ours(spark_session: Any) -> None:
    with pytest.raises(EvenrankError, match="no-such-folder"):
        list(map_on_spark(spark_session, Collection.open, [Path("/no-such-folder")]))


def test_an_index_on_this_machine_is_not_built_by_spark(tmp_path: Path) -> None:
    other = generate_collection(tmp_path / "other", GenerateSettings(n_pages=300, n_train_topics=2, n_eval_topics=2))
    with pytest.raises(EvenrankError, match="--engine"):
        build_index(other, spark=object())  # type: ignore[arg-type]


CONNECT = """
from evenrank.errors import EvenrankError
from evenrank.spark import start_spark
try:
    start_spark(remote="sc://127.0.0.1:9")
except EvenrankError as error:
    print(error)
"""


def test_spark_connect_says_what_it_needs(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")
    if find_spec("grpc_status"):
        pytest.skip("the packages of Spark Connect are installed")
    script = tmp_path / "connect.py"  # a process whose main module is no file is taken for a doctest, and ends
    script.write_text(CONNECT)
    said = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True).stdout
    assert "pip install 'pyspark[connect]'" in said


@pytest.mark.long
@pytest.mark.timeout(900)
def test_an_index_on_opensearch_is_loaded_through_executors(spark_session: Any, tmp_path: Path) -> None:
    """On live clusters: the same answers as an index that this machine loads, and as tantivy's."""
    from tests.retrieval.engine.cluster import opensearch_address

    settings = GenerateSettings(n_pages=900, n_train_topics=2, n_eval_topics=2)
    generate_collection(tmp_path / "wiki", settings)
    address, answers = opensearch_address(), []
    for engine, session in (
        ("tantivy", None),
        (f"{address}/spark-here", None),
        (f"{address}/spark-there", spark_session),
    ):
        index = build_index(tmp_path / "wiki", engine=engine, commit_every=300, spark=session)
        terms = [WeightedTerm("text", (word,)) for word in index.analyse("text", "history of the river harvest")]
        answers.append((index.page_ids().tolist(), index.search(terms, 300)))
        index.close()
    (pages, ours), (pages_here, here), (pages_there, there) = answers
    assert len(pages) == 900
    assert pages == pages_here == pages_there
    assert len(ours.page_ids) > 50
    assert ours.page_ids.tolist() == here.page_ids.tolist() == there.page_ids.tolist()
    assert here.scores.tolist() == there.scores.tolist()
    assert there.scores == pytest.approx(ours.scores, rel=1e-4)
