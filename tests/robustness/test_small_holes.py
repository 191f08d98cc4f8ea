"""Small holes that were found by attack, each with the input that showed it."""

from __future__ import annotations

import http.server
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from evenrank.core.records import Run
from evenrank.errors import DamagedStoreError, EvenrankError, InputError
from evenrank.io.atomic import atomic_file, atomic_folder
from evenrank.io.json_lines import load_record
from evenrank.io.metadata import read_metadata
from evenrank.io.runs import read_run, write_run
from evenrank.retrieval.engine.engines import open_index
from evenrank.retrieval.engine.indexing import build_index
from evenrank.trec.assessment.votes import create_store, current_votes
from evenrank.trec.collection import Collection
from evenrank.trec.dimensions import DIMENSIONS
from evenrank.trec.download import download_collection
from evenrank.trec.import_files import import_collection
from evenrank.trec.sources import official_files
from tests.robustness.commands import PROGRAM, leftovers, run
from tests.robustness.small_files import small_files

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    folder = tmp_path_factory.mktemp("small")
    made = import_collection(folder / "c", small_files(folder / "files", 200))
    build_index(made).close()
    return made


@pytest.mark.parametrize(
    "line",
    [
        b"1\t5\x1c\n",
        b"1\x1c\t5\n",
        b"\x1c\n",
        b"1 Q0 5 1 0.5 a\x1cb c\n",
        b"1 Q0 5 1 inf tag\n",
        b"1 Q0 5 1 -Infinity tag\n",
        b"1 Q0 5 1 1_0.5 tag\n",
        b"1 Q0 5 1 1e999 tag\n",
        b"1 Q0 5 1 0x10 tag\n",
        "1 Q0 5 1 ٣.٥ tag\n".encode(),
        "1 ٣ 5 1 3.5 tag\n1 1 6 1 3.5 tag\n".encode(),
        "٣\t5\n".encode(),
        "1\u2003Q0\u20035\u20031\u20030.5\u2003tag\n".encode(),
    ],
)
def test_odd_bytes_in_a_run_are_a_fault_or_read_as_written(tmp_path: Path, line: bytes) -> None:
    (tmp_path / "run").write_bytes(line)
    try:
        read = read_run(tmp_path / "run")
    except InputError as error:
        assert error.faults[0].line == 1
    else:
        assert read.pages.tolist() in ([5], [5, 6])
        assert read.scores is None or np.isfinite(read.scores).all()


@pytest.mark.parametrize("score", ["inf", "1_0.5", "٣.٥", "nan", "1e999"])
def test_scores_that_are_no_plain_decimals_are_refused(tmp_path: Path, score: str) -> None:
    (tmp_path / "run").write_text(f"1 Q0 5 1 {score} tag\n")
    with pytest.raises(InputError, match="not a TREC line"):
        read_run(tmp_path / "run")


def test_a_name_with_blanks_makes_a_readable_trec_file(tmp_path: Path) -> None:
    made = Run.from_rankings("my best  run", 1, iter([(1, 1, np.array([5, 6], np.int32))]))
    write_run(made, tmp_path / "run", "trec")
    assert read_run(tmp_path / "run").pages.tolist() == [5, 6]


def test_keys_that_appear_twice_are_refused() -> None:
    for line in (
        b'{"a": 1, "a": 2}',
        b'{"a" :1, "a"\t:2}',
        b'{"a": {"b": 1, "b": 2}}',
        b'{"x": "u:v", "a": 1, "a": 1}',
    ):
        with pytest.raises(ValueError, match="appears twice"):
            load_record(line)
    assert load_record(b'{"a": "b\\":c", "d": {"a": "e"}}') == {"a": 'b":c', "d": {"a": "e"}}


@pytest.mark.parametrize("number", ["007", "00", "01", "0", "7"])
def test_the_fast_and_the_slow_reader_agree_on_leading_zeros(tmp_path: Path, number: str) -> None:
    line = (
        '{"page_id": %s, "quality_score": 0.5, "quality_score_disc": "B", "geographic_locations": [], "gender": []}\n'
    )
    dimensions = [DIMENSIONS["geography"], DIMENSIONS["gender"]]
    outcomes = []
    for text in (line % number, (line % number).replace('{"page_id"', '{ "page_id"')):
        (tmp_path / "metadata").write_text(line % 99 + text)
        try:
            outcomes.append(read_metadata(tmp_path / "metadata", dimensions).page_ids.tolist())
        except InputError as error:
            outcomes.append([error.faults[0].line])
    assert outcomes[0] == outcomes[1]
    assert outcomes[0] == ([int(number), 99] if str(int(number)) == number else [2])


def test_an_import_of_no_votes_makes_no_store(tmp_path: Path) -> None:
    (tmp_path / "votes").write_bytes(b"")
    ended = run(["judgments", "import", tmp_path / "store", tmp_path / "votes", "--format", "votes"])
    assert ended.returncode == 2
    assert "no votes in it" in ended.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["votes"]


def test_damage_in_a_judgments_file_is_never_a_raw_error(tmp_path: Path) -> None:
    with create_store(tmp_path / "store") as store, store.transaction() as connection:
        connection.execute("INSERT INTO topic (id) VALUES (1)")
        connection.executemany(
            "INSERT INTO item (topic, page, tier) VALUES (1, ?, 1)", [(page,) for page in range(4000)]
        )
    content = bytearray((tmp_path / "store").read_bytes())
    content[4096 * 3 :] = b"\xff" * (len(content) - 4096 * 3)
    (tmp_path / "store").write_bytes(content)
    with pytest.raises(EvenrankError), create_store(tmp_path / "store") as store:
        current_votes(store)
        list(store.connection.execute("SELECT * FROM item"))
    ended = run(["judgments", "progress", tmp_path / "store"])
    assert ended.returncode == 2
    assert str(tmp_path / "store") in ended.stderr
    assert run(["doctor", tmp_path / "store"]).returncode == 1
    assert issubclass(DamagedStoreError, EvenrankError)


@pytest.mark.parametrize("words", [["collection", "describe", "loop"], ["evaluate", ".", "loop"], ["doctor", "loop"]])
def test_a_loop_of_links_is_an_error_of_input(tmp_path: Path, words: list[str]) -> None:
    os.symlink("loop", tmp_path / "loop")
    ended = run([tmp_path / word if word in ("loop", ".") else word for word in words])
    assert ended.returncode == 2


def test_too_little_memory_is_said_in_words() -> None:
    code = "import evenrank.cli.main as m\ndef full(*a, **k): raise MemoryError\nm.cli = full\nm.main()"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY)
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: not enough memory")


def test_a_killed_replacement_of_a_folder_leaves_the_old_one_or_the_new_one(tmp_path: Path) -> None:
    """Between two renames there was a moment without any folder."""
    code = (
        "import os, sys\nfrom evenrank.io import atomic\n"
        "real = os.replace\n"
        "def kill(*a):\n    real(*a)\n    os.kill(os.getpid(), 9)\n"
        "atomic.os.replace = kill\n"
        "with atomic.atomic_folder(sys.argv[1]) as fresh:\n    (fresh / 'new').touch()\n"
    )
    target = tmp_path / "report"
    target.mkdir()
    (target / "old").touch()
    subprocess.run([sys.executable, "-c", code, str(target)], cwd=REPOSITORY)
    assert [path.name for path in target.iterdir()] in (["old"], ["new"])
    with atomic_folder(target) as fresh:
        (fresh / "newest").touch()
    assert [path.name for path in target.iterdir()] == ["newest"]
    assert leftovers(tmp_path) == []


def test_what_a_killed_process_left_goes_with_the_next_one_and_nothing_else(tmp_path: Path) -> None:
    code = "import os, sys\nfrom evenrank.io.atomic import atomic_file\n"
    code += (
        "with atomic_file(sys.argv[1]) as file:\n    file.write(b'x')\n    file.flush()\n    os.kill(os.getpid(), 9)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path / "out")], cwd=REPOSITORY)
    assert ended.returncode == -signal.SIGKILL
    assert len(leftovers(tmp_path)) == 1
    (tmp_path / ".out.notes.tmp").touch()
    with atomic_file(tmp_path / "out") as outer, atomic_file(tmp_path / "out") as inner:
        inner.write(b"inner")
        outer.write(b"outer")
    assert (tmp_path / "out").read_bytes() == b"outer"
    assert leftovers(tmp_path) == [".out.notes.tmp"]


class Hostile(http.server.BaseHTTPRequestHandler):
    """A server whose answers are longer than announced, or announced in nonsense."""

    length = ""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", self.length) if self.length else None
        self.end_headers()
        try:
            for _ in range(4000):
                self.wfile.write(b"x" * 65536)
        except OSError:
            pass

    def log_message(self, *_: object) -> None:
        return


@pytest.mark.parametrize("length", ["", "nonsense", "-5", "9" * 5000, "١"])
def test_a_download_stops_at_the_known_size(tmp_path: Path, length: str) -> None:
    Hostile.length = length.encode("utf-8").decode("latin-1")
    sizes = {name: facts.size_bytes for name, facts in official_files().items() if facts.size_bytes is not None}
    name = min(sizes, key=lambda known: sizes[known])
    assert sizes[name] < 4000 * 65536
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with pytest.raises(EvenrankError):
            download_collection(tmp_path / "d", f"http://127.0.0.1:{server.server_port}", [name])
    finally:
        server.shutdown()
        server.server_close()
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) <= sizes[name] + (1 << 20)


def can_mount() -> bool:
    return os.geteuid() == 0 and subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="needs the right to mount")
def test_everything_can_be_read_on_a_read_only_medium(collection: Collection, tmp_path: Path) -> None:
    with create_store(collection.path / "judgments.sqlite") as store, store.transaction() as connection:
        connection.execute("INSERT INTO topic (id) VALUES (1)")
    program, folder = " ".join(PROGRAM), collection.path
    script = f"""set -e
    mount --bind {folder} {folder} && mount -o remount,ro,bind {folder}
    ! touch {folder}/x 2>/dev/null
    {program} search {folder} river -k 3 --format tsv
    {program} rank {folder} --task 1 --policy relevance -o {tmp_path}/run.tsv
    {program} collection describe {folder} > /dev/null
    {program} judgments progress {folder}/judgments.sqlite
    {program} doctor {folder}
    """
    ended = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, cwd=REPOSITORY)
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "run.tsv").exists()


@pytest.mark.skipif(not can_mount(), reason="needs the right to mount")
@pytest.mark.parametrize("command", ["generate", "import", "index"])
def test_a_full_disk_is_an_error_in_words_and_leaves_what_was_there(tmp_path: Path, command: str) -> None:
    files = small_files(tmp_path / "files", 3000)
    disk = tmp_path / "disk"
    disk.mkdir()
    program = " ".join(PROGRAM)
    inputs = f"--metadata {files.metadata} --topics {files.topics} --corpus {files.corpus}"
    work = {
        "generate": f"{program} collection generate {disk}/c --pages 20000",
        "import": f"{program} collection import {disk}/c {inputs}",
        "index": f"{program} index {disk}/c",
    }
    size = {"generate": "600k", "import": "100k", "index": "300k"}[command]
    before = f"{program} collection import {disk}/c {inputs} > /dev/null" if command == "index" else "true"
    script = f"mount -t tmpfs -o size={size} none {disk} && {before} && {work[command]}; echo $? > {tmp_path}/code; "
    script += f"ls -A {disk}/c 2>/dev/null > {tmp_path}/left; true"
    ended = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True, cwd=REPOSITORY)
    assert (tmp_path / "code").read_text().strip() == "2", ended.stderr
    assert "Traceback" not in ended.stderr
    assert "panicked" not in ended.stderr
    assert "error:" in ended.stderr
    left = (tmp_path / "left").read_text().split()
    assert left == ([] if command != "index" else left)
    assert not any(name.endswith((".tmp", ".lock")) for name in left)


def test_damaged_arrays_are_refused_and_named(tmp_path: Path) -> None:
    made = import_collection(tmp_path / "c", small_files(tmp_path / "files", 300))
    build_index(made).close()
    path = made.data / "mask-gender.npy"
    content = bytearray(path.read_bytes())
    content[-5] ^= 0x04
    path.write_bytes(content)
    with pytest.raises(EvenrankError, match=r"mask-gender\.npy has the checksum"):
        Collection.open(made.path)
    ended = run(["doctor", made.path])
    assert ended.returncode == 1
    assert "mask-gender.npy" in ended.stdout
    content[-5] ^= 0x04
    path.write_bytes(content)
    open_index(Collection.open(made.path)).close()
    segment = max((made.path / "index-1").rglob("*.store"), key=lambda file: file.stat().st_size)
    broken = bytearray(segment.read_bytes())
    broken[len(broken) // 2] ^= 1
    damaged = made.path / "damaged"  # not written in place: threads of the engine may still have the file mapped
    damaged.write_bytes(broken)
    damaged.replace(segment)
    ended = run(["doctor", made.path])
    assert ended.returncode == 1
    assert segment.name in ended.stdout
    assert "evenrank index" in ended.stdout
