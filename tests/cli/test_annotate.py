"""`evenrank annotate` as a user calls it."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

sys.path.insert(0, str(Path(__file__).parents[1] / "wikipedia" / "annotate"))
from dump_sample import write_sample

from evenrank.cli.annotate import command
from evenrank.cli.main import cli
from evenrank.errors import InputError


@pytest.fixture
def options(tmp_path) -> list[str]:
    dump, wikidata, ids = write_sample(tmp_path)
    files = ["--dump", str(dump), "--wikidata", str(wikidata), "--wikidata-ids", str(ids)]
    return [str(tmp_path / "metadata.json.gz"), *files, "--workers", "1"]


def run(options: list[str]):
    return CliRunner().invoke(command, options, catch_exceptions=False)


def test_the_coverage_goes_to_standard_output_and_talk_to_standard_error(options):
    result = run(options)
    assert result.exit_code == 0
    assert result.stdout.startswith("group")
    assert "all pages" in result.stdout
    assert "11 pages in" in result.stderr
    assert ".about.json" in result.stderr
    assert "female" not in result.output


def test_the_output_can_be_imported(options, tmp_path):
    run(options)
    arguments = ["collection", "import", str(tmp_path / "collection"), "--metadata", options[0]]
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "collection").is_dir()


def test_without_gender(options):
    run([*options, "--no-gender"])
    with gzip.open(options[0], "rt", encoding="utf-8") as file:
        assert all("gender" not in json.loads(line) for line in file)


def test_caps_of_quality_features(options):
    run([*options, "--cap", "headings=5", "--cap", "references=p95"])
    caps = json.loads(Path(f"{options[0]}.about.json").read_bytes())["quality"]["caps"]
    assert (caps["media"], caps["headings"]) == (5, 5)
    assert caps["references"] == pytest.approx(20, rel=0.01)


def test_a_bad_cap_is_refused(options):
    result = CliRunner().invoke(command, [*options, "--cap", "headings=many"])
    assert result.exit_code == 2
    assert "give a number or p95" in result.stderr


def test_an_endless_cap_an_input_as_output_and_a_folder_are_refused(options, tmp_path):
    assert CliRunner().invoke(command, [*options, "--cap", "headings=nan"]).exit_code == 2
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for out, said in ((options[2], "would be lost"), (str(tmp_path), "a folder")):
        with pytest.raises(InputError, match=said):
            run([out, *options[1:]])
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_the_figure_is_the_same_every_time(options, tmp_path, suffix):
    pytest.importorskip("matplotlib", reason="the extra 'report' is not installed")
    for name in ("one", "two"):
        assert run([*options, "--figure", str(tmp_path / f"{name}.{suffix}")]).exit_code == 0
    first, second = (tmp_path / f"{name}.{suffix}" for name in ("one", "two"))
    assert first.read_bytes() == second.read_bytes()
    assert first.stat().st_size > 2000


def test_a_figure_of_an_unknown_kind_is_refused_before_any_work(options, tmp_path):
    result = CliRunner().invoke(cli, ["annotate", *options, "--figure", str(tmp_path / "x.bmp")])
    assert "choose an ending from .pdf, .svg, .png" in str(result.exception)
    assert not Path(options[0]).exists()


@pytest.mark.parametrize("option", ["--wikidata", "--wikidata-ids", "--history"])
def test_a_file_of_another_kind_is_refused(options, tmp_path, option):
    (tmp_path / "junk").write_text("junk\n")
    with pytest.raises(InputError, match=r"junk: no .* in it \(give "):
        run([*without(options, option), option, str(tmp_path / "junk")])
    assert not Path(options[0]).exists()


def without(options: list[str], option: str) -> list[str]:
    """The options but one and its file."""
    place = options.index(option) if option in options else len(options)
    return [*options[:place], *options[place + 2 :]]


def test_two_files_for_one_wiki_are_refused(options, tmp_path):
    result = CliRunner().invoke(command, [*options, "--wikidata-ids", options[options.index("--wikidata-ids") + 1]])
    assert result.exit_code == 2
    assert "2 for 1 wiki: give one for each" in result.stderr
