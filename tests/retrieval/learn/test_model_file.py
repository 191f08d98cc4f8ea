"""A model file that was edited, cut or put together by hand is refused with the place of the fault."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import orjson
import pytest
from numpy.typing import NDArray

from evenrank.core.settings import check_value
from evenrank.errors import EvenrankError
from evenrank.retrieval.features import FeatureExtractor
from evenrank.retrieval.learn.cross_validation import LearningSettings
from evenrank.retrieval.learn.learned_model import load, save
from evenrank.retrieval.learn.training import TrainingExample, train
from evenrank.retrieval.relevance import LexicalModel

Edit = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a small model."""
    path = tmp_path_factory.mktemp("model") / "model.json"
    rows = np.linspace(0.0, 1.0, 60)
    features = {"words": rows, "filed": rows % 0.1, "people": np.zeros(60)}
    examples = [
        TrainingExample(topic, True, rows[::-1], features, features, rows > 0.7, int((rows > 0.7).sum()))
        for topic in range(2)
    ]
    save(train(examples, FeatureExtractor(LexicalModel(None)), LearningSettings()).state, path)  # type: ignore[arg-type]
    return path.read_bytes()


def line(record: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = record["cross_fit"]["folds"][1]["line"]
    return found


DAMAGES: list[tuple[Edit, str]] = [
    (lambda r: r.update(n_pages="x"), r"n_pages is 'x', not a whole number"),
    (lambda r: r.update(n_pages=None), r"n_pages is None"),
    (lambda r: r.update(n_pages=True), r"n_pages is True"),
    (lambda r: r.update(n_pages=0), r"at least 1"),
    (lambda r: r["count"].update(residuals=[]), r"count: residuals must be there"),
    (lambda r: r["count"].update(residuals=[2.0, 1.0]), r"count: residuals must be there, and rise"),
    (lambda r: r.update(cross_encoder="f00"), r"a cross-encoder without an encoder"),
    (lambda r: r.update(encoder={"settings": {"path": 3}, "fingerprint": "x"}), r"encoder\.settings has no pooling"),
    (lambda r: r.update(cross_fit=[]), r"cross_fit is \[\], not an object"),
    (lambda r: r.pop("plain"), r"the record has no plain"),
    (lambda r: r["settings"].update(extra=1), r"settings has an unknown extra"),
    (lambda r: r["settings"].update(ridge="much"), r"settings\.ridge is 'much', not a finite number"),
    (lambda r: r["cross_fit"].update(folds=[]), r"cross_fit: no folds"),
    (lambda r: r["cross_fit"]["folds"][0].update(held_out="12"), r"folds\[0\]\.held_out is '12', not a list"),
    (lambda r: line(r)["feature_names"].append(3), r"folds\[1\]\.line\.feature_names\[3\] is 3, not text"),
    (lambda r: line(r)["feature_names"].pop(), r"fold 1: 2 features and 3 slopes"),
    (lambda r: line(r)["slopes"].pop(), r"fold 1: 3 features and 2 slopes"),
    (lambda r: line(r).update(intercept=None), r"line\.intercept is None, not a finite number"),
    (lambda r: line(r).update(feature_names=["words", "topic_vector", "x"]), r"vectors without an encoder"),
    (lambda r: r["calibration"].update(coefficients=[1.0]), r"calibration: 1 coefficients, not 2"),
    (lambda r: r["calibration"].update(prior=7.0), r"calibration: a prior of 7"),
    (lambda r: r["calibration"]["knots"].pop(), r"calibration: \d knots and \d values"),
    (lambda r: r["calibration"]["knots"].reverse(), r"calibration: knots and values must rise"),
]


@pytest.mark.parametrize(("edit", "message"), DAMAGES)
def test_the_fault_of_a_damaged_model_is_named(tmp_path: Path, model: bytes, edit: Edit, message: str) -> None:
    record = orjson.loads(model)
    edit(record)
    path = tmp_path / "model.json"
    path.write_bytes(orjson.dumps(record))
    with pytest.raises(EvenrankError, match=rf"model\.json: not a relevance model: damaged: .*{message}"):
        load(path)


def test_a_whole_model_is_taken_and_half_of_it_is_not(tmp_path: Path, model: bytes) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(model)
    assert len(load(path).cross_fit.folds) == 2
    path.write_bytes(model[: len(model) // 2])
    with pytest.raises(EvenrankError, match="no JSON"):
        load(path)


def test_a_value_that_could_be_right_is_found_by_the_checksum(tmp_path: Path, model: bytes) -> None:
    record = orjson.loads(model)
    record["calibration"]["prior"] *= 1.01
    path = tmp_path / "model.json"
    path.write_bytes(orjson.dumps(record))
    with pytest.raises(EvenrankError, match="damaged: its checksum does not match"):
        load(path)


@dataclass(frozen=True)
class Parts:
    kind: Literal["a", "b"]
    numbers: NDArray[np.float64]
    names: tuple[str, ...]
    inner: LearningSettings | None
    share: float


def test_plain_data_becomes_what_the_fields_say() -> None:
    plain = {"kind": "a", "numbers": [1, 2.5], "names": ["x"], "inner": None, "share": 1}
    parts = check_value(plain, Parts)
    assert (parts.kind, parts.names, parts.inner, parts.share) == ("a", ("x",), None, 1.0)
    assert parts.numbers.tolist() == [1.0, 2.5]
    assert isinstance(parts.share, float)
    with pytest.raises(ValueError, match=r"numbers\[1\] is nan, not a finite number"):
        check_value(plain | {"numbers": [1.0, float("nan")]}, Parts)
    with pytest.raises(ValueError, match=r"kind is \[\], not one of a, b"):
        check_value(plain | {"kind": []}, Parts)


def test_a_model_of_an_earlier_format_is_refused_as_such(tmp_path: Path, model: bytes) -> None:
    """Before format 8 the corners of the calibration were not among its settings."""
    record = orjson.loads(model)
    record["format_version"] = 7
    del record["calibration"]["settings"]["corners"]
    path = tmp_path / "model.json"
    path.write_bytes(orjson.dumps(record))
    with pytest.raises(EvenrankError, match=r"model format 7, this version reads 11 \(run: evenrank learn\)"):
        load(path)


def test_the_fuzzer_starts_from_a_model_of_the_present_format() -> None:
    load(Path(__file__).parents[2] / "robustness" / "corpus" / "model" / "seed-1")
