"""Pool files: round trip, faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenrank.errors import InputError
from evenrank.trec.assessment.pool import Pool, PooledPage, PooledRun
from evenrank.trec.assessment.pool_file import read_pool, write_pool

POOL = Pool(
    budget=40,
    runs=(PooledRun("a b", 1, "12ab"), PooledRun("ö", 2, "34cd")),
    pages=(PooledPage(101, 1, 773, ("a b", "ö")), PooledPage(101, 2, 12, ("ö",))),
    cut={101: 2},
)


@pytest.mark.parametrize("name", ["pool.jsonl", "pool.jsonl.gz"])
def test_round_trip(tmp_path: Path, name: str) -> None:
    write_pool(tmp_path / name, POOL)
    assert read_pool(tmp_path / name) == POOL
    first = (tmp_path / name).read_bytes()
    write_pool(tmp_path / name, read_pool(tmp_path / name))
    assert (tmp_path / name).read_bytes() == first


def test_all_faults_come_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "pool.jsonl"
    write_pool(path, POOL)
    bad = ['{"topic": "x", "tier": 1, "page_id": 1, "runs": []}', '{"topic": 1, "tier": 4, "page_id": 1, "runs": []}']
    path.write_text(path.read_text() + "\n".join([*bad, '{"topic": 1, "tier": 1, "page_id": 1, "runs": ["z"]}']))
    with pytest.raises(InputError) as caught:
        read_pool(path)
    assert [fault.line for fault in caught.value.faults] == [4, 5, 6]
    assert "topic is 'x'" in caught.value.faults[0].found


@pytest.mark.parametrize(
    "text, found",
    [
        ("", "empty"),
        ('{"topic": 1}\n', "not the first line of a pool"),
        ('{"format": "evenrank-pool", "version": 2}\n', "not the first line of a pool"),
        ('{"format": "evenrank-pool", "version": 1, "tiers": ["9"], "cut": {}, "runs": []}\n', "not a tier"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, found: str) -> None:
    (tmp_path / "pool").write_text(text)
    with pytest.raises(InputError, match=found):
        read_pool(tmp_path / "pool")


def test_a_page_that_stands_twice_is_refused(tmp_path: Path) -> None:
    write_pool(tmp_path / "pool", Pool(POOL.tiers, None, POOL.runs, (POOL.pages[0], POOL.pages[0])))
    with pytest.raises(InputError, match="page 773 appears 2 times"):
        read_pool(tmp_path / "pool")
