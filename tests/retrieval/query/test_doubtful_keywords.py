"""Keywords that fit neither the title nor the other keywords count half."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evenrank.core.records import Topic
from evenrank.retrieval.engine.tantivy_engine import TantivyEngine
from evenrank.retrieval.query.topic_query import QuerySettings, topic_words
from evenrank.retrieval.relevance import LexicalModel, SearchSettings
from tests.retrieval.conftest import page

KEYWORDS = ("volcano", "lava", "eruption", "jacobite")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TantivyEngine]:
    about = "In geology a volcano is known for its lava and for each eruption."
    texts = [about] * 120 + ["A jacobite fought in Scotland."] * 20 + ["A piano has keys."] * 1500
    made = TantivyEngine.create(tmp_path_factory.mktemp("doubtful") / "index", n_threads=1)
    made.add(page(number, f"P{number}", text) for number, text in enumerate(texts, 1))
    made.commit()
    yield made
    made.close()


def doubtful(engine: TantivyEngine, title: str, *keywords: str) -> tuple[str, ...]:
    return LexicalModel(engine).doubtful_keywords(Topic(0, title, keywords))


def test_a_stray_keyword_is_in_doubt(engine: TantivyEngine) -> None:
    assert doubtful(engine, "Geology", *KEYWORDS) == ("jacobite",)
    assert doubtful(engine, "Geology", *KEYWORDS, "unheard") == ("jacobite",)  # which is in no page


def test_none_is_in_doubt_where_nothing_tells(engine: TantivyEngine) -> None:
    assert doubtful(engine, "Geology", *KEYWORDS[1:]) == ()  # too few keywords
    assert doubtful(engine, "", *KEYWORDS) == ()
    assert doubtful(engine, "Unheard", *KEYWORDS) == ()  # the title finds nothing
    kept = LexicalModel(engine, SearchSettings(QuerySettings(doubtful_share=1.0)))
    assert kept.doubtful_keywords(Topic(0, "Geology", KEYWORDS)) == ()


def test_it_counts_half(engine: TantivyEngine) -> None:
    topic = Topic(0, "Geology", KEYWORDS)
    words = topic_words(topic, doubtful=("jacobite",)).weights
    assert words == {**topic_words(topic).weights, "jacobite": 0.5}
    weights = {str(term): term.weight for term in LexicalModel(engine).own_terms(topic)}
    (of_lava,) = (weight for name, weight in weights.items() if name.startswith("text:lava"))
    (of_jacobite,) = (weight for name, weight in weights.items() if name.startswith("text:jacobit"))
    assert of_jacobite == 0.5 * of_lava
