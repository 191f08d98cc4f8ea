"""Reads that give less than was asked for change nothing; reads that fail are an error in words."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evenrank.retrieval.engine.indexing import build_index
from evenrank.trec.import_files import import_collection
from tests.robustness.commands import PROGRAM, leftovers, run
from tests.robustness.small_files import import_words, small_files

SOURCE = Path(__file__).with_name("short_reads.c")
COMPILER = shutil.which("cc") or shutil.which("gcc")


def has_strace() -> bool:
    """Whether processes can be traced here."""
    if shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True).returncode == 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection with an index, a run and a judgments file."""
    made = tmp_path_factory.mktemp("reads")
    build_index(import_collection(made / "c", small_files(made / "files", 300))).close()
    rank = ["rank", made / "c", "--task", 1, "--policy", "relevance", "--topics", "all", "-o", made / "run.tsv"]
    assert run(rank).returncode == 0
    (made / "qrels").write_text("".join(f"1 0 {page} {page % 2}\n" for page in range(1, 100)))
    assert run(["judgments", "import", made / "store", made / "qrels"]).returncode == 0
    return made


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if COMPILER is None:
        pytest.skip("needs a C compiler")
    made = tmp_path_factory.mktemp("library") / "short_reads.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-O1", "-o", made, SOURCE, "-ldl"], check=True)
    return made


def words_of(name: str, folder: Path, out: Path) -> list[object]:
    c, run_file = folder / "c", folder / "run.tsv"
    return {
        "import": import_words(out, small_files(folder / "files", 300)),
        "evaluate": ["evaluate", c, run_file, "--format", "json"],
        "search": ["search", c, "river", "--format", "tsv"],
        "rank": ["rank", c, "--task", 1, "--policy", "relevance", "--from", run_file, "--topics", "all", "-o", out],
        "convert": ["run", "convert", run_file, out],
        "judgments export": ["judgments", "export", folder / "store", "-o", out],
        "doctor": ["doctor", c],
    }[name]  # type: ignore[return-value]


NAMES = ("import", "evaluate", "judgments export")
MORE = ("search", "rank", "convert", "doctor")


PASSING = ("manifest.json", "work.json")
"""Files with the time at which they were written."""


def content(place: Path) -> dict[str, bytes]:
    """Every file below a place, or the file itself."""
    files = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())
    return {str(path.relative_to(place)): path.read_bytes() for path in files if path.name not in PASSING}


def test_the_library_shortens_reads_below_the_folder(folder: Path, library: Path) -> None:
    environment = {**os.environ, "LD_PRELOAD": str(library), "EVENRANK_SHORT_READS": str(folder)}
    code = "import os, sys; print(len(os.read(os.open(sys.argv[1], os.O_RDONLY), 300)))"
    words = [sys.executable, "-c", code, str(folder / "qrels")]
    assert subprocess.run(words, env=environment, capture_output=True, text=True).stdout == "101\n"


@pytest.mark.parametrize("name", [*NAMES, *(pytest.param(name, marks=pytest.mark.long) for name in MORE)])
def test_short_reads_change_nothing(name: str, folder: Path, library: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "LD_PRELOAD": str(library), "EVENRANK_SHORT_READS": str(folder)}
    usual = run(words_of(name, folder, tmp_path / "usually"))
    short = run(words_of(name, folder, tmp_path / "this-time"), env=environment)
    assert usual.returncode == short.returncode == 0, short.stderr
    assert short.stdout.replace("this-time", "usually") == usual.stdout
    assert content(tmp_path / "this-time") == content(tmp_path / "usually")


@pytest.mark.skipif(not has_strace(), reason="needs strace, and the right to trace")
@pytest.mark.parametrize(
    ("name", "path"),
    [("import", "files/metadata.json"), ("evaluate", "run.tsv"), ("convert", "run.tsv"), ("judgments export", "store")],
)
def test_a_disk_that_cannot_be_read_is_an_error_in_words(name: str, path: str, folder: Path, tmp_path: Path) -> None:
    traced = ["strace", "-f", "-qq", "-o", "/dev/null", "-P", str(folder / path), "-e", "trace=read,pread64"]
    traced += ["-e", "inject=read,pread64:error=EIO", *PROGRAM, *map(str, words_of(name, folder, tmp_path / "out"))]
    ended = subprocess.run(traced, capture_output=True, text=True, timeout=180)
    assert ended.returncode == 2, ended.stderr
    assert "Traceback" not in ended.stderr
    assert Path(path).name in ended.stderr
    assert leftovers(tmp_path) == []
    assert not (tmp_path / "out").exists()
