"""Plain, gzip and bzip2 give the same bytes; damage is said clearly, after all that is readable."""

from __future__ import annotations

import bz2
import gzip
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenrank.errors import InputError
from evenrank.io.compressed import compression_of, open_compressed, read_blocks

TEXT = b"".join(b"line %d of a file\n" % number for number in range(20_000))
PACK: dict[str, Callable[[bytes], bytes]] = {"plain": bytes, "gzip": gzip.compress, "bzip2": bz2.compress}


def write(folder: Path, content: bytes, name: str = "file.any") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("kind", PACK)
def test_content_is_the_same_whatever_the_name(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path, PACK[kind](TEXT), "name.zip")
    with open_compressed(path) as stream:
        assert stream.read() == TEXT
    assert compression_of(path.read_bytes()[:8]) == kind


@pytest.mark.parametrize("kind", PACK)
def test_lines_can_be_iterated(tmp_path: Path, kind: str) -> None:
    with open_compressed(write(tmp_path, PACK[kind](TEXT))) as stream:
        assert list(stream) == TEXT.splitlines(keepends=True)


@pytest.mark.parametrize("kind", ["gzip", "bzip2"])
@pytest.mark.parametrize("padding", [b"", b"\0" * 5, b"\0" * 600_000])
def test_concatenated_streams_are_one_file(tmp_path: Path, kind: str, padding: bytes) -> None:
    pack = PACK[kind]
    path = write(tmp_path, pack(TEXT) + pack(b"") + pack(b"end\n") + padding)
    assert b"".join(read_blocks(path)) == TEXT + b"end\n"


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("size", [1, 7, 1000, 1 << 22])
def test_blocks_end_at_line_ends(tmp_path: Path, kind: str, size: int) -> None:
    text = TEXT[:3000] + b"last line without its end"
    blocks = list(read_blocks(write(tmp_path, PACK[kind](text)), size))
    assert b"".join(blocks) == text
    assert all(block.endswith(b"\n") for block in blocks[:-1])


@pytest.mark.parametrize("kind", ["gzip", "bzip2"])
def test_cut_file_delivers_whole_lines_then_says_so(tmp_path: Path, kind: str) -> None:
    packed = PACK[kind](TEXT) + PACK[kind](TEXT * 20)
    path = write(tmp_path, packed[: len(packed) * 9 // 10])
    got: list[bytes] = []
    with pytest.raises(InputError, match=r"cut off.*at byte [\d,]+ of [\d,]+"):
        got.extend(read_blocks(path, 1000))
    whole = b"".join(got)
    assert (TEXT * 21).startswith(whole)
    assert whole.endswith(b"\n")
    assert len(whole) >= len(TEXT)


@pytest.mark.parametrize("kind", ["gzip", "bzip2"])
def test_changed_bytes_are_noticed(tmp_path: Path, kind: str) -> None:
    packed = bytearray(PACK[kind](TEXT))
    packed[len(packed) // 2] ^= 0xFF
    with pytest.raises(InputError, match="damaged"):
        b"".join(read_blocks(write(tmp_path, bytes(packed))))


@pytest.mark.parametrize("kind", ["gzip", "bzip2"])
def test_garbage_after_the_end_is_noticed(tmp_path: Path, kind: str) -> None:
    with pytest.raises(InputError, match="after the end"):
        b"".join(read_blocks(write(tmp_path, PACK[kind](TEXT) + b"hello")))


@pytest.mark.parametrize("magic", [b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"])
def test_other_packers_are_refused_by_name(tmp_path: Path, magic: bytes) -> None:
    with pytest.raises(InputError, match="not read here"), open_compressed(write(tmp_path, magic + b"...")):
        pass


def test_missing_file_and_folder_are_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"), open_compressed(tmp_path / "none"):
        pass
    with pytest.raises(InputError, match="a folder"):
        next(read_blocks(tmp_path))


@pytest.mark.parametrize("content", [b"", b"1\t2", b"1\t2\n" * 9, gzip.compress(b"1\t2\n" * 9, mtime=0)], ids=len)
def test_a_pipe_is_read(content: bytes) -> None:
    reader, writer = os.pipe()
    os.write(writer, content)
    os.close(writer)
    wanted = gzip.decompress(content) if content.startswith(b"\x1f") else content
    assert b"".join(read_blocks(f"/dev/fd/{reader}")) == wanted
    os.close(reader)


def test_empty_file_has_no_blocks(tmp_path: Path) -> None:
    assert list(read_blocks(write(tmp_path, b""))) == []


def test_endless_line_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenrank.io.compressed.LINE_LIMIT", 10_000)
    path = write(tmp_path, gzip.compress(b"good\n" + b"x" * 50_000))
    blocks = read_blocks(path, 1000)
    assert next(blocks) == b"good\n"
    with pytest.raises(InputError, match=r"a line of more than 10,000 bytes"):
        list(blocks)


@settings(max_examples=100, deadline=None)
@given(
    head=st.sampled_from([b"", b"\x1f\x8b", b"\x1f\x8b\x08\0", b"BZh9", b"BZh91AY&SY"]),
    tail=st.binary(max_size=300),
)
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, head: bytes, tail: bytes) -> None:
    path = write(tmp_path_factory.mktemp("any"), head + tail)
    with suppress(InputError):
        blocks = list(read_blocks(path, 16))
        assert compression_of(head + tail) != "plain" or b"".join(blocks) == head + tail
