"""What changes the order of runs: targets, the pool, assessors, and wrong groups until another run is first."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import evenrank
from evenrank.cli.main import cli
from evenrank.core.records import Run
from evenrank.core.rng import derive
from evenrank.io.runs import write_run
from evenrank.scoring.compare import randomisation_p, randomisation_p_of_rows
from evenrank.scoring.oracle import oracle_run
from evenrank.trec.assessment.votes import Vote, cast_votes, open_store, utc_now
from evenrank.trec.collection import Collection
from tests.desk_collections import shared_generated
from tests.judging_files import JudgingFiles, make_judging


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return shared_generated(tmp_path_factory)


@pytest.fixture(scope="module")
def judging(collection: Collection, tmp_path_factory: pytest.TempPathFactory) -> JudgingFiles:
    """Ada judges as the collection does; Ben calls every page relevant."""
    files = make_judging(tmp_path_factory.mktemp("effects"), collection)
    relevant = {topic.id: set(topic.rel_docs.tolist()) for topic in collection.topics}
    with open_store(files.judgments) as store:
        pages = store.connection.execute("SELECT topic, page FROM item ORDER BY topic, page").fetchall()
        votes = [
            Vote(
                topic=topic,
                page=page,
                assessor=name,
                outcome="graded",
                grade=int(name == "Ben" or page in relevant[topic]),
                time=utc_now(),
                token=f"{name}-{topic}-{page}",
            )
            for topic, page in pages
            for name in ("Ada", "Ben")
        ]
        cast_votes(store, votes)
    return files


def test_effects_of_a_pool_and_of_assessors(collection: Collection, judging: JudgingFiles) -> None:
    [found] = evenrank.order_effects(
        collection, judging.runs, judgments=judging.judgments, pool=judging.pool, n_draws=2
    )
    causes = {one.cause for one in found.effects}
    assert {"target", "assessor", "disagreement", "geography", "gender"} <= causes
    assert sum(one.cause == "assessor" for one in found.effects) == 2
    assert {one.change for one in found.effects if one.cause == "assessor"} == {
        "without assessor 1",
        "without assessor 2",
    }
    assert set(found.breakdown) == {"geography", "gender"}
    for one in found.effects:
        assert 0.0 <= one.stays <= 1.0
        assert -1.0 <= one.tau <= 1.0
    assert "Ada" not in str(found)
    again = evenrank.order_effects(collection, judging.runs, judgments=judging.judgments, pool=judging.pool, n_draws=2)
    assert again[0].to_json() == found.to_json()


def test_a_breakdown_point_is_where_another_run_is_first(collection: Collection) -> None:
    """Two runs of the same pages, one in the order that is better by a hair: wrong groups soon exchange them."""
    topics = [topic for topic in collection.topics if topic.split == "eval"]
    shuffled = [derive(1, topic.id).permutation(topic.rel_docs).astype(np.int32) for topic in topics]
    runs = [
        Run.from_rankings(name, 1, iter([(t.id, 1, pages[::step]) for t, pages in zip(topics, shuffled, strict=True)]))
        for name, step in (("one", 1), ("other", -1))
    ]
    [close] = evenrank.order_effects(collection, runs, n_draws=3)
    assert [rate for rate in close.breakdown.values() if rate is not None]
    far = [runs[0], Run.from_rankings("bad", 1, iter([(t.id, 1, collection.page_ids[:5]) for t in topics]))]
    [clear] = evenrank.order_effects(collection, far, n_draws=1)
    assert clear.breakdown == {"geography": None, "gender": None}
    assert any("stays first with up to 50%" in line for line in clear.summary())


def test_the_command_prints_effects(collection: Collection, judging: JudgingFiles) -> None:
    arguments = ["trust", str(collection.path), *map(str, judging.runs), "--draws", "1", "--format", "json"]
    ran = CliRunner().invoke(cli, arguments)
    assert ran.exit_code == 0, ran.output
    [task] = json.loads(ran.stdout)["tasks"]
    assert task["effects"]["breakdown"].keys() == {"geography", "gender"}
    quick = CliRunner().invoke(cli, [*arguments, "--topics-only"])
    assert "effects" not in json.loads(quick.stdout)["tasks"][0]


def test_a_task_of_one_run_does_not_keep_the_other_from_being_told(collection: Collection, tmp_path: Path) -> None:
    paths = []
    for name, task in (("a", 1), ("b", 1), ("c", 2)):
        paths.append(str(tmp_path / name))
        oracle = oracle_run(collection, task, 0.5, seed=len(paths), name=name)
        write_run(oracle.run, tmp_path / name)
    ran = CliRunner().invoke(cli, ["trust", str(collection.path), *paths, "--topics-only"])
    assert ran.exit_code == 0, ran.output
    assert "Task 1: ranks by Score" in ran.stdout
    assert "Task 2" not in ran.stdout
    assert "note: Task 2 has one run, and no order" in ran.stderr
    whole = CliRunner().invoke(cli, ["trust", str(collection.path), *paths, "--draws", "1"])
    assert whole.exit_code == 0, whole.output
    assert [one.task for one in evenrank.order_effects(collection, paths, n_draws=1)] == [1]
    alone = CliRunner().invoke(cli, ["trust", str(collection.path), paths[0], paths[2], "--topics-only"])
    assert "at least two runs" in str(alone.exception)


def test_tests_of_all_pairs_are_those_of_each(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(0.1, 1.0, (4, 40))
    rows[1, :3] = 0.0
    rows[2, :30] = 0.0
    assert randomisation_p_of_rows(rows) == [randomisation_p(row) for row in rows]
