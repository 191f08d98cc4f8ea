"""Notes on settings that do not do what one may expect of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenrank
from evenrank.trec.collection import Collection
from evenrank.trec.generate.generate import generate_collection
from evenrank.trec.generate.settings import GenerateSettings


def notes(collection: Collection, run: Path, policy: str, task: Any = 1, **given: Any) -> str:
    target = given.pop("target", "equal")
    ranked = evenrank.rank(
        collection, task, policy, candidates=run, topics=[101], target=target, settings=given, workers=1
    )
    return "\n".join(ranked.notes)


def test_scored_takes_nothing_away_from_the_target(golden_collection: Collection, golden_runs: list[Path]) -> None:
    told = notes(golden_collection, golden_runs[0], "deficit", scored="gender")
    assert (
        "scored=gender does not leave geography out of the target, which is over what the system knows: "
        "geography and gender (to leave it out: --set information=gender)" in told
    )


@pytest.mark.parametrize(
    "policy, task, is_used",
    [("deficit", 1, False), ("optimal", 1, False), ("inferred", 1, True), ("optimal", 2, True), ("deficit", 2, False)],
)
def test_what_is_inferred_must_be_used(
    policy: str, task: int, is_used: bool, golden_collection: Collection, golden_runs: list[Path]
) -> None:
    given = {"information": "geography", "scored": "geography,gender"}
    told = notes(golden_collection, golden_runs[0], policy, task, **given)
    assert ("scored=geography,gender has no effect: what is inferred of gender" in told) is not is_used


@pytest.mark.parametrize("given", [{}, {"information": "gender", "scored": "gender"}, {"scored": "geography,gender"}])
def test_lists_that_agree_are_not_noted(
    given: dict[str, str], golden_collection: Collection, golden_runs: list[Path]
) -> None:
    assert "scored" not in notes(golden_collection, golden_runs[0], "deficit", **given)


def test_shares_of_a_table_outside_of_a_restriction(
    golden_collection: Collection, golden_runs: list[Path], tmp_path: Path
) -> None:
    table = tmp_path / "t.csv"
    table.write_text("Africa,0.4\nAsia,0.6\n")
    run = golden_runs[0]
    told = notes(golden_collection, run, "deficit", target=table, within="geography=Africa")
    assert "t.csv gives 60% to groups that within=geography=Africa leaves out (Asia 60%)" in told
    within = "geography=Africa,geography=Asia"
    assert "leaves out" not in notes(golden_collection, run, "deficit", target=table, within=within)
    assert "leaves out" not in notes(golden_collection, run, "deficit", within="geography=Africa")


def test_mmr_says_that_it_has_nothing_but_titles(tmp_path: Path) -> None:
    settings = GenerateSettings(n_pages=300, n_train_topics=1, n_eval_topics=1, seed=4)
    collection = generate_collection(tmp_path / "c", settings)
    (topic,) = (topic.id for topic in collection.topics if topic.split == "eval")
    run = tmp_path / "run.tsv"
    run.write_text("".join(f"{topic}\t{page}\n" for page in collection.page_ids[:50].tolist()))
    ranked = evenrank.rank(collection, 1, "mmr", candidates=run, workers=1)
    assert any("mmr compares titles alone" in note and "evenrank index" in note for note in ranked.notes)


def test_numbers_without_meaning_are_not_recorded(golden_collection: Collection, golden_runs: list[Path]) -> None:
    """Where fairness weighs nothing, the objective of a sequence would be minus two billion."""
    settings = {"fairness": 0.0}
    ranked = evenrank.rank(
        golden_collection, 2, "optimal", candidates=golden_runs[0], topics=[101], settings=settings, workers=1
    )
    (topic,) = ranked.record["topics"]
    assert "EE-L" in topic["certificate"]
    assert not {"objective", "lower_bound"} & {*topic["certificate"], *ranked.record["mean_certificate"]}
    assert not any(np.signbit(value) and value == 0.0 for value in topic["certificate"].values())
