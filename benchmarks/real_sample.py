"""The real articles and training topics of `../shared/data/wikipedia-sample`, for benchmarks; not part of it."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.core.groups import UNKNOWN_MASK
from evenrank.core.records import Topic
from evenrank.io.articles import read_articles
from evenrank.io.faults import FaultLog
from evenrank.retrieval.engine.indexing import page_fields
from evenrank.retrieval.engine.protocol import IndexPage
from evenrank.retrieval.engine.tantivy_engine import TantivyEngine
from evenrank.trec.import_files import ImportFiles, import_collection

SAMPLE = Path(__file__).resolve().parents[2] / "shared" / "data" / "wikipedia-sample"


@dataclass(frozen=True)
class JudgedTopic:
    """A topic whose judgments are complete up to a page id."""

    topic: Topic
    up_to_page_id: int
    relevant: NDArray[np.int32]
    """Relevant pages that are in the corpus and in the window."""


def has_sample() -> bool:
    return (SAMPLE / "corpus.jsonl.gz").exists()


def load_topics(page_ids: set[int]) -> list[JudgedTopic]:
    """The 57 training topics."""
    found = []
    for line in (SAMPLE / "topics-2021-train.jsonl").read_bytes().splitlines():
        record = orjson.loads(line)
        relevant = np.array([page for page in record["rel_docs"] if page in page_ids], np.int32)
        topic = Topic(record["id"], record["title"], tuple(record["keywords"]), record["scope"], rel_docs=relevant)
        found.append(JudgedTopic(topic, record["judged_up_to_page_id"], relevant))
    return found


def load_articles() -> list[IndexPage]:
    """All articles as pages of an index."""
    articles = tuple(read_articles(SAMPLE / "corpus.jsonl.gz", FaultLog()))
    return [IndexPage(*fields) for fields in page_fields(articles)]


def with_groups(pages: list[IndexPage]) -> list[IndexPage]:
    """The pages with the groups that the metadata of the sample give them."""
    with tempfile.TemporaryDirectory() as folder:
        collection = import_collection(Path(folder) / "sample", ImportFiles(SAMPLE / "metadata.jsonl.gz"))
        rows = collection.rows_of(np.array([page.page_id for page in pages], np.int64))
        space = collection.space("intersection")
        masks = [column.tolist() for column in collection.masks_of(rows, space, UNKNOWN_MASK)]
    return [
        page._replace(masks={"geography": place, "gender": gender})
        for page, place, gender in zip(pages, *masks, strict=True)
    ]


def cache_folder() -> Path:
    """Where benchmarks keep what is slow to make: outside the project, one folder for each corpus."""
    mark = hashlib.sha256(str((SAMPLE / "corpus.jsonl.gz").stat().st_size).encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"evenrank-benchmarks-{mark}"
    folder.mkdir(exist_ok=True)
    return folder


def sample_engine(pages: list[IndexPage]) -> TantivyEngine:
    """An index of the articles, in a folder that lives as long as the process."""
    engine = TantivyEngine.create(Path(tempfile.mkdtemp(prefix="evenrank-sample-")) / "index")
    engine.add(pages)
    engine.commit()
    engine.close()
    engine.refresh()
    return engine
