"""A subject whose title names a region: pages of other regions that share its other words are not about it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import evenrank
from evenrank.io.faults import FaultLog
from evenrank.retrieval.engine.indexing import build_index
from evenrank.trec.import_files import ImportFiles, import_collection

SENTENCES = {
    "Brazil": ("Latin America and the Caribbean", "is a Brazilian football player, a footballer. He played in Brazil"),
    "Korea": ("Asia", "is a Korean football player, a footballer. He played in Seoul"),
    "Ghana": ("Africa", "is a Ghanaian football player, a footballer. She played in Accra"),
    "judge": ("Latin America and the Caribbean", "is a Brazilian judge. She studied law in Brazil"),
    "island": ("Latin America and the Caribbean", "is a Brazilian island. It is near the coast of Brazil"),
    "visitor": ("Asia", "is a Korean football player, a footballer. Once he went to Brazil"),
}
N_EACH = 30
FILLER = " ".join(["The season was long, and every week had its match."] * 60)


@pytest.fixture(scope="module")
def footballers(tmp_path_factory: pytest.TempPathFactory) -> evenrank.Collection:
    folder = tmp_path_factory.mktemp("footballers")
    metadata, corpus = [], []
    for at, (region, text) in enumerate(SENTENCES.values()):
        for page in range(at * N_EACH + 1, (at + 1) * N_EACH + 1):
            metadata.append(
                {"page_id": page, "quality_score": 0.1, "quality_score_disc": "Stub", "geographic_locations": [region]}
            )
            lead, _, rest = text.partition(". ")
            corpus.append(
                {"id": page, "title": f"Name {page}", "url": "", "text": f"Name {page} {lead}.\n\n{FILLER}\n\n{rest}."}
            )
    for name, records in (("metadata", metadata), ("corpus", corpus)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    files = ImportFiles(metadata=folder / "metadata.jsonl", corpus=folder / "corpus.jsonl")
    collection = import_collection(Path(folder) / "collection", files)
    build_index(collection, FaultLog(), n_threads=1).close()
    return collection


def kinds_listed(collection: evenrank.Collection, title: str, query: str) -> set[str]:
    ranked = evenrank.rank(collection, 1, query=query, title=title)
    pages = ranked.topics[0].page_ids.ravel().tolist()[: ranked.topics[0].n_on_subject]
    return {list(SENTENCES)[(page - 1) // N_EACH] for page in pages}


@pytest.mark.parametrize(
    ("title", "query", "wanted"),
    [
        ("Brazilian football", "Brazil, footballer", {"Brazil"}),
        ("Brazilian history", "Brazil, footballer", {"Brazil", "judge", "island"}),
        ("Brazilian people", "Brazilian, Brazil", {"Brazil", "judge", "island"}),
        ("Brazilian geography", "Brazil, island", {"island"}),
        ("Football", "footballer, football", {"Brazil", "Korea", "Ghana", "visitor"}),
    ],
)
def test_pages_of_other_regions_are_not_about_the_title(
    footballers: evenrank.Collection, title: str, query: str, wanted: set[str]
) -> None:
    assert kinds_listed(footballers, title, query) == wanted
