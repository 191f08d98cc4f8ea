"""Curves by depth, and scores under variants of the protocol."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import evenrank
from evenrank.cli.main import cli
from evenrank.core.records import Run
from evenrank.errors import EvenrankError
from evenrank.io.runs import write_run
from evenrank.scoring.depth_curves import MEASURES, check_depths
from evenrank.scoring.oracle import oracle_run
from evenrank.scoring.sensitivity import BASE, HALF, ORDER, kendall_tau, with_errors
from evenrank.trec.collection import Collection

TASK1_RUNS = [(0.2, "weak"), (0.8, "strong")]


@pytest.fixture(scope="module")
def runs(golden_collection: Collection) -> list[Run]:
    return [oracle_run(golden_collection, 1, precision, name=name).run for precision, name in TASK1_RUNS]


def test_a_curve_is_the_measures_at_each_depth(golden_collection: Collection, runs: list[Run]) -> None:
    curves = evenrank.depth_curves(golden_collection, runs, [10, 3, 10])
    assert curves.depths == (3, 10)
    names = [f"{name}@{depth}" for name in MEASURES for depth in curves.depths]
    scored = evenrank.evaluate(golden_collection, runs, measures=names)
    for run in scored.runs:
        for name in MEASURES:
            assert curves.values(run.run, name) == [run.scores[f"{name}@{depth}"] for depth in (3, 10)]
    assert curves.runs == ["strong", "weak"]
    assert [row[:2] for row in curves.table().rows] == [("strong", 3), ("strong", 10), ("weak", 3), ("weak", 10)]
    assert curves.plot().axes[0].get_xlabel() == "depth"
    assert len(curves.plot().axes[0].lines) == 2


def test_depths_that_cannot_be_scored(golden_collection: Collection) -> None:
    assert check_depths([], 20) == (5, 10, 20)
    assert check_depths([], 1000)[-2:] == (500, 1000)
    with pytest.raises(EvenrankError, match=r"depths: 0, 21 .give up to 50 whole numbers from 1 to 20"):
        check_depths([0, 5, 21], 20)
    with pytest.raises(EvenrankError, match="51 of them"):
        check_depths(range(1, 52), 100)
    with pytest.raises(EvenrankError, match="of Task 2: oracle"):
        evenrank.depth_curves(golden_collection, oracle_run(golden_collection, 2, 0.5, name="oracle").run)


def test_commands(golden_collection: Collection, runs: list[Run], tmp_path: Path) -> None:
    for run in runs:
        write_run(run, tmp_path / run.name)
    files = [str(tmp_path / run.name) for run in runs]
    start = ["evaluate", str(golden_collection.path), *files]
    figure = tmp_path / "curves.png"
    said = CliRunner().invoke(cli, [*start, "--depths", "5,20", "--figure", str(figure), "--format", "json"])
    assert said.exit_code == 0, said.output
    assert json.loads(said.stdout)["depths"] == [5, 20]
    assert figure.read_bytes().startswith(b"\x89PNG")
    table = CliRunner().invoke(cli, [*start, "--sensitivity", "--format", "csv"])
    assert table.exit_code == 0, table.output
    assert table.stdout.splitlines()[0].startswith(f"run,{BASE},world 0%,world 25%,world 75%,world 100%")
    for wrong, why in (
        (["--depths", "5,x"], "'x': not whole numbers"),
        (["--figure", str(figure)], "--figure draws the curves of --depths"),
        (["--depths", "auto", "--figure", str(tmp_path / "a.gif")], "a.gif: not a figure"),
        (["--depths", "auto", "--sensitivity"], "choose one of --depths, --sensitivity"),
        (["--set", "blend=2"], "2.0 is not from 0 to 1"),
    ):
        refused = CliRunner().invoke(cli, [*start, *wrong])
        assert refused.exit_code != 0
        assert why in refused.output + str(refused.exception)


def test_variants(golden_collection: Collection, runs: list[Run]) -> None:
    found = evenrank.sensitivity(golden_collection, runs)
    scores = found.scores[1]
    base = evenrank.evaluate(golden_collection, runs, n_resamples=2)
    assert scores[BASE] == {run.run: run.scores["Score"] for run in base.runs}
    field = evenrank.evaluate(golden_collection, runs, blend=0.0, n_resamples=2)
    assert scores["world 0%"] == {run.run: run.scores["Score"] for run in field.runs}
    assert scores[HALF] != scores[BASE]
    assert found.table(1).rows[-1][:2] == (ORDER, 1.0)
    again = evenrank.sensitivity(golden_collection, runs)
    assert again.to_json() == found.to_json()
    assert evenrank.sensitivity(golden_collection, runs, seed=1).scores[1][HALF] != scores[HALF]


def test_changes_are_paired_and_few_topics_are_said(golden_collection: Collection, runs: list[Run]) -> None:
    found = evenrank.sensitivity(golden_collection, runs)
    changes = {(one.run, one.variant): one for one in found.changes(1)}
    name = runs[0].name
    world = changes[name, "world 100%"]
    assert world.change == pytest.approx(found.scores[1]["world 100%"][name] - found.scores[1][BASE][name])
    assert world.interval.low <= world.change <= world.interval.high
    assert {"geography 10% wrong", "gender 10% wrong"} <= {one.variant for one in changes.values()}
    assert BASE not in {one.variant for one in changes.values()}
    assert "too few" in found.notes()[0]


def test_errors_move_groups_at_their_rate_and_nothing_else(golden_collection: Collection) -> None:
    wrong = with_errors(golden_collection, "geography", 0.3, np.random.default_rng(1))
    before, after = (np.asarray(one.masks["geography"]) for one in (golden_collection, wrong))
    is_single = np.isin(before, [1 << group for group in range(1, 8)])
    assert (before[~is_single] == after[~is_single]).all()
    assert np.isin(after[is_single], [1 << group for group in range(1, 8)]).all()
    assert 0.05 < (before != after)[is_single].mean() < 0.5
    assert np.array_equal(wrong.masks["gender"], golden_collection.masks["gender"])
    none = with_errors(golden_collection, "geography", 0.0, np.random.default_rng(1))
    assert np.array_equal(none.masks["geography"], before)


@pytest.mark.parametrize("task", [1, 2])
def test_a_target_lies_between_the_field_and_the_world(golden_collection: Collection, task: int) -> None:
    """Targets are linear in the share of the world, whatever the section."""
    field, half, world = (evenrank.targets(golden_collection, task, blend=weight).values for weight in (0.0, 0.5, 1.0))
    assert half == pytest.approx((np.asarray(field) + np.asarray(world)) / 2, abs=1e-15)


def test_kendall_tau_by_hand() -> None:
    assert kendall_tau([1.0, 2.0, 3.0], [5.0, 6.0, 7.0]) == 1.0
    assert kendall_tau([1.0, 2.0, 3.0], [7.0, 6.0, 5.0]) == -1.0
    assert kendall_tau([1.0, 2.0, 3.0], [5.0, 7.0, 6.0]) == pytest.approx(1 / 3)
    assert kendall_tau([1.0, 2.0, 3.0], [5.0, 5.0, 6.0]) == pytest.approx(2 / 3)
