"""Intervals that carry what is unknown: they agree with plain scores where all is known, and hold the truth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import evenrank
from evenrank.cli.main import cli
from evenrank.core.groups import UNKNOWN_MASK
from evenrank.core.records import Run, Task
from evenrank.core.rng import derive
from evenrank.core.uncertainty import DimensionModel, ErrorTable, JudgmentModel, MissingGroups
from evenrank.errors import EvenrankError
from evenrank.scoring.imputation import GroupedItems, JudgedRanks, draw_kinds, draw_relevance
from evenrank.scoring.intervals import pooled_interval
from evenrank.trec.collection import Collection

SOUTH = ("Africa", "Asia", "Latin America and the Caribbean")


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """A collection without text in which 12 evaluation topics are judged."""
    folder = tmp_path_factory.mktemp("uncertain") / "collection"
    return evenrank.generate_collection(folder, n_pages=4000, n_topics=24, seed=5)


def runs_of(collection: Collection, task: Task) -> list[Run]:
    precisions = {"better": 0.9, "worse": 0.5}
    return [evenrank.oracle_run(collection, task, p, 3, name=name).run for name, p in precisions.items()]


@pytest.mark.parametrize("task", [1, 2])
def test_what_is_recorded_scores_as_without_draws(collection: Collection, task: Task) -> None:
    runs = runs_of(collection, task)
    results = evenrank.evaluate(collection, runs, uncertainty="topics")
    for one in results.uncertainty[task].means:
        assert one.recorded == pytest.approx(results[one.run].scores[one.measure], rel=1e-9)
        assert one.interval.mean == pytest.approx(one.recorded)
        assert one.shares == {"topics": pytest.approx(1.0)}


def hidden(collection: Collection, seed: int) -> Collection:
    """Half of the African, Asian and Latin American locations hidden, and 15 % elsewhere."""
    space = collection.space("geography")
    masks = collection.masks["geography"].copy()
    south = sum(space.dimension("geography").mask_of(name) for name in SOUTH)
    rate = np.where(masks & south, 0.5, 0.15)
    masks[derive(seed, "hide").random(len(masks)) < rate] = UNKNOWN_MASK
    return replace(collection, masks={**collection.masks, "geography": masks})


def test_the_truth_is_inside_the_interval_where_the_south_is_hidden(collection: Collection) -> None:
    """The recorded score misses the truth by far; the interval of the right model has it, in nearly every case."""
    run = runs_of(collection, 1)[0]
    truth = evenrank.evaluate(collection, run, groups="geography", depth=20)[run.name].scores["AWRF"]
    groups = collection.space("geography").dimension("geography").groups[1:]
    model = {"geography": {"rate": {name: 0.5 if name in SOUTH else 0.15 for name in groups}}}
    held, errors, shifts = 0, [], []
    for seed in range(8):
        partly = hidden(collection, seed)
        found = evenrank.evaluate(
            partly, run, groups="geography", depth=20, measures="AWRF", uncertainty="missing", assume=model, draws=40
        ).uncertainty[1]
        one = found.means[0]
        held += one.interval.low <= truth <= one.interval.high
        errors.append(abs(one.interval.mean - truth))
        shifts.append(abs(one.recorded - truth))
        assert one.shares == {"missing": 1.0}
    assert held >= 7
    assert np.mean(errors) < np.mean(shifts)


def test_draws_are_reproducible_and_paired(collection: Collection) -> None:
    partly = hidden(collection, 1)
    runs = runs_of(collection, 1)

    def found(*some: Run) -> evenrank.UncertainResults:
        return evenrank.evaluate(partly, list(some), groups="geography", uncertainty="all", draws=20).uncertainty[1]

    both = found(*runs)
    assert both.to_json() == found(*runs).to_json()
    assert both.to_json() == found(*runs[::-1]).to_json()
    (difference,) = both.differences
    assert difference.run == "better − worse"
    by_name = {(one.run, one.measure): one for one in both.means}
    apart = np.hypot(by_name["better", "Score"].interval.se, by_name["worse", "Score"].interval.se)
    assert difference.interval.se < apart
    assert sum(difference.shares.values()) == pytest.approx(1.0)
    for group in both.groups:
        assert 0.0 <= group.exposure.low <= group.exposure.mean <= group.exposure.high <= 1.0


def items_of(kind: list[int], n_kinds: int = 2) -> GroupedItems:
    zeros = np.zeros(len(kind), np.intp)
    return GroupedItems(np.array(kind), np.eye(n_kinds, dtype=bool), ("A", "B")[:n_kinds], (zeros, zeros))


def test_odds_and_shares_decide_what_missing_items_are() -> None:
    items = items_of([1] * 500 + [2] * 500 + [0] * 4000)
    rngs = np.random.default_rng(1), np.random.default_rng(2)
    model = DimensionModel(MissingGroups(share=(0.5, 0.5), odds={"B": (3.0, 3.0)}))
    drawn = draw_kinds(items, model, ("missing",), rngs, 20)[:, 1000:]
    shares = [float((drawn == kind).mean()) for kind in range(3)]
    assert shares == pytest.approx([0.5, 0.125, 0.375], abs=0.02)


def test_rates_say_how_many_items_belong_to_no_group() -> None:
    """Of A half is missing, of B a fifth: 400 A and 100 B are among the 1,000 unknown, and 500 have no group."""
    items = items_of([1] * 400 + [2] * 400 + [0] * 1000)
    rngs = np.random.default_rng(1), np.random.default_rng(2)
    model = DimensionModel(MissingGroups(rate={"A": 0.5, "B": 0.2}))
    drawn = draw_kinds(items, model, ("missing",), rngs, 40)[:, 800:]
    assert [float((drawn == kind).mean()) for kind in range(3)] == pytest.approx([0.5, 0.4, 0.1], abs=0.03)


def test_errors_are_undone() -> None:
    """Of 800 A and 200 B a fifth is recorded as the other: 680 A and 320 B."""
    items = items_of([1] * 680 + [2] * 320)
    rngs = np.random.default_rng(1), np.random.default_rng(2)
    drawn = draw_kinds(items, DimensionModel(errors=ErrorTable(0.2)), ("errors",), rngs, 60)
    counts = (drawn == 1).sum(axis=1)
    assert counts.mean() == pytest.approx(800, abs=25)
    assert 10 < counts.std() < 60
    assert (draw_kinds(items, DimensionModel(errors=ErrorTable(0.2)), ("missing",), rngs, 2) == items.kind).all()


def test_untagged_items_are_relevant_as_the_tagging_rate_says() -> None:
    topic = np.repeat(np.arange(20), 50)
    rng = np.random.default_rng(4)
    rank = np.tile(np.arange(1.0, 51.0), 20)
    relevant = rng.random(1000) < 0.5
    tagged = relevant & (rng.random(1000) < 0.6)
    items = JudgedRanks(topic, rank, tagged, np.ones(1000, bool))
    drawn, unranked = draw_relevance(items, JudgmentModel((0.6, 0.6)), np.random.default_rng(1), 30)
    assert drawn.mean() == pytest.approx(relevant.mean(), abs=0.05)
    assert not unranked.any()
    same, _ = draw_relevance(items, JudgmentModel(), np.random.default_rng(1), 3)
    assert (same == tagged).all()


def test_pooled_interval_is_students_without_draws_that_differ() -> None:
    values = np.array([0.1, 0.4, 0.5, 0.9])
    found = pooled_interval(np.tile(values, (5, 1)))
    assert found.high - found.mean == pytest.approx(3.182446 * values.std(ddof=1) / 2.0, rel=1e-6)
    assert pooled_interval(np.array([[np.nan, 0.5, 0.7], [np.nan, 0.5, 0.7]])).mean == pytest.approx(0.6)


def test_what_cannot_be_drawn_is_refused(collection: Collection, tmp_path: Path) -> None:
    run = runs_of(collection, 1)[0]
    with pytest.raises(EvenrankError, match="choose from topics"):
        evenrank.evaluate(collection, run, uncertainty="weather")
    with pytest.raises(EvenrankError, match="no group 'Atlantis'"):
        evenrank.evaluate(collection, run, uncertainty="missing", assume=["geography.odds.Atlantis=2"])
    with pytest.raises(EvenrankError, match="give at least 2"):
        evenrank.evaluate(collection, run, uncertainty="missing", draws=1)
    path = tmp_path / "run.tsv"
    evenrank.write_run(run, path)
    wrong = CliRunner().invoke(cli, ["evaluate", str(collection.path), str(path), "--assume", "geography.rate=0.1"])
    assert wrong.exit_code == 2
    shown = CliRunner().invoke(
        cli, ["evaluate", str(collection.path), str(path), "--uncertainty", "topics", "--draws", "5"]
    )
    assert shown.exit_code == 0, shown.output
    assert "Intervals that carry topics" in shown.output


def test_plain_tables_have_the_same_intervals() -> None:
    rng = np.random.default_rng(0)
    groups = {f"d{i}": str(rng.choice(["x", "y", "z"], p=[0.5, 0.3, 0.2])) if i % 3 else None for i in range(300)}
    runs: dict[str, dict[str, list[str]]] = {"one": {}, "two": {}}
    grades: dict[str, dict[str, int]] = {}
    for query in range(12):
        items = [f"d{i}" for i in rng.permutation(300)[:40]]
        grades[f"q{query}"] = {item: int(rng.integers(1, 3)) for item in items[:15]}
        runs["one"][f"q{query}"] = [str(item) for item in rng.permutation(items)[:20]]
        runs["two"][f"q{query}"] = items[5:25]
    model = {"group": {"errors": 0.05}}
    found = evenrank.score(runs, groups, grades, uncertainty="topics,missing,errors", assume=model, draws=20)
    of_draws = found.uncertainty[1]
    for one in of_draws.means:
        assert one.recorded == pytest.approx(found[one.run].scores[one.measure], rel=1e-9)
        assert one.interval.low <= one.interval.mean <= one.interval.high
    by_name = {(one.run, one.measure): one.shares for one in of_draws.means}
    assert by_name["one", "nDCG"] == {"topics": 1.0, "missing": 0.0, "errors": 0.0}
    assert by_name["one", "AWRF"]["missing"] > 0.0 < by_name["one", "AWRF"]["errors"]
    assert found.to_json()["uncertainty"][0]["sources"] == ["topics", "missing", "errors"]
    for wrong in ("target", "judgments"):
        with pytest.raises(EvenrankError, match=f"leave {wrong} out"):
            evenrank.score(runs, groups, grades, uncertainty=wrong)
    every = evenrank.score(runs, groups, grades, uncertainty="all", draws=5).uncertainty[1]
    assert every.sources == ("topics", "missing", "errors")
    assert "errors: no rate or table is stated, so recorded groups are taken as right" in every.notes
    assert any("missing at random" in note for note in of_draws.notes)


def test_items_that_plain_tables_do_not_judge_are_drawn() -> None:
    """Half of the ranked items are judged, 60 % of them relevant; relevance has no slope in the rank."""
    rng = np.random.default_rng(3)
    items = [f"d{i}" for i in range(60)]
    relevant = {f"q{n}": {item for item in items if rng.random() < 0.6} for n in range(40)}
    runs = {query: [str(item) for item in rng.permutation(items)[:20]] for query in relevant}
    judged = {query: {item: int(item in relevant[query]) for item in items if rng.random() < 0.5} for query in relevant}
    groups = {item: "xy"[n % 2] for n, item in enumerate(items)}
    truth = evenrank.score(runs, groups, relevant, k=20).scores["P"]
    found = evenrank.score(runs, groups, judged, k=20, uncertainty="topics,judgments", draws=40)
    [precision] = [one for one in found.uncertainty[1].means if one.measure == "P"]
    assert precision.recorded == found.scores["P"] < 0.4
    assert precision.interval.low < truth < precision.interval.high < 0.75
    assert precision.shares["judgments"] > 0.0
    [note] = [note for note in found.uncertainty[1].notes if note.startswith("judgments: ")]
    assert "of the ranked items were not judged" in note
    as_listed = {query: sorted(item for item, grade in grades.items() if grade) for query, grades in judged.items()}
    listed = evenrank.score(runs, groups, as_listed, k=20, uncertainty="topics,judgments", draws=4).uncertainty[1]
    assert [one.interval.mean for one in listed.means if one.measure == "P"] == [pytest.approx(precision.recorded)]
    assert not any("judged" in note for note in listed.notes)
    alone = evenrank.score({"q0": runs["q0"]}, groups, relevant, uncertainty="topics", draws=2).uncertainty[1]
    assert any(note.startswith("one topic says nothing") for note in alone.notes)


def test_a_model_without_sources_is_refused(tmp_path: Path) -> None:
    for name, text in (("run", "query,item,rank\nq,a,1\n"), ("groups", "item,group\na,x\n")):
        (tmp_path / f"{name}.csv").write_text(text)
    words = ["score", "--run", str(tmp_path / "run.csv"), "--groups", str(tmp_path / "groups.csv")]
    result = CliRunner().invoke(cli, [*words, "--assume", "group.errors=0.1"])
    assert result.exit_code == 2
    assert "name its sources too" in result.output
