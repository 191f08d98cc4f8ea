"""The track's published tables made again: manifest, all runs on a small collection, resumption, what is missing."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner

import evenrank
from evenrank.cli.main import cli
from evenrank.errors import EvenrankError, MissingExtraError
from evenrank.experiments import reproduce as module
from evenrank.experiments.reproduce import MARKS, official_data, published_tables, reproduce, track_shape
from evenrank.policies.registry import POLICIES

PUBLISHED = Path(__file__).parent.parent / "published"
SMALL = {"n_pages": 1500, "n_topics": 8}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, evenrank.Reproduction]:
    folder = tmp_path_factory.mktemp("reproduced")
    return folder, reproduce(2021, folder, **SMALL)  # type: ignore[arg-type]


@pytest.mark.parametrize("year, counts", [(2021, (13, 11)), (2022, (27, 11))])
def test_the_manifest_has_the_published_figures(year: int, counts: tuple[int, int]) -> None:
    tables = published_tables(year)
    for task, n_runs in zip((1, 2), counts, strict=True):
        with (PUBLISHED / f"t{task}_{year}_run_scores.csv").open() as file:
            rows = {row["run_name"]: row for row in csv.DictReader(file)}
        runs = [run for run in tables.runs if run.task == task]
        assert {run.name for run in runs} == set(rows)
        assert len(runs) == n_runs
        for run in runs:
            means = {name: value for name, value in run.published.items() if name not in ("low", "high")}
            assert means == {name: float(rows[run.name][name]) for name in means}
            main = "Score" if task == 1 else "EE-L"
            assert run.published["low"] == float(rows[run.name][f"{main}.Lo"])
            assert run.published["high"] == float(rows[run.name][f"{main}.Hi"])
        assert tables.baseline[task] in rows


def test_every_run_of_2021_is_made_as_its_policy_says() -> None:
    for run in published_tables(2021).runs:
        assert run.is_made
        assert run.mark in MARKS
        assert run.missing
        policy = POLICIES[run.policy]
        assert run.name in (*policy.paper_runs, *getattr(policy, "near_runs", ()))
        wanted = getattr(policy, "run_settings", {}).get(run.name, "")
        assert {pair.partition("=")[0]: pair.partition("=")[2] for pair in wanted.split(",") if pair}.items() <= dict(
            run.settings
        ).items()


def test_all_runs_are_made_and_scored(made: tuple[Path, evenrank.Reproduction]) -> None:
    folder, found = made
    assert set(found.ours) == {run.name for run in found.tables.runs}
    assert len(found.ours) == 24
    collection = next((folder / "worlds").iterdir())
    checked = CliRunner().invoke(
        cli, ["run", "check", str(collection), *map(str, sorted((folder / "runs").glob("*.tsv.gz")))]
    )
    assert checked.exit_code == 0, checked.output
    for task in (1, 2):
        assert len(found.table(task).rows) == len(found.effects_table(task).rows) == len(found.runs(task))
        assert -1.0 <= found.tau(task) <= 1.0
        base = next(run for run in found.runs(task) if run.name == found.tables.baseline[task])
        assert found.effects(base) == (0.0, 0.0, 0.0)
    best = next(run for run in found.runs(1) if run.name == "UoGTrDExpDisT1")
    assert found.effects(best)[0] == pytest.approx(0.17615 / 0.137256 - 1.0)
    record = orjson.loads((folder / "results.json").read_bytes())
    assert record["runs"][0]["ours"]["scores"]["Score"] == found.ours["UoGTrDExpDisT1"].scores["Score"]
    for name in ("report.html", "tables/task1.tex", "tables/task2-effects.tsv"):
        assert (folder / name).stat().st_size > 100


def test_a_run_without_weights_is_marked(made: tuple[Path, evenrank.Reproduction]) -> None:
    by_name = {run.name: run for run in made[1].tables.runs}
    assert by_name["1step_pair"].mark == "approximate"
    assert "--encoder" in by_name["1step_pair"].missing
    assert by_name["UoGTrRelT1"].mark == "close"
    assert any("generated" in note for note in made[1].notes())


def test_runs_are_kept_and_the_same_again(
    made: tuple[Path, evenrank.Reproduction], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = made
    files = {path.name: path.read_bytes() for path in (folder / "runs").iterdir()}
    report = (folder / "results.json").read_bytes()
    (folder / "runs" / "RUN1.tsv.gz").write_bytes(b"half a run")
    (folder / "runs" / "RMITRet.made.json").unlink()
    batches: list[list[str]] = []
    make = module._make_batch
    monkeypatch.setattr(module, "_make_batch", lambda batch: batches.append(make(batch)) or batches[-1])
    reproduce(2021, folder, **SMALL)  # type: ignore[arg-type]
    assert sorted(name for names in batches for name in names) == ["RMITRet", "RUN1"]
    assert {path.name: path.read_bytes() for path in (folder / "runs").iterdir()} == files
    assert (folder / "results.json").read_bytes() == report


def test_2022_makes_the_runs_whose_components_are_known(tmp_path: Path) -> None:
    arguments = ["experiment", "reproduce-2022", str(tmp_path), "--pages", "1500", "--topics", "8", "--workers", "1"]
    told = CliRunner().invoke(cli, [*arguments, "--format", "json", "--quiet"])
    assert told.exit_code == 0, told.output
    record = orjson.loads(told.stdout)
    made = {run["name"] for run in record["runs"] if run["ours"] is not None}
    assert made == {"ans_bm25", "ans_bm25_e", "UDInfo_F_bm25", "UoGRelvOnlyT1", "UogTRelvOnlyT2"}
    assert any("compare orders only" in note for note in record["notes"])


def test_how_to_get_the_official_files() -> None:
    said = "\n".join(official_data(2021))
    assert "ae251e9ae0c9fb3a58c3b12e216dcea7" in said
    assert "56,827,296 bytes" in said
    assert "--ir-dataset trec-fair/2021/eval" in said
    with pytest.raises(EvenrankError, match="2021, 2022"):
        official_data(2020)


def test_the_generated_collection_has_the_shape_of_the_track() -> None:
    settings = track_shape(6_023_415)
    assert (settings.n_train_topics, settings.n_eval_topics) == (57, 49)
    assert 133 not in settings.topic_ids
    assert settings.topic_ids[-1] == 150
    assert settings.train_relevant == pytest.approx(137 * settings.eval_relevant, rel=0.01)  # type: ignore[operator]
    with pytest.raises(EvenrankError, match="too few"):
        track_shape(1000, 2)


def test_without_lightgbm_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"evenrank\[learn\]"):
        reproduce(2021, tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_a_network_of_ones_own_takes_the_place_of_the_approximation(
    made: tuple[Path, evenrank.Reproduction], tmp_path: Path
) -> None:
    """With weights, runs of RoBERTa are made again and no longer approximate; the others are kept as they are."""
    pytest.importorskip("onnxruntime")
    from evenrank.retrieval.encode.encoder import EncoderSettings
    from tests.retrieval.tiny_roberta import write_tiny_roberta

    folder = tmp_path / "again"
    shutil.copytree(made[0], folder)
    before = {path.name: path.read_bytes() for path in (folder / "runs").glob("*.tsv.gz")}
    encoder = EncoderSettings(str(write_tiny_roberta(tmp_path / "roberta").folder))
    found = reproduce(2021, folder, encoder=encoder, **SMALL)  # type: ignore[arg-type]
    changed = {name for name, content in before.items() if (folder / "runs" / name).read_bytes() != content}
    of_network = {f"{run.name}.tsv.gz" for run in found.tables.runs if run.encoder}
    assert changed
    assert changed <= of_network
    assert {run.mark for run in found.tables.runs if run.encoder == "RoBERTa"} == {"reconstructed"}
