"""The adapters inside the real packages PyTerrier, ir_datasets and ir_measures, where those are installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evenrank.interop.ir_datasets_reader import CollectionDataset
from evenrank.interop.pyterrier_transformer import EvenrankRetrieve
from evenrank.io.faults import FaultLog
from evenrank.retrieval.engine.indexing import build_index
from evenrank.retrieval.relevance import LexicalModel
from evenrank.trec.collection import Collection
from evenrank.trec.generate.generate import generate_collection
from evenrank.trec.generate.settings import GenerateSettings


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    folder: Path = tmp_path_factory.mktemp("generated")
    return generate_collection(folder, GenerateSettings(n_pages=300, n_train_topics=3, n_eval_topics=2))


@pytest.fixture(scope="module")
def retrieve(collection: Collection) -> EvenrankRetrieve:
    return EvenrankRetrieve(LexicalModel(build_index(collection, FaultLog(), n_threads=1)), n_pages=50)


@pytest.fixture(scope="module")
def pt() -> Any:
    return pytest.importorskip("pyterrier", reason="PyTerrier (pip install python-terrier) is not installed")


@pytest.fixture(scope="module")
def dataset(collection: Collection) -> Any:
    package = pytest.importorskip("ir_datasets", reason="the package ir_datasets is not installed")
    return package.Dataset(CollectionDataset(collection, "train"))


@pytest.fixture(scope="module")
def topics(collection: Collection) -> pd.DataFrame:
    queries = CollectionDataset(collection, "train").queries_iter()
    return pd.DataFrame(
        [{"qid": q.query_id, "query": q.title, "title": q.title, "keywords": q.keywords} for q in queries]
    )


@pytest.fixture(scope="module")
def qrels(collection: Collection) -> pd.DataFrame:
    rows = CollectionDataset(collection, "train").qrels_iter()
    return pd.DataFrame([{"qid": q.query_id, "docno": q.doc_id, "label": q.relevance} for q in rows])


def test_pyterrier_pipelines(pt: Any, retrieve: EvenrankRetrieve, topics: pd.DataFrame) -> None:
    alone = retrieve.transform(topics)
    assert isinstance(retrieve, pt.Transformer)
    pd.testing.assert_frame_equal(retrieve(topics), alone)
    assert list(alone.columns) == ["qid", "query", "title", "keywords", "docno", "score", "rank", "probability"]
    head = (retrieve % 10)(topics)
    assert head["docno"].tolist() == alone[alone["rank"] < 10]["docno"].tolist()
    doubled = (retrieve + retrieve)(topics).merge(alone, on=["qid", "docno"])
    assert (doubled["score_x"] == 2 * doubled["score_y"]).all()
    assert (doubled["rank_x"] == doubled["rank_y"]).all()
    turned = (retrieve >> pt.apply.doc_score(lambda row: -row["score"]))(topics)
    assert turned.groupby("qid")["score"].max().to_dict() == (-alone.groupby("qid")["score"].min()).to_dict()
    assert len(turned) == len(alone)
    assert retrieve.search(topics["query"][0])["qid"].unique().tolist() == ["1"]
    assert not pt.java.started()


def test_pyterrier_knows_the_columns(pt: Any, retrieve: EvenrankRetrieve) -> None:
    assert pt.inspect.transformer_inputs(retrieve) == [["qid", "query"], ["qid", "title"]]
    found = pt.inspect.transformer_outputs(retrieve >> pt.apply.doc_score(len), ["qid", "query"])
    assert {"qid", "query", "docno", "score", "rank"} <= set(found)


def test_a_pyterrier_experiment(pt: Any, retrieve: EvenrankRetrieve, topics: pd.DataFrame, qrels: pd.DataFrame) -> None:
    from ir_measures import P, nDCG

    systems = [retrieve, retrieve % 5]
    table = pt.Experiment(systems, topics, qrels, [nDCG @ 10, P @ 5, "map"], names=["all", "five"]).set_index("name")
    assert table["P@5"]["all"] == table["P@5"]["five"] > 0.3
    assert table["nDCG@10"]["all"] > table["nDCG@10"]["five"]


def test_a_collection_is_an_ir_dataset(dataset: Any, collection: Collection) -> None:
    assert (dataset.has_docs(), dataset.has_queries(), dataset.has_qrels(), dataset.has_scoreddocs()) == (1, 1, 1, 0)
    assert "docs" in repr(dataset)
    assert len(dataset.docs) == len(list(dataset.docs)) == 300
    assert len(dataset.queries) == 3
    topic = next(topic for topic in collection.topics if topic.split == "train")
    assert dataset.queries.lookup(str(topic.id)).title == topic.title
    assert set(dataset.qrels.asdict()[str(topic.id)]) == set(map(str, topic.rel_docs.tolist()))
    assert dataset.qrels.defs[1] == "belongs to the topic"


def test_ir_measures_takes_the_qrels(dataset: Any, retrieve: EvenrankRetrieve, topics: pd.DataFrame) -> None:
    ir_measures = pytest.importorskip("ir_measures", reason="the package ir_measures is not installed")
    found = retrieve.transform(topics).rename(columns={"qid": "query_id", "docno": "doc_id"})
    scores = ir_measures.calc_aggregate([ir_measures.P @ 5], dataset.qrels_iter(), found)
    assert scores[ir_measures.P @ 5] > 0.3


def test_pyterrier_reads_the_registered_dataset(pt: Any, dataset: Any, retrieve: EvenrankRetrieve) -> None:
    import ir_datasets

    ir_datasets.registry.register("evenrank-test", dataset)
    taken = pt.get_dataset("irds:evenrank-test")
    assert len(taken.get_qrels()) == sum(map(len, dataset.qrels.asdict().values()))
    assert next(iter(taken.get_corpus_iter(verbose=False)))["docno"].isdigit()
    found = retrieve(taken.get_topics())
    assert set(found["qid"]) == set(taken.get_topics()["qid"])
    assert found["query"].tolist() == found["title"].tolist()
