"""Files made to fill the memory: every reader refuses them with a clear error, at a bounded size."""

from __future__ import annotations

import bz2
import gzip
import string
import subprocess
import sys
from itertools import islice, product
from pathlib import Path

import pytest

from evenrank.errors import InputError
from evenrank.io.compressed import read_blocks
from evenrank.io.json_lines import read_records
from evenrank.io.run_rows import MAX_KEPT_FAULTS, read_rows
from evenrank.io.runs import read_run
from evenrank.io.topics import read_qrels
from tests.robustness.commands import run
from tests.robustness.memory import LIMIT_MIB, peak_mib

READERS = {
    "run": "from evenrank.io.runs import read_run as read",
    "qrels": "from evenrank.io.topics import read_qrels as read",
    "topics": "from functools import partial; from evenrank.io.topics import read_topics\n"
    "read = partial(read_topics, split='eval')",
    "metadata": "from functools import partial; from evenrank.io.metadata import read_metadata\n"
    "from evenrank.trec.dimensions import DIMENSIONS\n"
    "read = partial(read_metadata, dimensions=[DIMENSIONS['geography'], DIMENSIONS['gender']])",
    "pool": "from evenrank.trec.assessment.pool_file import read_pool as read",
    "votes": "from evenrank.io.json_lines import read_records\n"
    "from evenrank.trec.assessment.files import parse_vote\n"
    "read = lambda path: read_records(path, parse_vote)",
    "corpus": "from evenrank.io.articles import read_articles\nfrom evenrank.io.faults import FaultLog\n"
    "def read(path):\n    log = FaultLog()\n    for _ in read_articles(path, log): pass\n    log.raise_if_any()",
}
GROUPS = "{'a': 'x', 'b': 'y'}"
RERANK = (
    "import sys\nfrom evenrank.cli.main import main\ndef read(path):\n"
    "    with open(path + '.groups', 'w') as file: file.write('item,group\\na,x\\nb,y\\n')\n"
    "    sys.argv = ['evenrank', 'rerank', '--run', path, '--groups', path + '.groups']\n"
    "    sys.argv += ['-o', path + '.out', '--force', '--policy', {}]\n    main()"
)
CERTIFYING = """
import dataclasses
import numpy as np
import evenrank.cli.rerank
from evenrank.policies.policy import Rankings
from evenrank.policies.registry import POLICIES
@dataclasses.dataclass
class Certifying:
    name, tasks = "certifying", (1, 2)
    def rank(self, candidates, target, request, rng):
        numbers = rng.random(15).tolist()
        return Rankings(np.arange(request.length)[None], {f"number {at}": one for at, one in enumerate(numbers)})
POLICIES.builtin["certifying"] = Certifying
evenrank.cli.rerank.n_cores = lambda: 1  # another process would not know the policy
"""
"""A policy that gives each query as many numbers as `optimal` does, all different, in a thousandth of its time."""
TABLES = {
    "rankings": f"import evenrank\nread = lambda path: evenrank.score(path, {GROUPS})",
    "items": f"import evenrank\nread = lambda path: evenrank.rerank(path, {GROUPS}, policy='relevance', workers=1)",
    "groups": "import evenrank\nread = lambda path: evenrank.score({'q': ['a', 'b']}, groups=path)",
    "relevance": f"import evenrank\nread = lambda path: evenrank.score({{'q': ['a']}}, {GROUPS}, relevance=path)",
    "target": f"import evenrank\nread = lambda path: evenrank.score({{'q': ['a']}}, {GROUPS}, target=path)",
    "target of ranked queries": f"import evenrank\nread = lambda path: evenrank.score(path, {GROUPS}, target=path)",
    "score -q": "import os, sys\nfrom evenrank.cli.main import main\ndef read(path):\n"
    "    with open(path + '.groups', 'w') as file: file.write('item,group\\na,x\\nb,y\\n')\n"
    "    sys.argv = ['evenrank', 'score', '-q', '--format', 'json', '--run', path, '--groups', path + '.groups']\n"
    "    main()",
    "rerank": RERANK.format("'relevance'"),
    "rerank to CSV": RERANK.format("'relevance', '--format', 'csv'"),
    "rerank with certificates": CERTIFYING + RERANK.format("'certifying'"),
    "rerank with certificates to JSON": CERTIFYING + RERANK.format("'certifying', '--format', 'json'"),
}
"""What `score` and `rerank` take as tables, from Python and on the command line."""
RUN_READ = "\nimport sys\nfrom evenrank.errors import EvenrankError\ntry:\n    read(sys.argv[1])\n    print('read')\n"
RUN_READ += "except EvenrankError as error:\n    sys.stderr.write(str(error)[:2000])\n    sys.exit(2)\n"

METADATA_LINE = b'{"page_id": 1, "quality_score": 0.5, "quality_score_disc": "B"}\n'
BOMBS = {
    "zeros": (b"\0" * (1 << 20), 1500),
    "rows": (b"1\t1\n" * (1 << 18), 600),
    "trec rows": (b"1 Q0 1 1 1 x\n" * (1 << 16), 600),
    "bad rows": (b"x\n" * (1 << 19), 600),
    "blank lines": (b"\n" * (1 << 20), 600),
    "objects": (b"{}\n" * (1 << 18), 600),
    "one list": (b"1," * (1 << 19), 400),
    "topics": (b'{"id": 1, "title": "x"}\n' * (1 << 15), 600),
    "metadata": (METADATA_LINE * (1 << 14), 600),
    "deep": (b"[" * (1 << 20), 100),
}
"""Content by name: a part, and how often it is repeated (about as many MB)."""


@pytest.fixture(scope="module")
def bombs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("bombs")
    paths = {}
    for name, (part, n_parts) in BOMBS.items():
        paths[name] = folder / f"{name.replace(' ', '-')}.gz"
        member = gzip.compress(part * 8, 6, mtime=0)
        paths[name].write_bytes(member * (n_parts // 8))
        assert paths[name].stat().st_size < 10_000_000
    return paths


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("bomb", ["zeros", "rows", "bad rows", "metadata"])
def test_a_small_file_never_fills_the_memory(bombs: dict[str, Path], reader: str, bomb: str) -> None:
    peak, code, errors = peak_mib(READERS[reader] + RUN_READ, bombs[bomb])
    assert code in (0, 2), errors
    assert "Traceback" not in errors
    assert peak <= LIMIT_MIB, f"{peak} MiB"


@pytest.mark.long
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("bomb", BOMBS)
def test_no_bomb_fills_the_memory_of_any_reader(bombs: dict[str, Path], reader: str, bomb: str) -> None:
    test_a_small_file_never_fills_the_memory(bombs, reader, bomb)


def lines(heading: str, line: str, n_rows: int) -> bytes:
    """A table with a short name of its own in every row, in place of `{}`."""
    letters = string.ascii_letters + string.digits
    names = islice(map("".join, product(letters, repeat=4)), n_rows)
    return f"{heading}\n{''.join(map(line.format, names))}".encode()


TABLE_FILES = {
    "packed rows": lambda: gzip.compress(b"query,item\n" + b"qq,aa\n" * (10 << 20), 6),
    "packed ids": lambda: gzip.compress(lines("query,item", "q,{}\n", 4_000_000), 1),
    "packed queries": lambda: gzip.compress(lines("query,item,score", "{},a,1\n", 4_000_000), 1),
    "queries in bzip2": lambda: bz2.compress(lines("query,item", "{},a\n", 3_000_000), 1),
    "ids": lambda: lines("query,item", "q,{}\n", 1_400_000),
    "queries": lambda: lines("query,item", "{},a\n", 1_400_000),
    "queries and scores": lambda: lines("query,item,score", "{},a,1\n", 1_100_000),
    "judged queries": lambda: lines("query,item,grade", "{},a,1\n", 1_100_000),
    "targets of queries": lambda: lines("query,item,group,share", "{},a,x,1\n", 900_000),
    "items in a group": lambda: lines("item,group", "{},x\n", 1_400_000),
    "items in shares": lambda: lines("item,group,share", "{},x,1\n", 1_100_000),
    "items in groups of their own": lambda: lines("item,group", "{0},{0}\n", 990_000),
    "items in 4,000 groups": lambda: lines("item,group", "{0},{0[2]}{0[3]}\n", 1_200_000),
    "bad rows": lambda: b"query,item\n" + b"x\n" * 4_900_000,
}
"""Tables of up to 10 MB that take as much memory as possible."""


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("file", TABLE_FILES)
def test_no_table_of_10_mb_fills_the_memory(tmp_path: Path, table: str, file: str) -> None:
    path = tmp_path / "table"
    path.write_bytes(TABLE_FILES[file]())
    assert path.stat().st_size <= 10_000_000
    peak, code, errors = peak_mib(TABLES[table] + RUN_READ, path, timeout=1500)
    print(f"{table} on {file}: {peak} MiB, exit code {code}: {errors[:100]}")
    assert code in (0, 2), errors
    assert peak <= LIMIT_MIB, f"{peak} MiB"


def test_many_queries_over_many_groups_are_scored_in_parts(tmp_path: Path) -> None:
    """145 kB of queries and groups took 700 MB, and a megabyte would have taken 30 GB."""
    path = tmp_path / "queries.csv"
    path.write_bytes(lines("query,item", "{},aaaa\n", 20_000))
    path.with_suffix(".groups").write_bytes(lines("item,group", "{0},{0}\n", 500))
    code = "import evenrank\nread = lambda path: evenrank.score(path, path.replace('.csv', '.groups'))"
    peak, ended, errors = peak_mib(code + RUN_READ, path)
    assert ended == 0, errors
    assert peak <= LIMIT_MIB // 2, f"{peak} MiB"


def test_many_items_are_ranked_over_many_groups(tmp_path: Path) -> None:
    """A file of 10 MB and 9 kB of groups took 7.8 GB."""
    path = tmp_path / "items.csv"
    path.write_bytes(lines("query,item", "{0[2]},{0}\n", 200_000))
    path.with_suffix(".groups").write_bytes(lines("item,group", "{0},{0}\n", 500))
    code = "import evenrank\nread = lambda path: evenrank.rerank(path, path.replace('.csv', '.groups'), workers=1, "
    peak, ended, errors = peak_mib(code + "policy='relevance')" + RUN_READ, path)
    assert ended == 0, errors
    assert peak <= LIMIT_MIB // 2, f"{peak} MiB"


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_longest_queries_are_ranked_in_bounded_memory(tmp_path: Path) -> None:
    """Seven queries of nearly as many items as are allowed, in 9.7 MB."""
    path = tmp_path / "items.csv"
    names = lines("query,item", "{}\n", 1_386_000).decode().splitlines()[1:]
    rows = (f"{'abcdefg'[at // 198_000]},{name}\n" for at, name in enumerate(names))
    path.write_text("query,item\n" + "".join(rows))
    groups = "".join(f"{name},{'xyz'[at % 3]}\n" for at, name in enumerate(names[::1000]))
    path.with_suffix(".groups").write_text("item,group\n" + groups)
    code = "import evenrank\nread = lambda path: evenrank.rerank(path, path.replace('.csv', '.groups'), workers=1)"
    peak, ended, errors = peak_mib(code + RUN_READ, path, timeout=1500)
    assert ended == 0, errors
    assert peak <= LIMIT_MIB, f"{peak} MiB"


def test_a_packed_table_is_refused_before_it_fills_the_memory(tmp_path: Path) -> None:
    """A megabyte of gzip with twenty million rows took gigabytes."""
    path = tmp_path / "table.gz"
    path.write_bytes(gzip.compress(b"query,item\n" + b"qq,aa\n" * (1 << 20), 6) * 20)
    peak, code, errors = peak_mib(TABLES["rankings"] + RUN_READ, path)
    assert code == 2
    assert "hold a table that takes over" in errors
    assert peak <= LIMIT_MIB, f"{peak} MiB"


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
@pytest.mark.parametrize("reader", READERS)
def test_a_file_without_an_end_is_refused(reader: str, device: str) -> None:
    peak, code, errors = peak_mib(READERS[reader] + RUN_READ, device, timeout=60)
    assert code == 2, errors
    assert device in errors
    assert peak <= LIMIT_MIB, f"{peak} MiB"


@pytest.mark.parametrize("reader", ["run", "qrels", "topics"])
def test_a_pipe_without_an_end_is_refused(reader: str) -> None:
    code = READERS[reader] + RUN_READ.replace("sys.argv[1]", "'/dev/stdin'")
    with subprocess.Popen(["yes", '{"id": 1}'], stdout=subprocess.PIPE) as endless:
        ended = subprocess.run([sys.executable, "-c", code], stdin=endless.stdout, capture_output=True, timeout=60)
        endless.kill()
    assert ended.returncode == 2
    assert b"Traceback" not in ended.stderr


def test_content_out_of_proportion_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"\n" * (100 << 20), 9))
    with pytest.raises(InputError, match=r"expand to over 200 times as many \(unpack it"):
        for _ in read_blocks(path):
            pass


def test_faults_are_kept_to_a_number_and_counted_beyond_it(tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(b"1\ty\n" * 5000)
    rows = read_rows(tmp_path / "run")
    assert len(rows.faults) == MAX_KEPT_FAULTS
    assert rows.n_more_faults == 4000
    with pytest.raises(InputError, match="4,950 more faults"):
        read_run(tmp_path / "run")
    (tmp_path / "qrels").write_bytes(b"x\n" * 5000)
    with pytest.raises(InputError, match="4,950 more faults"):
        read_qrels(tmp_path / "qrels")
    (tmp_path / "records").write_bytes(b"x\n" * 5000)
    with pytest.raises(InputError, match="4,950 more faults"):
        read_records(tmp_path / "records", dict)


def test_more_records_than_a_file_may_hold(tmp_path: Path) -> None:
    (tmp_path / "records").write_bytes(b"{}\n" * 30)
    with pytest.raises(InputError, match="more than 20 records"):
        read_records(tmp_path / "records", dict, max_records=20)
    (tmp_path / "qrels").write_bytes(b"1 0 5 1\n" * 30)
    with pytest.raises(InputError, match="more than 20 judgments"):
        read_qrels(tmp_path / "qrels", max_judgments=20)


ABSURD = {
    "pages": (["collection", "generate", "made", "--pages", 100_000_001], "100,000,001 pages are too many"),
    "topics": (["collection", "generate", "made", "--pages", 1000, "--topics", 10**12], "topics are too many"),
    "demo": (["demo", "made", "--pages", 10**20], "pages are too many"),
    "depth": (["score", "--run", "run.csv", "--groups", "groups.csv", "-k", 2 * 10**9], "from 1 to 10,000,000"),
    "rankings": (["rerank", "--run", "run.csv", "--groups", "groups.csv", "--rankings", 10**9], "1<=x<=100000"),
}
"""Sizes that no machine could hold, and what is said of them."""


@pytest.mark.parametrize("case", ABSURD)
def test_absurd_sizes_are_refused_before_anything_is_made(tmp_path: Path, case: str) -> None:
    words, message = ABSURD[case]
    (tmp_path / "run.csv").write_text("query,item,score\nq,a,1\nq,b,0.5\n")
    (tmp_path / "groups.csv").write_text("item,group\na,x\nb,y\n")
    ended = run(words, cwd=tmp_path)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["groups.csv", "run.csv"]


def test_the_largest_collection_is_generated_in_little_memory(tmp_path: Path) -> None:
    """Of a hundred million pages only those that are being written are held; it is stopped when the first ones are."""
    code = """
import os, pathlib, signal, sys, threading, time
from evenrank.cli.main import main
made = pathlib.Path(sys.argv[1])
def stop_at_first_pages():
    while not any(path.stat().st_size > 500_000 for path in made.rglob("*.gz")):
        time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGTERM)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
threading.Thread(target=stop_at_first_pages, daemon=True).start()
sys.argv = ["evenrank", "collection", "generate", str(made), "--pages", "100000000", "--topics", "2", "--no-text"]
main()
"""
    peak, ended, errors = peak_mib(code, tmp_path / "made")
    assert ended == 0, errors
    assert peak <= LIMIT_MIB, f"{peak} MiB"
    assert not (tmp_path / "made" / "manifest.json").exists()
