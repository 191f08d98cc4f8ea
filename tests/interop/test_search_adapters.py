from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from evenrank.errors import EvenrankError
from evenrank.interop.ir_datasets_reader import CollectionDataset
from evenrank.interop.pyterrier_transformer import EvenrankRetrieve
from evenrank.retrieval.relevance import LexicalModel
from evenrank.trec.collection import Collection
from evenrank.trec.generate.generate import generate_collection
from evenrank.trec.generate.settings import GenerateSettings
from tests.retrieval.conftest import MakeEngine, page


def test_retrieve_gives_a_frame_of_results(make_engine: MakeEngine) -> None:
    engine = make_engine([page(1, "A", "horse horse"), page(2, "B", "a horse in a field"), page(3, "C", "cow")])
    retrieve = EvenrankRetrieve(LexicalModel(engine), n_pages=5)
    queries = pd.DataFrame([{"qid": "7", "query": "horse"}, {"qid": "8", "query": "zebra"}])
    results = retrieve.transform(queries)
    assert list(results.columns) == ["qid", "query", "docno", "score", "rank", "probability"]
    assert results[["qid", "docno", "rank"]].values.tolist() == [["7", "1", 0], ["7", "2", 1]]
    titled = pd.DataFrame([{"qid": 1, "query": "x", "title": "Cow", "keywords": "cow,milk"}])
    assert retrieve.transform(titled)["docno"].tolist() == ["3"]
    assert len(retrieve.transform(queries[:0])) == 0
    holes = pd.DataFrame([{"qid": 1, "query": "horse", "title": float("nan"), "keywords": float("nan")}])
    assert retrieve.transform(holes)["docno"].tolist() == ["1", "2"]


def test_frames_that_are_no_queries_are_refused(make_engine: MakeEngine) -> None:
    retrieve = EvenrankRetrieve(LexicalModel(make_engine([page(1, "A", "horse")])))
    with pytest.raises(EvenrankError, match="qid, and query or title"):
        retrieve.transform(pd.DataFrame([{"qid": "1", "text": "horse"}]))
    results = retrieve.transform(pd.DataFrame([{"qid": "1", "query": "horse"}]))
    with pytest.raises(EvenrankError, match="a frame of results"):
        retrieve.transform(results)
    assert repr(retrieve) == "EvenrankRetrieve(LexicalModel, n_pages=1000)"


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    folder: Path = tmp_path_factory.mktemp("generated")
    return generate_collection(folder, GenerateSettings(n_pages=200, n_train_topics=2, n_eval_topics=2))


def test_a_collection_reads_like_ir_datasets(collection: Collection) -> None:
    dataset = CollectionDataset(collection, "train")
    documents = list(dataset.docs_iter())
    assert len(documents) == 200
    assert documents[0].doc_id.isdigit()
    queries = list(dataset.queries_iter())
    assert [query.query_id for query in queries] == [str(topic.id) for topic in dataset.topics]
    assert queries[0].title in queries[0].default_text()
    qrels = list(dataset.qrels_iter())
    assert {qrel.relevance for qrel in qrels} == {1}
    assert len(qrels) == sum(len(topic.rel_docs) for topic in dataset.topics)
    judged = list(CollectionDataset(collection, "eval").qrels_iter())
    assert {qrel.relevance for qrel in judged} <= {0, 1}
