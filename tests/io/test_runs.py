"""Run files: track TSV and six-column TREC, in and out."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenrank.core.records import Run
from evenrank.errors import EvenrankError, InputError
from evenrank.io.run_rows import read_rows
from evenrank.io.runs import read_run, run_name, write_run

RANKINGS = st.dictionaries(
    st.tuples(st.integers(0, 2**31 - 1), st.integers(1, 100)),
    st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=8, unique=True),
    min_size=1,
    max_size=6,
)


def made(task: int, rankings: dict[tuple[int, int], list[int]]) -> Run:
    chosen = {(t, r if task == 2 else 1): p for (t, r), p in rankings.items()}
    return Run.from_rankings("made", task, ((t, r, np.array(p, np.int32)) for (t, r), p in chosen.items()))


def assert_same(left: Run, right: Run) -> None:
    assert left.task == right.task
    for name in ("topic_ids", "repeats", "starts", "pages"):
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name))


@given(RANKINGS, st.sampled_from([1, 2]), st.sampled_from(["track", "trec"]), st.sampled_from(["r", "r.gz"]))
def test_reads_what_it_writes(tmp_path_factory, rankings, task: int, form: str, name: str) -> None:
    run = made(task, rankings)
    path = tmp_path_factory.mktemp("runs") / name
    write_run(run, path, form)
    assert_same(read_run(path), run)


def test_same_run_same_bytes(tmp_path: Path) -> None:
    run = made(1, {(1, 1): [5, 6, 7]})
    for name in ("a.gz", "b.gz"):
        write_run(run, tmp_path / name)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


@pytest.mark.parametrize(
    "text",
    [
        b"id\tpage_id\n1\t5\n1\t6\n",
        b"1\t5\n1\t6\n",
        b"1\t5\r\n1\t6\r\n",
        b"1\t5\r1\t6\r",
        b'"id"\t"page_id"\n1\t5\n1\t6\n',
        b"1\t5\n1\t6",
        b"\xef\xbb\xbf1\t5\n1\t6\n",
        b"1\t5\n\n1\t6\n",
    ],
)
def test_header_line_ends_and_blank_lines(tmp_path: Path, text: bytes) -> None:
    for name, content in (("plain", text), ("packed.gz", gzip.compress(text))):
        (tmp_path / name).write_bytes(content)
        assert read_run(tmp_path / name).pages.tolist() == [5, 6]


def test_rows_of_a_ranking_are_gathered_in_file_order(tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(b"2\t9\n1\t5\n2\t4\n1\t3\n")
    run = read_run(tmp_path / "r")
    assert run.topic_ids.tolist() == [2, 1]
    assert run.ranking(0).tolist() == [9, 4]
    assert run.ranking(1).tolist() == [5, 3]


def test_trec_is_ordered_by_score_then_rank(tmp_path: Path) -> None:
    (tmp_path / "r").write_bytes(b"1 Q0 10 3 0.5 tag\n1 Q0 11 2 0.5 tag\n1 Q0 12 1 0.1 tag\n1 Q0 13 4 9e-1 tag\n")
    run = read_run(tmp_path / "r")
    assert run.pages.tolist() == [13, 11, 10, 12]
    assert run.scores is not None
    assert run.scores.tolist() == [0.9, 0.5, 0.5, 0.1]


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        (b"1\t2\n1\n", 2, "1 column"),
        (b"1\t2\n1 3\n", 2, "1 column"),
        (b"1\t2\n1\t2\t3\t4\n", 2, "4 columns"),
        (b"1\t2\n1\t2\t3\n", 2, "tasks are mixed"),
        (b"1\t2\n1\tx\n", 2, "'x'"),
        (b"1\t2\n1\t-5\n", 2, "'-5'"),
        (b"1\t2\n1\t99999999999\n", 2, "99999999999"),
        (b"1\t2\n\xff\t3\n", 2, "not UTF-8"),
        (b"1 Q0 5 1 abc tag\n", 1, "not a TREC line"),
        (b"1 Q0 5 1 nan tag\n", 1, "not a TREC line"),
        (b"1 Q0 5 99999999999999999999 1.0 tag\n", 1, "not a TREC line"),
        (b"1 99999999999999999999 5 1 1.0 tag\n1 1 6 1 1.0 tag\n", 1, "not a TREC line"),
        (b"id\tpage_id\n", 0, "a header and nothing below it"),
        (b"page_id\tid\n5\t1\n", 1, "columns page_id, id"),
        (b"+1\t+5\n1\t6\n", 1, "'+1'"),
        ("1\t5\n".encode("utf-16"), 0, "UTF-16"),
        (b"", 0, "empty file"),
        (b"\n\n", 0, "empty file"),
    ],
)
def test_faults_of_form(tmp_path: Path, text: bytes, line: int, found: str) -> None:
    (tmp_path / "bad").write_bytes(text)
    with pytest.raises(InputError) as caught:
        read_run(tmp_path / "bad")
    assert (caught.value.faults[0].line, found in caught.value.faults[0].found) == (line, True)


def test_a_first_line_of_the_wrong_kind_does_not_condemn_the_others(tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(b"# my run\n1\t5\n")
    assert [(fault.line, fault.found) for fault in read_rows(tmp_path / "bad").faults] == [(1, "1 column")]


def test_cut_off_gzip_and_missing_file(tmp_path: Path) -> None:
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"1\t2\n" * 5000)[:-12])
    with pytest.raises(InputError, match="cut off"):
        read_run(tmp_path / "cut.gz")
    with pytest.raises(InputError, match="No such file"):
        read_run(tmp_path / "nothing")


def test_names_and_unknown_form(tmp_path: Path) -> None:
    assert [run_name(n) for n in ("d/a.gz", "a.tsv.gz", "a", ".gz")] == ["a", "a", "a", ".gz"]
    with pytest.raises(EvenrankError, match="track, trec"):
        write_run(made(1, {(1, 1): [1]}), tmp_path / "x", "xml")


@given(st.binary(max_size=200))
def test_no_bytes_give_a_traceback(tmp_path_factory, text: bytes) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "run"
    path.write_bytes(text)
    rows = read_rows(path)
    assert rows.faults or len(rows.pages) or not text.strip()
    try:
        assert read_run(path).n_rankings > 0
    except InputError as error:
        assert error.faults


LINES = st.lists(
    st.sampled_from([b"1\t2", b"1\t1\t2", b"1 Q0 3 1 0.5 t", b"id\tpage_id", b"", b"1\t", b"x\t1", b"2\t3"]), max_size=8
)


@given(LINES)
def test_mixed_lines_give_no_traceback(tmp_path_factory, lines: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "run"
    path.write_bytes(b"\n".join(lines))
    try:
        run = read_run(path)
        assert len(run.pages) == run.starts[-1]
    except InputError as error:
        assert error.faults
