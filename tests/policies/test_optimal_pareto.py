"""The frontier between relevance and fairness, as a function and as `evenrank pareto`."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from evenrank.cli.main import cli
from evenrank.core.records import Topic
from evenrank.errors import EvenrankError, ExistingFileError
from evenrank.io.runs import read_run
from evenrank.policies.optimal import OptimalList
from evenrank.policies.policy import Request
from evenrank.policies.relevance import Relevance
from evenrank.ranking.build import BuildSettings
from evenrank.ranking.job import RankingJob
from evenrank.ranking.pareto import frontier, mean_frontier, topic_frontiers
from evenrank.ranking.sources import CandidateSource, Found, RunSource, Session, calibrate_run
from evenrank.trec.collection import Collection

from .made_up import TASK1, TASK2, make_candidates, target_of
from .small import pages, wanting


@pytest.mark.parametrize("request_", [TASK1, TASK2], ids=["task1", "task2"])
def test_frontier_goes_from_relevance_to_fairness(request_: Request) -> None:
    candidates = make_candidates(300)
    points = frontier(candidates, target_of(candidates, request_), request_, (0.0, 0.1, 1.0, 100.0))
    fairer = np.array([point.measure for point in points]) * (1 if request_.task == 1 else -1)
    assert [point.fairness for point in points] == [0.0, 0.1, 1.0, 100.0]
    assert points[0].relevance_share == pytest.approx(1.0, abs=1e-2)
    assert points[-1].relevance_share < points[0].relevance_share
    assert fairer[-1] > fairer[0]
    assert np.diff(fairer).min() > -2e-3


def test_mean_frontier_is_the_mean_at_each_weight() -> None:
    topics = [make_candidates(100, seed) for seed in (1, 2)]
    found = [frontier(topic, target_of(topic, TASK1), TASK1, (0.0, 1.0)) for topic in topics]
    mean = mean_frontier(found)
    assert mean[1].measure == pytest.approx((found[0][1].measure + found[1][1].measure) / 2)
    assert mean[1].fairness == 1.0


def test_no_candidates_no_frontier() -> None:
    assert frontier(pages([], []), wanting(0.5, 0.5), TASK1) == []


@dataclass
class CountingSource:
    """A source that counts how often it is asked."""

    source: CandidateSource
    n_asked: int = 0

    def find(self, topic: Topic) -> Found:
        self.n_asked += 1
        return self.source.find(topic)

    def describe(self) -> dict[str, Any]:
        return self.source.describe()


def test_candidates_are_found_once_for_all_weights(golden_collection: Collection, golden_runs: list[Path]) -> None:
    source = CountingSource(calibrate_run(read_run(golden_runs[0]), golden_collection.topics))
    settings = BuildSettings(sharpness=1.0, group_odds="none")
    job = RankingJob(Session(golden_collection.path), source, OptimalList(), TASK1, settings)
    ((topic_id, points),) = topic_frontiers(job, [101], (0.0, 1.0, 10.0))
    assert (topic_id, len(points), source.n_asked) == (101, 3, 1)
    alone = replace(job, policy=OptimalList(fairness=10.0)).rank(101)
    assert points[2].measure == alone.certificate["AWRF"]


def test_topics_without_candidates_and_other_policies(golden_collection: Collection, golden_runs: list[Path]) -> None:
    nothing = RunSource(
        replace(read_run(golden_runs[0]), topic_ids=np.empty(0, np.int32), starts=np.zeros(1, np.int64))
    )
    job = RankingJob(
        Session(golden_collection.path), nothing, OptimalList(), TASK1, BuildSettings(sharpness=1.0, group_odds="none")
    )
    assert list(topic_frontiers(job, [101, 103], (0.0, 1.0))) == []
    with pytest.raises(EvenrankError, match="the frontier is that of optimal, not of relevance"):
        list(topic_frontiers(replace(job, policy=Relevance()), [101]))


def call(collection: Collection, run: Path, *arguments: object) -> Result:
    return CliRunner().invoke(cli, ["pareto", str(collection.path), "--from", str(run), *map(str, arguments)])


@pytest.mark.parametrize("task", [1, 2])
def test_command_prints_a_row_per_topic_and_weight(
    golden_collection: Collection, golden_runs: list[Path], task: int
) -> None:
    result = call(
        golden_collection, golden_runs[0], "--task", task, "--topics", "101,103", "--weights", "1,0,10", "--workers", 1
    )
    assert result.exit_code == 0, result.output
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert lines[0][:4] == ["topic", "fairness", "relevance_share", "AWRF" if task == 1 else "EE-L"]
    assert [line[:2] for line in lines[1:]] == [[t, w] for t in ("101", "103", "mean") for w in ("0", "1", "10")]
    assert np.isfinite(np.array([line[1:] for line in lines[1:]], float)).all()


def test_command_writes_figures_and_numbers(
    golden_collection: Collection, golden_runs: list[Path], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    names = [tmp_path / name for name in ("f.svg", "f.png", "f.pdf", "f.tsv", "f.json")]
    options = [part for name in names for part in ("-o", name)]
    arguments = ["--topics", "101,103", "--weights", "0,1", *options]
    assert call(golden_collection, golden_runs[0], *arguments).exit_code == 0
    first = [name.read_bytes() for name in names]
    assert json.loads(first[-1])["topics"][1]["topic"] == 103
    assert b"weights of fairness" in first[0]
    assert isinstance(call(golden_collection, golden_runs[0], *arguments).exception, ExistingFileError)
    assert call(golden_collection, golden_runs[0], *arguments, "--force").exit_code == 0
    assert [name.read_bytes() for name in names] == first


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["-o", "frontier.doc"], "give a name that ends in .tsv, .json, .pdf, .svg, .png"),
        (["--weights", "1,many"], "must be numbers from 0 to 1e+09: 'many' is not"),
        (["--weights", "-1"], "from 0 to"),
    ],
)
def test_command_refuses_what_it_cannot_do(
    golden_collection: Collection, golden_runs: list[Path], arguments: list[str], said: str
) -> None:
    result = call(golden_collection, golden_runs[0], *arguments)
    assert result.exit_code == 2 or isinstance(result.exception, EvenrankError)
    assert said in result.output + str(result.exception)
