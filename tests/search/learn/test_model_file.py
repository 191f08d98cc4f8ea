"""A model file that was edited, cut or put together by hand is refused with the place of the fault."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import orjson
import pytest
from numpy.typing import NDArray

from evenrank.errors import EvenrankError
from evenrank.search.learn.model_file import load, save
from evenrank.search.learn.training import Example, train
from evenrank.search.learn.training_data import LearningSettings
from evenrank.search.learn.tree_text import n_features_of
from evenrank.search.learn.trees import Trees
from evenrank.settings import check_value

pytest.importorskip("lightgbm")
Edit = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a small model."""
    path = tmp_path_factory.mktemp("model") / "model.json"
    rows = np.linspace(0.0, 1.0, 60)
    examples = [
        Example(topic, rows[::-1], {"words": rows, "is_list": rows % 0.1}, rows > 0.7, int((rows > 0.7).sum()))
        for topic in range(2)
    ]
    save(train(examples, LearningSettings(n_trees=3, n_models=1, n_pages_in_leaf=5)), path)
    return path.read_bytes()


def ranker(record: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = record["cross_fit"]["folds"][1]["ranker"]
    return found


def edit_trees(pattern: str, new: str) -> Edit:
    """Replace the first match in the first text of trees, and correct the announced size of the tree."""

    def edit(record: dict[str, Any]) -> None:
        trees = ranker(record)["trees"]
        text = trees["texts"][0]
        edited, n_made = re.subn(pattern, new, text, count=1, flags=re.MULTILINE)
        assert n_made == 1, pattern
        first = int(re.search(r"tree_sizes=(\d+)", text)[1])
        if re.search(pattern, text, re.MULTILINE).start() > text.index("Tree=0"):
            edited = edited.replace(f"tree_sizes={first}", f"tree_sizes={first + len(edited) - len(text)}", 1)
        trees["texts"] = [edited]

    return edit


def cut_trees(record: dict[str, Any]) -> None:
    trees = ranker(record)["trees"]
    trees["texts"] = [trees["texts"][0][:1500]]


DAMAGES: list[tuple[Edit, str]] = [
    (lambda r: r.update(n_pages="x"), r"n_pages is 'x', not a whole number"),
    (lambda r: r.update(n_pages=None), r"n_pages is None"),
    (lambda r: r.update(n_pages=True), r"n_pages is True"),
    (lambda r: r.update(n_pages=0), r"at least 1"),
    (lambda r: r.update(n_rescored=10), r"only some of n_rescored, rest and encoder"),
    (lambda r: r.update(cross_encoder="f00"), r"a cross-encoder without an encoder"),
    (lambda r: r.update(encoder={"settings": {"path": 3}, "fingerprint": "x"}), r"encoder\.settings has no pooling"),
    (lambda r: r.update(cross_fit=[]), r"cross_fit is \[\], not an object"),
    (lambda r: r.pop("rest"), r"the record has no rest"),
    (lambda r: r["settings"].update(extra=1), r"settings has an unknown extra"),
    (lambda r: r["settings"].update(objective="luck"), r"settings\.objective is 'luck', not one of binary, lambdarank"),
    (lambda r: r["cross_fit"].update(folds=[]), r"cross_fit: no folds"),
    (lambda r: r["cross_fit"]["folds"][0].update(held_out="12"), r"folds\[0\]\.held_out is '12', not a list"),
    (lambda r: ranker(r)["feature_names"].append(3), r"folds\[1\]\.ranker\.feature_names\[2\] is 3, not text"),
    (lambda r: ranker(r)["feature_names"].pop(), r"fold 1: 1 features, 2 means and 2 slopes; .*trees of \[2\]"),
    (lambda r: ranker(r)["line"]["slopes"].pop(), r"fold 1: 2 features, 2 means and 1 slopes"),
    (lambda r: ranker(r)["line"].update(intercept=None), r"line\.intercept is None, not a finite number"),
    (lambda r: ranker(r).update(line_weight=-1), r"fold 1: line_weight is -1"),
    (lambda r: ranker(r)["trees"].update(texts=[]), r"fold 1: 2 features, and trees of none"),
    (lambda r: ranker(r)["trees"].update(texts=["tree"]), r"fold 1: the text of the trees is cut off"),
    (edit_trees(r"^left_child=\S+", "left_child=99999"), r"tree 0: a child that is out of range"),
    (edit_trees(r"^left_child=\S+", "left_child=0"), r"tree 0: a child that"),
    (edit_trees(r"^left_child=\S+", "left_child=-99999"), r"tree 0: a child that is out of range"),
    (edit_trees(r"^decision_type=\S+", "decision_type=77"), r"tree 0: a split of an unknown decision_type"),
    (edit_trees(r"^decision_type=\S+", "decision_type=1"), r"tree 0: a split of an unknown decision_type"),
    (edit_trees(r"^split_feature=\S+", "split_feature=2"), r"tree 0: a split by a feature that is none of 2"),
    (edit_trees(r"^leaf_value=\S+", "leaf_value=nan"), r"tree 0: leaf_value has the value 'nan'"),
    (edit_trees(r"^leaf_value=\S+", "leaf_value=1e999"), r"tree 0: leaf_value has the value '1e999'"),
    (edit_trees(r"^leaf_value=\S+ ", "leaf_value="), r"tree 0: \d values of leaf_value, not \d"),
    (edit_trees(r"^threshold=\S+", "threshold=inf"), r"tree 0: threshold has the value 'inf'"),
    (edit_trees(r"^num_leaves=\d+", "num_leaves=99999999"), r"tree 0: num_leaves is 99999999"),
    (edit_trees(r"^num_cat=0", "num_cat=1"), r"tree 0: not a numbered tree"),
    (edit_trees(r"^is_linear=0", "is_linear=1"), r"tree 0: not a numbered tree"),
    (edit_trees(r"^num_class=1", "num_class=9"), r"num_class is '9', not 1"),
    (edit_trees(r"^max_feature_idx=1", "max_feature_idx=9999999"), r"2 feature_names, not 10000000"),
    (edit_trees(r"^objective=\S+", "objective=luck"), r"objective is 'luck"),
    (cut_trees, r"fold 1: the text of the trees is cut off"),
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
    del record["checksum"]
    record["format_version"] = 3
    path.write_bytes(orjson.dumps(record))
    assert load(path).calibration.prior == record["calibration"]["prior"]


def test_checked_trees_score_as_lightgbm_does_with_the_complete_text() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(5)
    table, noise = rng.random((400, 3)), rng.random(400)
    labels = (table[:, 0] + noise > 1.0).astype(int)
    for objective in ("binary", "lambdarank"):
        data = lightgbm.Dataset(table, labels, group=[400] if objective == "lambdarank" else None)
        text = lightgbm.train({"objective": objective, "verbose": -1, "seed": 1}, data, 20).model_to_string()
        assert n_features_of(text) == 3
        whole = lightgbm.Booster(model_str=text).predict(table, raw_score=True)
        assert np.array_equal(Trees((text,)).scores(table), whole)


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
