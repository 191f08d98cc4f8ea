"""`evenrank learn`, and what it learned in the other commands, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from evenrank.cli.main import cli
from evenrank.errors import EvenrankError
from evenrank.io.faults import FaultLog
from evenrank.retrieval.engine.indexing import build_index
from evenrank.retrieval.learn.learned_model import model_fingerprint
from evenrank.trec.collection import Collection
from evenrank.trec.generate.generate import generate_collection
from evenrank.trec.generate.settings import GenerateSettings


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def told(result: Result) -> str:
    """What a failed command says."""
    assert result.exit_code != 0
    assert isinstance(result.exception, EvenrankError | SystemExit)
    return str(result.exception) if isinstance(result.exception, EvenrankError) else result.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small collection with an index, before and after `evenrank learn`."""
    path = tmp_path_factory.mktemp("learn") / "collection"
    collection = generate_collection(path, GenerateSettings(n_pages=800, n_train_topics=4, n_eval_topics=2, seed=6))
    build_index(collection, FaultLog(), n_threads=1).close()
    result = run("learn", path)
    assert result.exit_code == 0, result.output + str(result.exception)
    assert (path / "relevance-model.json").is_file()
    assert "learned from 4 topics" in result.stderr
    for word in ("P@10", "R-precision", "untrained", "expected calibration error", "feature"):
        assert word in result.stdout
    return path


def test_the_same_seed_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    first, again, other = tmp_path / "1.json", tmp_path / "2.json", tmp_path / "3.json"
    for path, seed in ((first, 0), (again, 0), (other, 1)):
        result = run("learn", folder, "-o", path, "--seed", seed, "--set", "n_learned=200", "--format", "json")
        assert result.exit_code == 0, result.output
    assert first.read_bytes() == again.read_bytes() != other.read_bytes()
    report = json.loads(result.stdout)
    assert report["n_topics"] == 4
    assert set(report["learned"]) == set(report["untrained"]) == {"precision_at_10", "r_precision"}
    saved = json.loads(other.read_text())
    assert saved["settings"]["seed"] == 1
    assert saved["settings"]["n_learned"] == 200
    assert {"evenrank", "numpy", "python"} <= set(saved["versions"])
    held_out = [topic for fold in saved["cross_fit"]["folds"] for topic in fold["held_out"]]
    assert sorted(held_out) == [topic.id for topic in Collection.open(folder).topics if topic.split == "train"]


def test_search_says_why(folder: Path) -> None:
    words = Collection.open(folder).topics[0].title
    result = run("search", folder, words, "-k", 3, "--model", "learned", "--why", "--format", "json")
    assert result.exit_code == 0, result.output
    hits = json.loads(result.stdout)
    assert len(hits) == 3
    assert all(0.0 <= hit["probability"] <= 1.0 and hit["words"] for hit in hits)
    for hit in hits:
        assert sum(hit["features"].values()) == pytest.approx(hit["score"], abs=1e-3)
    table = run("search", folder, words, "-k", 2, "--model", folder / "relevance-model.json", "--why").stdout
    assert "probability" in table
    assert "features" in table
    plain = run("search", folder, words, "-k", 2, "--why", "--format", "json")
    assert all(hit["words"] and "probability" not in hit for hit in json.loads(plain.stdout))


def test_rank_and_pareto_name_the_model(folder: Path, tmp_path: Path) -> None:
    mark = model_fingerprint(folder / "relevance-model.json")
    output = tmp_path / "fair.tsv"
    common = ("--model", "learned", "--topics", "eval", "--workers", 1)
    result = run("rank", folder, "--task", 2, "--policy", "relevance", "-o", output, *common)
    assert result.exit_code == 0, result.output + str(result.exception)
    record = json.loads((tmp_path / "fair.tsv.json").read_text())
    assert record["candidates"]["model"]["fingerprint"] == mark
    untrained = tmp_path / "words.tsv"
    run("rank", folder, "--task", 2, "--policy", "relevance", "-o", untrained, "--workers", 1)
    assert json.loads((tmp_path / "words.tsv.json").read_text())["candidates"]["model"] == {"kind": "untrained"}
    assert output.read_bytes() != untrained.read_bytes()
    result = run("pareto", folder, "--weights", "0,1", "-o", tmp_path / "p.json", *common)
    assert result.exit_code == 0, result.output + str(result.exception)
    assert json.loads((tmp_path / "p.json").read_text())["model"]["fingerprint"] == mark


def test_workers_give_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    outputs = [tmp_path / "1.tsv", tmp_path / "2.tsv"]
    for workers, output in enumerate(outputs, 1):
        arguments = ("--task", 2, "--policy", "deficit", "--model", "learned", "--topics", "all", "-o", output)
        result = run("rank", folder, *arguments, "--workers", workers)
        assert result.exit_code == 0, result.output + str(result.exception)
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


@pytest.mark.parametrize(
    "options, message",
    [
        (["--set", "n_learned=0"], "n_learned=0 is too small"),
        (["--set", "trees=5"], "unknown setting 'trees'; choose from n_forms, n_learned"),
        (["--set", "seed=5"], "--seed"),
        (["--set", "n_forms=1e9"], "not a whole number"),
        (["--set", "ridge=-1"], "ridge=-1 is too small"),
        (["--seed", str(2**63)], "too large for a seed"),
    ],
)
def test_mistakes_are_told_and_nothing_is_written(
    options: list[str], message: str, folder: Path, tmp_path: Path
) -> None:
    assert message in told(run("learn", folder, "-o", tmp_path / "model.json", *options))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["manifest.json", "index/model.json", "source/trec_topics.json.gz", "desk.sqlite"])
def test_results_never_replace_files_of_the_collection(name: str, folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert "own files" in told(run("learn", folder, "-o", folder / name))
    assert "own files" in told(run("rank", folder, "--task", 2, "--policy", "relevance", "-o", folder / name))
    record = ("--task", 2, "--policy", "relevance", "-o", folder / "manifest")  # its record would be manifest.json
    assert "own files" in told(run("rank", folder, *record))
    assert "own files" in told(run("pareto", folder, "-o", folder / "relevance-model.json"))
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


@pytest.mark.parametrize("name", ["file/model.json", "file/deep/model.json", "."])
def test_an_output_that_cannot_be_written_is_told_before_the_work(name: str, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    output = tmp_path / name
    for command in (("learn",), ("rank", "--task", 2, "--policy", "relevance")):
        result = run(command[0], folder, *command[1:], "-o", output)
        assert result.exit_code == 2
        assert "-o" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="needs /dev/null")
def test_a_device_is_written_to_and_nothing_beside_it(folder: Path) -> None:
    result = run("rank", folder, "--task", 2, "--policy", "relevance", "--workers", 1, "-o", "/dev/null")
    assert result.exit_code == 0, result.output
    assert not Path("/dev/null.json").exists()


def test_without_an_index_or_topics_it_is_said(golden_collection: Collection, tmp_path: Path) -> None:
    assert "evenrank index" in told(run("learn", golden_collection.path))
    few = generate_collection(tmp_path / "few", GenerateSettings(n_pages=300, n_train_topics=1, n_eval_topics=1))
    build_index(few, FaultLog(), n_threads=1).close()
    assert "1 training topics with relevant pages: at least 2" in told(run("learn", few.path))
    assert "no learned model" in told(run("search", few.path, "river", "--model", "learned"))


def test_a_tagging_rate_is_kept_and_raises_what_is_expected(folder: Path, tmp_path: Path) -> None:
    counts = {}
    for rate in (1.0, 0.5):
        result = run("learn", folder, "-o", tmp_path / "model.json", "--tagging-rate", rate, "--format", "json")
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["tagging_rate"] == rate
        saved = json.loads((tmp_path / "model.json").read_text())
        assert saved["settings"]["tagging_rate"] == saved["calibration"]["settings"]["tagging_rate"] == rate
        counts[rate] = saved["calibration"]["prior"]
    assert counts[0.5] == pytest.approx(2 * counts[1.0], rel=0.3)
    assert "not in the range" in told(run("learn", folder, "--tagging-rate", 0))
    assert "not in the range" in told(run("learn", folder, "--tagging-rate", 1.5))
    assert "tagging_rate=2 is not above 0" in told(run("learn", folder, "--set", "tagging_rate=2"))


def test_a_tagging_rate_from_a_judged_sample(folder: Path, tmp_path: Path) -> None:
    topic = next(topic for topic in Collection.open(folder).topics if topic.split == "train")
    unlisted = [page for page in range(1, 200) if page not in topic.rel_docs][:2]
    lines = [f"{topic.id} 0 {page} 1" for page in [*topic.rel_docs[:6].tolist(), *unlisted]]
    (tmp_path / "sample.qrels").write_text("\n".join(lines) + "\n")
    model = tmp_path / "model.json"
    result = run("learn", folder, "-o", model, "--tagging-sample", tmp_path / "sample.qrels")
    assert result.exit_code == 0, result.output
    assert "tagging rate 0.750 (0.409 to 0.929): 6 of 8 judged relevant pages are tagged" in result.stderr
    assert json.loads(model.read_text())["settings"]["tagging_rate"] == 0.75
    both = run("learn", folder, "--tagging-rate", 0.5, "--tagging-sample", tmp_path / "sample.qrels")
    assert "give --tagging-rate, or" in told(both)
