"""Several wikis from one reading of Wikidata: each file as if its wiki had been annotated alone."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from dump_sample import HEAD, TAIL, page, write_sample

from evenrank.cli.main import cli
from evenrank.errors import EvenrankError, InputError
from evenrank.wikipedia.annotate import labeller, stage
from evenrank.wikipedia.annotate.labeller import annotate, annotate_wikis, output_of
from evenrank.wikipedia.annotate.settings import AnnotateInputs, AnnotateSettings
from evenrank.wikipedia.annotate.write import about_path


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, AnnotateInputs]:
    """English and German dumps with different page ids, and the Wikidata dump that knows both."""
    english = AnnotateInputs(*write_sample(tmp_path))
    german = tmp_path / "dewiki.xml"
    names = HEAD.replace("//en.", "//de.").replace('xml:lang="en"', 'xml:lang="de"').replace("Category", "Kategorie")
    pages = [page(71, "Ada Example", "Text. [[Kategorie:Eins]] [[Datei:Bild.jpg]]"), page(72, "Niemand", "Nichts.")]
    pages.append(page(73, "Turm von Irgendwo"))
    german.write_text(names + "".join(pages) + TAIL, "utf-8")
    return {"enwiki": replace(english, wikidata_ids=None), "dewiki": AnnotateInputs(german, english.wikidata)}


def alone(folder: Path, inputs: dict[str, AnnotateInputs]) -> dict[str, tuple[bytes, bytes]]:
    """The files of wikis that are annotated one by one."""
    found = {}
    for wiki, files in inputs.items():
        out = folder / "alone" / f"{wiki}.json.gz"
        annotate(out, files, AnnotateSettings(wiki=wiki), n_workers=1)
        found[wiki] = (out.read_bytes(), about_path(out).read_bytes())
    return found


def together(folder: Path, inputs: dict[str, AnnotateInputs]) -> dict[str, tuple[bytes, bytes]]:
    outs = {wiki: output_of(folder, wiki) for wiki in inputs}
    return {wiki: (out.read_bytes(), about_path(out).read_bytes()) for wiki, out in outs.items()}


def test_wikidata_is_read_once_and_each_file_is_that_of_its_wiki_alone(
    inputs: dict[str, AnnotateInputs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = alone(tmp_path, inputs)
    opened: Counter[str] = Counter()
    read = stage.read_batches

    def counting(path: Path, *arguments: object, **options: object):  # type: ignore[no-untyped-def]
        opened[path.name] += 1
        return read(path, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(stage, "read_batches", counting)
    reports = annotate_wikis(tmp_path / "both", inputs, n_workers=1)
    assert together(tmp_path / "both", inputs) == expected
    assert opened[inputs["enwiki"].wikidata.name] == 1  # type: ignore[union-attr]
    assert {wiki: report.n_pages for wiki, report in reports.items()} == {"enwiki": 11, "dewiki": 3}
    assert sorted(path.name for path in (tmp_path / "both").iterdir() if path.name.startswith(".")) == []


def test_each_wiki_names_classes_in_its_own_words(inputs: dict[str, AnnotateInputs], tmp_path: Path) -> None:
    annotate_wikis(tmp_path / "both", inputs, n_workers=1)
    found = {}
    for wiki in inputs:
        with gzip.open(output_of(tmp_path / "both", wiki)) as file:
            found[wiki] = {record["page_id"]: record["instance_of"] for record in map(json.loads, file)}
    assert found["enwiki"][5] == ["Tower"]
    assert found["dewiki"] == {71: [], 72: [], 73: ["Turm"]}


def test_a_stopped_run_resumes_with_the_wiki_that_is_missing(
    inputs: dict[str, AnnotateInputs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop_at_german(out: Path, *arguments: object, **options: object):  # type: ignore[no-untyped-def]
        if "dewiki" in out.name:
            raise KeyboardInterrupt
        return annotate(out, *arguments, **options)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(labeller, "annotate", stop_at_german)
        with pytest.raises(KeyboardInterrupt):
            annotate_wikis(tmp_path / "both", inputs, n_workers=1)
    with pytest.raises(EvenrankError, match="unfinished work with other inputs"):
        annotate_wikis(tmp_path / "both", {"enwiki": inputs["enwiki"], "frwiki": inputs["dewiki"]}, n_workers=1)
    opened: list[str] = []
    read = stage.read_batches

    def noting(path: Path, *arguments: object, **options: object):  # type: ignore[no-untyped-def]
        opened.append(path.name)
        return read(path, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(stage, "read_batches", noting)
    assert set(annotate_wikis(tmp_path / "both", inputs, n_workers=1)) == {"dewiki"}
    assert opened == [inputs["dewiki"].dump.name]
    assert together(tmp_path / "both", inputs) == alone(tmp_path, inputs)


def test_the_command_takes_a_dump_for_each_wiki(inputs: dict[str, AnnotateInputs], tmp_path: Path) -> None:
    wikidata = str(inputs["enwiki"].wikidata)
    dumps = [str(files.dump) for files in inputs.values()]
    words = ["annotate", str(tmp_path / "both"), "--wiki", "enwiki,dewiki", "--wikidata", wikidata, "--workers", "1"]
    done = CliRunner().invoke(cli, [*words, "--dump", dumps[0], "--dump", dumps[1]])
    assert done.exit_code == 0, done.output
    assert together(tmp_path / "both", inputs) == alone(tmp_path, inputs)
    short = CliRunner().invoke(cli, [*words, "--dump", dumps[0]])
    assert short.exit_code == 2
    assert "1 for 2 wikis" in short.output


def test_wikis_without_one_wikidata_dump_are_refused(inputs: dict[str, AnnotateInputs], tmp_path: Path) -> None:
    with pytest.raises(EvenrankError, match="one Wikidata dump"):
        annotate_wikis(tmp_path, {"enwiki": inputs["enwiki"], "dewiki": replace(inputs["dewiki"], wikidata=None)})
    cut = tmp_path / "cut.json"
    cut.write_bytes(inputs["enwiki"].wikidata.read_bytes()[:-3])  # type: ignore[union-attr]
    with pytest.raises(InputError, match="cut off"):
        annotate_wikis(tmp_path / "both", {wiki: replace(f, wikidata=cut) for wiki, f in inputs.items()}, n_workers=1)
    assert not list((tmp_path / "both").iterdir())
