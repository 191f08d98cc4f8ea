"""2022 on data sets nobody tuned for: the commands against an implementation that shares nothing with the package."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner

from evenrank.cli.main import cli
from tests.scoring.odd_files_2022 import Files, write_files, write_random_files
from tests.scoring.reference_2022 import ALL, SETS, Data, read_run

CLOSE = 1e-12


def run_command(*arguments: str) -> str:
    result = CliRunner().invoke(cli, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module", params=[(1, True), (2, False)], ids=["regular", "disturbed"])
def imported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Files]:
    folder = tmp_path_factory.mktemp("odd-2022")
    seed, is_regular = request.param
    files = write_files(folder, seed, is_regular=is_regular)
    collection = folder / "collection"
    given = ["--metadata", str(files.metadata), "--eval-topics", str(files.reldocs)]
    run_command("collection", "import", str(collection), *given)
    return collection, files


@pytest.fixture(scope="module")
def reference(imported: tuple[Path, Files]) -> Data:
    return Data.read(imported[1].metadata, imported[1].reldocs)


def expected(data: Data, run: dict[int, list[list[int]]], task: int, groups: str) -> dict[int, dict[str, float]]:
    """Scores of the topics that can be scored."""
    run = {topic: rankings for topic, rankings in run.items() if data.relevant[topic]}
    if task == 1:
        return {topic: data.task1(topic, rankings[0], groups) for topic, rankings in run.items()}
    scored = {topic: rankings for topic, rankings in run.items() if data.target(topic, 2, groups)}
    return {topic: data.task2(topic, rankings, groups) for topic, rankings in scored.items()}


@pytest.mark.parametrize("task", [1, 2])
def test_every_score_of_every_topic_attribute_and_set(
    imported: tuple[Path, Files], reference: Data, task: int, recwarn: pytest.WarningsRecorder
) -> None:
    collection, files = imported
    compare_scores(collection, files, reference, task)
    assert not recwarn.list


def compare_scores(collection: Path, files: Files, reference: Data, task: int) -> int:
    """Compare what the command prints with the reference; how many values were compared."""
    n_compared = 0
    arguments = ["--protocol", "official-2022", "--attributes", "--format", "json"]
    printed = json.loads(run_command("evaluate", str(collection), str(files.runs[task]), *arguments))
    parts = {part["groups"]: part for part in printed["attributes"]} | {"intersection": printed}
    assert set(parts) == {*ALL, *SETS}
    for groups, part in parts.items():
        wanted = expected(reference, read_run(files.runs[task]), task, groups)
        found = {row["topic"]: row["scores"] for row in part["topics"]}
        assert set(found) == set(wanted)
        for topic, scores in wanted.items():
            for name, value in scores.items():
                assert (found[topic][name] is None) == math.isnan(value), (groups, topic, name)
                assert math.isnan(value) or abs(found[topic][name] - value) <= CLOSE, (groups, topic, name)
                n_compared += not math.isnan(value)
        for name in next(iter(wanted.values())):
            defined = [scores[name] for scores in wanted.values() if not math.isnan(scores[name])]
            mean = part["runs"][0]["scores"][name]
            assert mean is None if not defined else mean == pytest.approx(sum(defined) / len(defined), abs=CLOSE)
    return n_compared


@pytest.mark.long
@pytest.mark.parametrize("seed", range(60))
def test_random_data_sets(tmp_path: Path, seed: int) -> None:
    compare_random(tmp_path, seed)


def test_random_data_sets_in_short(tmp_path: Path) -> None:
    compare_random(tmp_path, 1000)


def compare_random(folder: Path, seed: int) -> None:
    files = write_random_files(folder, seed)
    given = ["--metadata", str(files.metadata), "--eval-topics", str(files.reldocs)]
    run_command("collection", "import", str(folder / "collection"), *given)
    reference = Data.read(files.metadata, files.reldocs)
    assert compare_scores(folder / "collection", files, reference, 1) > 0
    if any(reference.target(topic, 2, "intersection") for topic in read_run(files.runs[2])):
        assert compare_scores(folder / "collection", files, reference, 2) > 0


def test_data_sets_have_what_makes_them_odd(imported: tuple[Path, Files], reference: Data) -> None:
    """Otherwise the comparison would say little."""
    pages, relevant = reference.pages, {page for pages in reference.relevant.values() for page in pages}
    assert relevant - set(pages)
    assert (relevant & set(pages)) - set(reference.quality)
    assert any(not pages[page]["popularity"] for page in relevant & set(pages))
    assert {len(pages) for pages in reference.relevant.values()} >= {1, 3}
