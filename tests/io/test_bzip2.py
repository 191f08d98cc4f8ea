"""bzip2 block by block gives what the library gives, from any block on, around damage."""

from __future__ import annotations

import bz2
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenrank.io.compressed import read_bzip2_blocks


def noise(n_bytes: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(n_bytes)


@pytest.mark.parametrize("level", [1, 9])
def test_one_stream_of_many_blocks(tmp_path: Path, level: int) -> None:
    content = noise(2_100_000)
    path = tmp_path / "file.bz2"
    path.write_bytes(bz2.compress(content, level))
    blocks = list(read_bzip2_blocks(path))
    assert len(blocks) == (22 if level == 1 else 3)
    assert b"".join(block.data or b"" for block in blocks) == content


def test_many_streams(tmp_path: Path) -> None:
    contents = [noise(size, size) for size in (0, 1, 7, 99_999, 300_000, 0, 12)]
    path = tmp_path / "file.bz2"
    path.write_bytes(b"".join(bz2.compress(content, 1 + index) for index, content in enumerate(contents)))
    assert b"".join(block.data or b"" for block in read_bzip2_blocks(path)) == b"".join(contents)


def test_magic_across_search_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file.bz2"
    path.write_bytes(bz2.compress(noise(500_000), 1))
    whole = list(read_bzip2_blocks(path))
    for window in (64, 1000, 99_991):
        monkeypatch.setattr("evenrank.io.compressed.WINDOW", window)
        assert list(read_bzip2_blocks(path)) == whole


def test_reading_goes_on_at_a_block(tmp_path: Path) -> None:
    path = tmp_path / "file.bz2"
    path.write_bytes(bz2.compress(noise(500_000), 1))
    blocks = list(read_bzip2_blocks(path))
    for index, block in enumerate(blocks):
        assert list(read_bzip2_blocks(path, block.start_bit)) == blocks[index:]


def test_a_damaged_block_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "file.bz2"
    packed = bytearray(bz2.compress(noise(500_000), 1))
    path.write_bytes(packed)
    whole = list(read_bzip2_blocks(path))
    packed[len(packed) // 2] ^= 1
    path.write_bytes(packed)
    damaged = list(read_bzip2_blocks(path))
    assert [block.data for block in damaged].count(None) == 1
    assert all(now == before for now, before in zip(damaged, whole, strict=True) if now.data is not None)


def test_an_unfinished_reader_ends_its_threads(tmp_path: Path) -> None:
    path = tmp_path / "file.bz2"
    path.write_bytes(bz2.compress(noise(500_000), 1))
    blocks = read_bzip2_blocks(path)
    assert next(blocks).data
    blocks.close()
    assert list(blocks) == []


@settings(max_examples=60, deadline=None)
@given(contents=st.lists(st.binary(max_size=2000), min_size=1, max_size=4), cut=st.integers(0, 200))
def test_any_content_cut_anywhere(tmp_path_factory: pytest.TempPathFactory, contents: list[bytes], cut: int) -> None:
    packed = b"".join(map(bz2.compress, contents))
    path = tmp_path_factory.mktemp("any") / "file.bz2"
    path.write_bytes(packed[: max(4, len(packed) - cut)])
    got = b"".join(block.data or b"" for block in read_bzip2_blocks(path))
    assert b"".join(contents).startswith(got)
    assert cut or got == b"".join(contents)
