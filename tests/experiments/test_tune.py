"""Tuning: what is drawn, that evaluation queries are never looked at, the budget, resuming, the record."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import evenrank
from evenrank.cli.main import cli
from evenrank.core.rng import derive
from evenrank.errors import EvenrankError
from evenrank.experiments import trials
from evenrank.experiments.data import CollectionData, Scores
from evenrank.experiments.search_space import Choices, ValueRange, draw_settings, policy_space, read_space
from evenrank.experiments.trials import Trial, run_trials
from evenrank.experiments.tune import TuneTask, run_tasks
from evenrank.policies.registry import POLICIES, make_policy
from evenrank.ranking.prepared import PreparedTopics


@pytest.mark.parametrize("policy", list(POLICIES))
def test_every_policy_accepts_what_is_drawn_for_it(policy: str) -> None:
    space = policy_space(policy)
    task = POLICIES[policy].tasks[0]
    for seed in range(5 if space else 0):
        make_policy(policy, task, dict(draw_settings(policy, task, space, {}, derive(seed))))


def test_values_are_drawn_by_type_limits_and_default() -> None:
    space = policy_space("deficit")
    assert space["order"] == Choices(("row",))
    weight, window = space["weight"], space["window"]
    assert isinstance(weight, ValueRange)
    assert isinstance(window, ValueRange)
    assert (weight.is_log, weight.is_whole, window.is_whole) == (True, False, True)
    drawn = [float(str(weight.draw(derive(seed)))) for seed in range(200)]
    assert 1 / 30 <= min(drawn) < 0.2 < 5 < max(drawn) <= 30
    assert policy_space("exposure-disparity")["background"] == ValueRange(0.0, 1.0)
    assert policy_space("relevance") == {}


def test_demands_measures_and_effort_are_no_matter_of_tuning() -> None:
    """What a list must keep, how it is measured and how long it may take is not for a search to decide."""
    assert list(policy_space("optimal", task=1)) == ["fairness", "relevance_power"]
    sequence = list(policy_space("optimal", task=2))
    assert sequence[0] == "fairness"
    assert not {"min_precision", "relevant_only", "head_depth"} & set(sequence)
    assert policy_space("optimal", {"proof": ["brief"]}) == {"proof": Choices(("brief",))}


def test_settings_of_sequences_are_not_drawn_for_lists() -> None:
    assert list(policy_space("deficit", task=1)) == ["weight", "window", "n_windows"]
    assert list(policy_space("deficit", task=2)) == ["weight", "window", "n_windows", "quality", "order"]
    assert policy_space("deficit", {"quality": [1, 2]}, task=1) == {"quality": Choices((1, 2))}


def test_own_values_and_ranges_replace_the_usual_ones() -> None:
    given = read_space(["weight=0.5,2", "window=5..50"])
    assert policy_space("deficit", given) == {
        "weight": Choices(("0.5", "2")),
        "window": ValueRange(5, 50, True, True),
    }
    with pytest.raises(EvenrankError) as error:
        policy_space("deficit", {"wait": [1], "weight": {"low": 3, "high": 1}, "window": "5"})
    assert [
        word for word in ("'wait'", "low must be below", "window: give a list") if word not in str(error.value)
    ] == []
    with pytest.raises(EvenrankError, match=r"--try weight=a\.\.b"):
        read_space(["weight=a..b"])


def test_ranking_prepared_topics_is_ranking(small_world: Path) -> None:
    collection = evenrank.Collection.open(small_world)
    for task, policy, settings in ((1, "optimal", {}), (1, "mmr", {}), (2, "deficit", {"weight": "2"})):
        ids = [topic.id for topic in collection.topics if topic.split == "train"]
        wanted = evenrank.rank(collection, task, policy, topics="train", settings=settings, workers=1).run  # type: ignore[arg-type]
        found = PreparedTopics(collection, task, protocol="paper-2021").rank(policy, settings, ids)  # type: ignore[arg-type]
        assert found.pages.tolist() == wanted.pages.tolist()


def test_scores_of_a_collection_are_those_of_evaluate(small_world: Path) -> None:
    data = CollectionData(small_world)
    queries = data.queries("train")[:2]
    run = evenrank.rank(small_world, 1, "greedy", topics=",".join(queries), workers=1).run
    wanted = evenrank.evaluate(small_world, run, measures=["Score@10"]).runs[0].topics
    assert data.score("greedy", {}, queries, ["Score@10"], 0) == {
        "Score@10": {query: wanted[int(query)]["Score@10"] for query in queries}
    }


def test_evaluation_topics_are_never_looked_at(small_world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[str] = set()
    score = CollectionData.score

    def watched(self: CollectionData, policy: str, settings: Any, queries: Sequence[str], *others: Any) -> Scores:
        seen.update(queries)
        return score(self, policy, settings, queries, *others)

    monkeypatch.setattr(CollectionData, "score", watched)
    tuned = evenrank.tune(small_world, "exposure-disparity", budget=3, workers=1)
    assert seen == set(tuned.queries) == {"1", "2", "3"}
    assert len(tuned.tried) == 3
    assert tuned.tried[0].settings == ()
    assert tuned.value >= tuned.default_value


def test_tuning_finds_what_own_data_need(own_data: evenrank.OwnData) -> None:
    """Scores are biased, groups should be equal: a policy that may ignore the target must learn to follow it."""
    tuned = evenrank.tune(own_data, "greedy", budget=8, measures="AWRF", space={"fairness": [0.0, 4.0]}, workers=1)
    assert tuned.settings == {"fairness": "4.0"}
    assert len({one.settings for one in tuned.tried}) == len(tuned.tried) == 3
    assert set(tuned.queries).isdisjoint(own_data.queries("eval"))
    assert tuned.record()["space"] == {"fairness": {"values": [0.0, 4.0]}}


def test_fixed_settings_stay(own_data: evenrank.OwnData) -> None:
    tuned = evenrank.tune(own_data, "deficit", budget=4, settings={"weight": 3.0}, workers=1)
    assert all(dict(one.settings)["weight"] == "3.0" for one in tuned.tried)
    assert "weight" not in tuned.space


def test_successive_halving_costs_what_random_search_costs(own_data: evenrank.OwnData) -> None:
    everything = evenrank.OwnData(
        own_data._items, own_data.groups, own_data.relevance, own_data.target, train_share=0.9, name="own"
    )
    tuned = evenrank.tune(everything, "deficit", budget=6, method="halving", workers=1)
    by_round = {n: sum(one.n_queries == n for one in tuned.tried) for n in (1, 3, 9)}
    assert by_round == {1: 18, 3: 6, 9: 2}
    assert sum(one.n_queries for one in tuned.tried) == 6 * 9
    assert tuned.value >= tuned.default_value


def test_an_interrupted_search_resumes_with_what_was_finished(
    own_data: evenrank.OwnData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = evenrank.tune(own_data, "deficit", budget=6, workers=1)
    run_trial, n_run = trials.run_trial, [0]

    def counted(trial: Trial) -> trials.TrialScores:
        n_run[0] += 1
        if n_run[0] == 4:
            raise KeyboardInterrupt
        return run_trial(trial)

    monkeypatch.setattr(trials, "run_trial", counted)
    with pytest.raises(KeyboardInterrupt):
        evenrank.tune(own_data, "deficit", budget=6, workers=1, folder=tmp_path)
    assert len(list(tmp_path.rglob("*.json"))) == 3
    resumed = evenrank.tune(own_data, "deficit", budget=6, workers=1, folder=tmp_path)
    assert n_run[0] == 4 + 3
    assert resumed.record() == whole.record()


def test_a_damaged_trial_is_made_again(own_data: evenrank.OwnData, tmp_path: Path) -> None:
    trial = Trial(own_data, "relevance", (), ("q1", "q2"), ("nDCG",))
    (first,) = run_trials([trial], tmp_path, 1)
    (path,) = tmp_path.rglob("*.json")
    path.write_text("{")
    assert run_trials([trial], tmp_path, 1) == [first]
    assert json.loads(path.read_text())["scores"]["nDCG"].keys() == {"q1", "q2"}


def test_the_number_of_workers_does_not_matter(own_data: evenrank.OwnData) -> None:
    trials_ = [Trial(own_data, name, (), ("q1", "q2"), ("nDCG", "AWRF")) for name in ("relevance", "greedy", "fa-ir")]
    assert run_trials(trials_, None, 2) == run_trials(trials_, None, 1)


def test_a_trial_that_failed_is_tried_again(tmp_path: Path) -> None:
    evenrank.generate_collection(tmp_path / "world", n_pages=300, n_topics=4)
    trial = Trial(CollectionData(tmp_path / "world"), "relevance", (), ("1",), ("nDCG",))
    (failed,) = run_trials([trial], tmp_path / "kept", 1)
    assert "no index" in failed.error
    evenrank.build_index(tmp_path / "world")
    (found,) = run_trials([trial], tmp_path / "kept", 1)
    assert found.scores["nDCG"].keys() == {"1"}


def test_other_data_are_other_trials(own_data: evenrank.OwnData) -> None:
    trial = Trial(own_data, "relevance", (), ("q1",), ("nDCG",))
    changed = evenrank.OwnData(own_data._items, {**own_data.groups, "i0": "b"}, own_data.relevance, "equal")  # type: ignore[dict-item]
    assert replace(trial, data=changed).key != trial.key
    assert replace(trial, settings=(("a", "1"),)).key != trial.key
    assert replace(trial).key == trial.key


class _Failing:
    """Data on which one setting cannot be scored."""

    name, task = "failing", 1

    def queries(self, split: str) -> list[str]:
        return ["1"] if split == "train" else ["2"]

    def usual_measures(self) -> tuple[str, ...]:
        return ("Score",)

    def fingerprint(self) -> str:
        return "failing"

    def score(self, policy: str, settings: Mapping[str, object], *others: Any) -> Scores:
        if settings:
            raise EvenrankError("does not work")
        return {"Score": {"1": 0.5}}


def test_a_combination_that_fails_is_recorded_and_never_chosen() -> None:
    task = TuneTask(_Failing(), "deficit", ("Score",), 3, "random", {}, {"weight": [5.0]}, 0)  # type: ignore[arg-type]
    (tuned,) = run_tasks([task], None, 1)
    assert tuned.settings == {}
    failed = [one for one in tuned.tried if one.error]
    assert [one.error for one in failed] == ["does not work"]
    assert math.isnan(failed[0].value)
    assert tuned.record()["tried"][1]["value"] is None


def test_so_many_queries_at_most_are_tuned_on(own_data: evenrank.OwnData) -> None:
    whole, few = (TuneTask(own_data, "deficit", ("Score",), 3, "random", {}, None, 0, most) for most in (None, 2))
    assert sorted(whole.queries) == sorted(own_data.queries("train"))
    assert few.queries == whole.queries[:2]
    (tuned,) = run_tasks([few], None, 1)
    assert {one.n_queries for one in tuned.tried} == {2}
    study = {"tuning": {"queries": 0}, "data": [{"world": "usual"}], "policies": [{"name": "greedy"}]}
    with pytest.raises(EvenrankError, match="tuning: queries is 0"):
        evenrank.experiment(study, "never made")


@pytest.mark.parametrize(
    "options, message",
    [
        ({"policy": "optimol"}, "unknown policy 'optimol'"),
        ({"budget": 0}, "budget is 0"),
        ({"method": "grid"}, "unknown method 'grid'"),
        ({"measures": ["AWRF", "KL"]}, "all better when higher, or lower"),
        ({"settings": {"fairnes": 1}}, "fairnes"),
    ],
)
def test_what_cannot_be_tuned_is_said(own_data: evenrank.OwnData, options: dict[str, Any], message: str) -> None:
    with pytest.raises(EvenrankError, match=message):
        evenrank.tune(own_data, **options)


def test_the_command_tunes_and_keeps_what_was_tried(small_world: Path, tmp_path: Path) -> None:
    out = tmp_path / "tuned.json"
    arguments = ["tune", str(small_world), "--policy", "deficit", "--budget", "2", "--workers", "1", "-o", str(out)]
    result = CliRunner().invoke(cli, [*arguments, "--try", "weight=0.1,3"])
    assert result.exit_code == 0, result.output
    record = json.loads(out.read_text())
    assert len(record["tried"]) == 2
    assert "deficit on 3 training queries" in result.output
    assert (tmp_path / "tuned.json.trials").is_dir()
    refused = CliRunner().invoke(cli, ["tune", "--policy", "deficit"])
    assert refused.exit_code == 2
    assert "give a collection DIR, or own data" in refused.output
