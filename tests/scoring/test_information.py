"""What it costs not to know an attribute: conditions as the systems see them, and the experiment as a whole."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import evenrank
from evenrank.cli.main import cli
from evenrank.core.groups import UNKNOWN_MASK
from evenrank.errors import EvenrankError
from evenrank.io.faults import FaultLog
from evenrank.retrieval.engine.indexing import build_index
from evenrank.scoring.information import conditions_of
from evenrank.trec.collection import Collection
from evenrank.trec.generate.generate import generate_collection
from evenrank.trec.generate.settings import GenerateSettings


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    settings = GenerateSettings(n_pages=1200, n_train_topics=2, n_eval_topics=1, seed=6)
    made = generate_collection(tmp_path_factory.mktemp("information") / "c", settings)
    build_index(made, FaultLog(), n_threads=1).close()
    return made


def test_conditions_change_the_hidden_dimension_alone(collection: Collection) -> None:
    truth = np.asarray(collection.masks["gender"])
    by_name = {one.name: one for one in conditions_of(collection, "gender", (0.3,), 1)}
    assert list(by_name) == ["known", "masked", "undisclosed 30%", "undisclosed 30%, rate known", "wrong 30%"]
    for condition in by_name.values():
        assert np.array_equal(condition.masks["geography"], collection.masks["geography"])
    with_holes, with_errors = (by_name[name].masks["gender"] for name in ("undisclosed 30%", "wrong 30%"))
    changed = with_holes != truth
    assert (with_holes[changed] == UNKNOWN_MASK).all()
    is_person = truth != UNKNOWN_MASK
    assert changed[is_person].mean() == pytest.approx(0.3, abs=0.1)
    assert sorted(with_errors.tolist()) == sorted(truth.tolist())
    assert (with_errors != truth).any()
    again = {one.name: one for one in conditions_of(collection, "gender", (0.3,), 1)}
    assert np.array_equal(again["wrong 30%"].masks["gender"], with_errors)


def test_what_is_not_known_costs_policies_that_use_it(collection: Collection) -> None:
    found = evenrank.information(collection, 2, policies=("optimal", evenrank.POLICIES["relevance"]), rates=(1.0,))
    rows = {(row["policy"], row["gender"]): row for row in found.rows()}
    assert rows["optimal", "known"]["cost"] == 0.0
    assert rows["optimal", "undisclosed 100%"]["EE-L"] != rows["optimal", "known"]["EE-L"]
    assert rows["optimal", "known"]["EE-L"] < rows["relevance", "known"]["EE-L"]
    assert found.n_topics == 1
    assert found.to_json()["rows"] == found.rows()
    assert "2 policies, 4 conditions, 1 topics" in repr(found)


def test_the_command_prints_the_same_in_every_format(collection: Collection) -> None:
    arguments = ["information", str(collection.path), "--task", "1", "--policy", "relevance", "--rate", "0.5"]
    as_json = CliRunner().invoke(cli, [*arguments, "--format", "json"])
    as_tsv = CliRunner().invoke(cli, [*arguments, "--format", "tsv"])
    assert as_json.exit_code == as_tsv.exit_code == 0
    assert "-0.0," not in as_json.stdout.replace("\n", ",")  # the cost of what is known is 0, not −0
    rows = json.loads(as_json.stdout)["rows"]
    lines = [line.split("\t") for line in as_tsv.stdout.splitlines()]
    assert lines[0] == ["policy", "gender", "Score", "nDCG", "cost", "low", "high", "clear"]
    assert [line[:2] for line in lines[1:]] == [[row["policy"], row["gender"]] for row in rows]
    assert lines[1][2] == f"{rows[0]['Score']:.4f}"
    for row in rows:
        assert row["low"] <= row["cost"] <= row["high"]
    assert not any(row["clear"] for row in rows)
    assert "1 topic is too few" in as_tsv.stderr


def test_faults_are_reported_together(collection: Collection, tmp_path: Path) -> None:
    with pytest.raises(EvenrankError) as raised:
        evenrank.information(collection, 2, hidden="age", policies=("optimal", "mmr", "none"), rates=(0.0, 1.5))
    text = str(raised.value)
    for part in ("hidden is 'age'", "rate is 0,", "rate is 1.5,", "mmr", "none"):
        assert part in text
