"""A file read in parts gives each record once, whatever the parts cut."""

from __future__ import annotations

import bz2
import gzip
import random

import pytest

from evenrank.errors import InputError
from evenrank.io.content import Split, plan_splits, read_split
from evenrank.io.faults import FaultLog

PACKED = {
    "plain": bytes,
    "gzip": gzip.compress,
    "one stream": lambda data: bz2.compress(data, 1),
    "many streams": lambda data: b"".join(bz2.compress(data[at : at + 999], 1) for at in range(0, len(data), 999)),
}
"""Ways to store content."""


def records_of(path, splits, record_end) -> list[bytes]:
    """The content that each split gives, joined in order."""
    found = []
    for split in splits:
        faults = FaultLog()
        found.append(b"".join(batch.data for batch in read_split(path, split, faults, record_end=record_end, size=64)))
        assert not faults.n_faults
    return found


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("record_end", [b"\n", b"</page>"], ids=["lines", "pages"])
def test_all_parts_together_are_the_file_and_none_cuts_a_record(tmp_path, packed, record_end):
    rng = random.Random(7)
    for trial in range(6):
        lengths = [rng.choice([0, 1, 5, 40, 900]) for _ in range(rng.randrange(40))]
        content = b"".join(rng.randbytes(n).replace(b"\n", b" ").replace(b"<", b"(") + record_end for n in lengths)
        content += rng.choice([b"", b"the end without a mark"])
        path = tmp_path / f"{trial}"
        path.write_bytes(PACKED[packed](content))
        splits = plan_splits(path, [1 << 30, 1500, 400, 170, 90, 41][trial])
        found = records_of(path, splits, record_end)
        assert b"".join(found) == content
        assert all(part.endswith(record_end) for part in found[:-1] if part and not content.endswith(part))


def test_a_large_bzip2_file_has_records_in_every_part(tmp_path):
    rng = random.Random(8)
    lines = [b"%d %s\n" % (number, rng.randbytes(300).hex().encode()) for number in range(2500)]
    path = tmp_path / "lines.bz2"
    path.write_bytes(bz2.compress(b"".join(lines), 1))
    splits = plan_splits(path, path.stat().st_size // 5)
    found = records_of(path, splits, b"\n")
    assert len(splits) >= 5
    assert all(found)
    assert b"".join(found) == b"".join(lines)


def test_a_gzip_file_is_one_part(tmp_path):
    path = tmp_path / "lines.gz"
    path.write_bytes(gzip.compress(b"line\n" * 9999))
    assert plan_splits(path, 10) == [Split(0, path.stat().st_size)]


def test_a_damaged_block_is_counted_by_the_part_that_it_is_in(tmp_path):
    content = random.Random(9).randbytes(400_000).hex().encode()
    packed = bytearray(bz2.compress(b"\n".join(content[at : at + 99] for at in range(0, len(content), 99)), 1))
    packed[len(packed) // 2] ^= 255
    path = tmp_path / "damaged.bz2"
    path.write_bytes(packed)
    logs = []
    for split in plan_splits(path, len(packed) // 4):
        logs.append(FaultLog())
        list(read_split(path, split, logs[-1]))
    assert sum(log.n_faults for log in logs) == 1
    assert "damaged" in next(log for log in logs if log.n_faults).faults[0].found


def test_a_file_that_is_cut_off_says_so_in_its_last_part(tmp_path):
    content = random.Random(10).randbytes(400_000).hex().encode()
    path = tmp_path / "cut.bz2"
    path.write_bytes(bz2.compress(content, 1)[:-1000])
    last = plan_splits(path, 100_000)[-1]
    faults = FaultLog()
    list(read_split(path, last, faults))
    assert faults.is_cut_off
    assert "cut off" in faults.faults[0].found


def test_a_record_without_end_is_refused_before_it_fills_the_memory(tmp_path):
    path = tmp_path / "endless"
    path.write_bytes(b"x" * 6_000_000)
    faults = FaultLog()
    assert not list(read_split(path, Split(5, 10), faults, record_limit=1000))
    assert "more than 1,000 bytes" in faults.faults[0].found
    with pytest.raises(InputError, match="a folder"):
        plan_splits(tmp_path, 10)
