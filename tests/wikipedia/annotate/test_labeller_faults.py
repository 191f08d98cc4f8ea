"""What goes wrong with large files, disks and processes: clear words, nothing half-written, nothing lost."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from dump_sample import ENTITIES, HEAD, PAGES, TAIL, page, write_sample
from wikidata_sample import dump_bytes, dump_line

from evenrank.errors import EvenrankError, InputError
from evenrank.io.compressed import compression_of
from evenrank.wikipedia.annotate.labeller import annotate
from evenrank.wikipedia.annotate.settings import AnnotateInputs, AnnotateSettings

HERE = Path(__file__).parent


@pytest.fixture
def inputs(tmp_path) -> AnnotateInputs:
    (tmp_path / "dumps").mkdir()
    return AnnotateInputs(*write_sample(tmp_path / "dumps"))


@pytest.fixture
def out(tmp_path) -> Path:
    return tmp_path / "out" / "metadata.json.gz"


def left_behind(out: Path) -> list[str]:
    return sorted(path.name for path in out.parent.iterdir()) if out.parent.exists() else []


@pytest.mark.parametrize("name", ["dump", "wikidata"])
@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress])
def test_a_dump_that_is_cut_off_is_refused(inputs, out, name, compress):
    path = getattr(inputs, name)
    packed = compress(path.read_bytes())
    path.write_bytes(packed[: len(packed) * 2 // 3])
    assert compression_of(path.read_bytes()) == compression_of(packed)
    with pytest.raises(InputError, match=rf"{path.name}: .*cut off"):
        annotate(out, inputs, n_workers=1)
    assert left_behind(out) == []


def test_no_output_is_written_over_a_dump(inputs, out, tmp_path):
    before = {path: path.read_bytes() for path in inputs.files().values()}
    for path in before:
        with pytest.raises(InputError, match="one of the files to read, which would be lost"):
            annotate(path, inputs, n_workers=1)
        with pytest.raises(InputError, match="one of the files to read, which would be lost"):
            annotate(out, inputs, n_workers=1, subjects=path)
    with pytest.raises(InputError, match="a folder, where a file is to be written"):
        annotate(tmp_path, inputs, n_workers=1)
    assert {path: path.read_bytes() for path in before} == before


def test_broken_lines_are_counted_and_named(inputs, out):
    lines = dump_bytes(ENTITIES).split(b"\n")
    lines[3:3] = [b"no entity,", dump_line(ENTITIES[0])[:200] + b","]
    inputs.wikidata.write_bytes(b"\n".join(lines))
    report = annotate(out, inputs, n_workers=1)
    tally = report.tallies["entities"]
    assert tally["counts"]["faults"] == 2
    assert tally["counts"]["entities"] == len(ENTITIES)
    assert [line for _, line, _, _ in tally["faults"]] == [4, 5]


def test_a_broken_page_costs_only_itself(inputs, out):
    broken = page(77, "Broken").replace("<title>", "<tilte>")
    inputs.dump.write_text(HEAD + PAGES[0] + broken + "".join(PAGES[1:]) + TAIL, "utf-8")
    report = annotate(out, inputs, n_workers=1)
    assert (report.n_pages, report.tallies["pages"]["counts"]["faults"]) == (11, 1)


def test_a_file_without_articles_is_refused(inputs, out):
    inputs.dump.write_text(HEAD + TAIL, "utf-8")
    with pytest.raises(InputError, match="no articles in it"):
        annotate(out, inputs, n_workers=1)
    assert left_behind(out) == []


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("wikidata", "no entities in it .*JSON dump of Wikidata"),
        ("wikidata_ids", "no pages in it .*page_props"),
        ("history", "no pages in it .*stub-meta-history"),
    ],
)
@pytest.mark.parametrize("junk", [b"", b"junk\n" * 30])
def test_a_file_of_which_no_record_can_be_read_is_refused(inputs, out, tmp_path, name, wanted, junk):
    path = tmp_path / "junk"
    path.write_bytes(junk)
    with pytest.raises(InputError, match=rf"junk: {wanted}") as caught:
        annotate(out, replace(inputs, **{name: path}), n_workers=1)
    n_lines = len(caught.value.faults) - 1 + caught.value.n_more
    assert n_lines == (30 if junk and name == "wikidata" else 0)
    assert left_behind(out) == []


def test_a_missing_file_is_told_before_any_work(inputs, out):
    with pytest.raises(InputError, match=r"gone\.json: no such file"):
        annotate(out, replace(inputs, wikidata=Path("gone.json")))
    assert left_behind(out) == []


KILLED = """
import os, signal, sys
sys.path.insert(0, {here!r})
from pathlib import Path
from evenrank.wikipedia.annotate import labeller, stage
from evenrank.wikipedia.annotate.settings import AnnotateInputs

stage.BATCHES_PER_COMMIT = 1
kept, n_left = stage.WorkStore.add, [int(sys.argv[1])]

def add(self, *rest):
    kept(self, *rest)
    n_left[0] -= 1
    if not n_left[0]:
        os.kill(os.getpid(), signal.SIGKILL)

stage.WorkStore.add = add
labeller.annotate(Path(sys.argv[2]), AnnotateInputs(*map(Path, sys.argv[3:])), n_workers=1, batch_bytes=1500)
"""


@pytest.mark.parametrize("n_commits", [1, 3, 7, 12])
def test_killed_in_the_middle_the_same_command_gives_the_same_bytes(inputs, out, tmp_path, n_commits):
    undisturbed = tmp_path / "undisturbed.json.gz"
    annotate(undisturbed, inputs, n_workers=1)
    files = [str(path) for path in inputs.files().values()]
    script = KILLED.format(here=str(HERE))
    killed = subprocess.run([sys.executable, "-c", script, str(n_commits), str(out), *files], check=False)
    assert killed.returncode == -9
    assert left_behind(out) == [".metadata.json.gz.lock", ".metadata.json.gz.work"]
    annotate(out, inputs, n_workers=1, batch_bytes=1500)
    assert out.read_bytes() == undisturbed.read_bytes()
    about, expected = (Path(f"{path}.about.json").read_bytes() for path in (out, undisturbed))
    assert json.loads(about) == json.loads(expected)
    assert left_behind(out) == ["metadata.json.gz", "metadata.json.gz.about.json"]


def test_unfinished_work_of_another_command_is_not_used(inputs, out, tmp_path):
    script = KILLED.format(here=str(HERE))
    files = [str(path) for path in inputs.files().values()]
    subprocess.run([sys.executable, "-c", script, "2", str(out), *files], check=False)
    with pytest.raises(EvenrankError, match=r"unfinished work with other inputs or settings .*--fresh"):
        annotate(out, inputs, AnnotateSettings(with_gender=False), n_workers=1)
    annotate(out, inputs, AnnotateSettings(with_gender=False), n_workers=1, is_fresh=True)
    assert left_behind(out) == ["metadata.json.gz", "metadata.json.gz.about.json"]


FULL = """
import sys
from pathlib import Path
from evenrank.wikipedia.annotate.labeller import annotate
from evenrank.wikipedia.annotate.settings import AnnotateInputs
from evenrank.errors import EvenrankError
try:
    annotate(Path(sys.argv[1]), AnnotateInputs(*map(Path, sys.argv[2:])), n_workers=1)
except EvenrankError as error:
    sys.exit(f"told: {error}")
"""


def limit_files(n_bytes: int):
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, n_bytes))


@pytest.mark.parametrize("n_bytes", [20_000, 1_500])
def test_a_full_disk_is_told_and_the_output_is_not_half_written(inputs, out, n_bytes):
    """A limit on the size of files stands in for a full disk: the system refuses to write in the same way."""
    files = [str(path) for path in inputs.files().values()]
    command = [sys.executable, "-c", FULL, str(out), *files]
    full = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit_files(n_bytes), check=False)
    assert full.returncode == 1
    assert "told: " in full.stderr
    assert "could not be written" in full.stderr
    assert "Traceback" not in full.stderr
    assert set(left_behind(out)) <= {".metadata.json.gz.work"}
    annotate(out, inputs, n_workers=1)
    assert left_behind(out) == ["metadata.json.gz", "metadata.json.gz.about.json"]


def test_an_output_that_cannot_be_written_does_not_cost_the_work(inputs, out):
    out.parent.mkdir(parents=True)
    out.write_bytes(b"SQLite format 3\0")  # a store, which no result may replace
    with pytest.raises(InputError, match="a database, which the result would replace"):
        annotate(out, inputs, n_workers=1)
    assert left_behind(out) == [".metadata.json.gz.work", "metadata.json.gz"]
    out.unlink()
    inputs.dump.write_bytes(b"x" * inputs.dump.stat().st_size)  # would be refused if it were read again
    assert annotate(out, inputs, n_workers=1).n_pages == 11


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_cannot_be_written(inputs, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    with pytest.raises(InputError, match="could not be written"):
        annotate(tmp_path / "closed" / "in" / "m.gz", inputs)
