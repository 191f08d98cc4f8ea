"""Plain, gzip and bzip2 files as one stream of bytes; which one is decided by content, not by name.

bzip2 files also block by block: decompressed on all cores, from any block, around damaged ones. Such a file is a row of
blocks of at most 900 kB that start at any bit with a magic number of 48 bits and can be decompressed alone, whether the
file is one stream or many. The magic number appears by chance in compressed data once in 35 TB.
"""

from __future__ import annotations

import bz2
import io
import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol, cast

from evenrank.errors import InputError, input_error, reason_of

FILE_BLOCK = 1 << 18
"""Bytes taken from the file at once."""
LINE_LIMIT = 1 << 25
"""Longest line accepted, in bytes: more is not a file of lines, and would fill the memory."""
MAX_RATIO = 200
"""Largest ratio of content to compressed bytes; real files reach about 50, a file made to fill the memory 1,000."""
FREE_BYTES = 1 << 26
"""Content that is taken at any ratio."""
HEAD = 8
"""First bytes of a file that tell how it is packed."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BLOCK_MAGIC = 0x314159265359
END_MAGIC = 0x177245385090
WINDOW = 1 << 22
"""Bytes searched for magic numbers at once."""
MAGIC_BYTES = 7
"""Bytes that a magic number of 48 bits touches."""
TRY_AGAIN = "download or copy it again and compare its size and checksum"


class Decompressor(Protocol):
    """What gzip and bzip2 decompressors have in common."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1, /) -> bytes: ...


def _gzip_decompressor() -> Decompressor:
    from isal import igzip_lib

    return cast(Decompressor, igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP))


DECOMPRESSORS: dict[str, tuple[bytes, Callable[[], Decompressor]]] = {
    "gzip": (b"\x1f\x8b", _gzip_decompressor),
    "bzip2": (b"BZh", bz2.BZ2Decompressor),
}
"""First bytes and decompressor of the formats read here."""
UNREAD = {b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"PK\x03\x04": "zip", b"7z\xbc\xaf": "7z"}
"""First bytes of formats that are recognised only to be refused."""


def compression_of(head: bytes) -> str:
    """'gzip', 'bzip2' or 'plain', from a file's first bytes."""
    return next((name for name, (magic, _) in DECOMPRESSORS.items() if head.startswith(magic)), "plain")


class Decompressed(io.RawIOBase):
    """The content of one file; `n_file_bytes` of its `size_bytes` are consumed so far.

    All that can be read of a damaged file is delivered; then InputError is raised.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file = _open(self.path)
        self.size_bytes = os.fstat(self._file.fileno()).st_size
        self.n_file_bytes = 0
        self.n_content_bytes = 0
        head = self._read_head()
        self._head = b"" if self._file.seekable() else head
        self.compression = compression_of(head)
        self._refuse_unread(head)
        self._stream: Decompressor | None = None
        self._ahead = b""

    def _read_head(self) -> bytes:
        """The first bytes, read once more where the file allows it; a pipe does not, and gives them in pieces."""
        head = b""
        try:
            while len(head) < HEAD and (piece := self._file.read(HEAD - len(head))):
                head += piece
            if self._file.seekable():
                self._file.seek(0)
        except OSError as error:
            self._file.close()
            raise self._damaged(reason_of(error)) from error
        return head

    def _refuse_unread(self, head: bytes) -> None:
        for magic, name in UNREAD.items():
            if head.startswith(magic):
                self._file.close()
                fix = "unpack it, or pack it with gzip or bzip2"
                raise input_error(self.path, 0, f"a {name} file, which is not read here", fix)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self.read_some(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def read_some(self, size: int) -> bytes:
        """Between 1 and `size` bytes of content; none at the end."""
        if self.compression == "plain":
            return self._from_file(size)
        try:
            while self._next_stream():
                assert self._stream is not None
                if data := self._stream.decompress(self._take(), size):
                    self._refuse_bomb(len(data))
                    return data
        except InputError:
            raise
        except Exception as error:  # isal's error type has no base of its own
            raise self._damaged(f"{self.compression} data are damaged: {error}") from None
        return b""

    def _refuse_bomb(self, n_new: int) -> None:
        """InputError for content that is out of all proportion to the file."""
        self.n_content_bytes += n_new
        if self.n_content_bytes > max(FREE_BYTES, MAX_RATIO * self.n_file_bytes):
            found = f"{self.n_file_bytes:,} bytes of {self.compression} data expand to over {MAX_RATIO} times as many"
            raise input_error(self.path, 0, found, "unpack it yourself if it is what you want to read")

    def seek_plain(self, offset: int) -> None:
        """Go on at byte `offset` of a file that is not compressed."""
        self.n_file_bytes = self._file.seek(offset)

    def _next_stream(self) -> bool:
        """Whether there is more; starts the next of several concatenated streams where one ends."""
        if self._stream is None or self._stream.eof:
            self._ahead = self._skip_padding(self._stream.unused_data if self._stream else self._ahead)
            if not self._ahead:
                return False
            magic, start = DECOMPRESSORS[self.compression]
            while len(self._ahead) < len(magic) and (more := self._from_file(len(magic))):
                self._ahead += more
            if not self._ahead.startswith(magic):
                raise self._damaged(f"bytes after the end of the {self.compression} data")
            self._stream = start()
        return True

    def _skip_padding(self, ahead: bytes) -> bytes:
        ahead = ahead.lstrip(b"\0") or self._from_file(FILE_BLOCK)
        while ahead and not (kept := ahead.lstrip(b"\0")):
            ahead = self._from_file(FILE_BLOCK)
        return kept if ahead else b""

    def _take(self) -> bytes:
        """Compressed bytes for the stream, when it wants any."""
        assert self._stream is not None
        if self._ahead:
            data, self._ahead = self._ahead, b""
            return data
        if not self._stream.needs_input:
            return b""
        if not (data := self._from_file(FILE_BLOCK)):
            raise self._damaged(f"the {self.compression} data end in the middle: the file is cut off")
        return data

    def _from_file(self, size: int) -> bytes:
        try:
            data = self._head or self._file.read(size)
            self._head = b""
        except OSError as error:
            raise self._damaged(reason_of(error)) from error
        self.n_file_bytes += len(data)
        return data

    def _damaged(self, found: str) -> InputError:
        place = f"at byte {self.n_file_bytes:,} of {self.size_bytes:,}"
        return input_error(self.path, 0, f"{found}, {place}", TRY_AGAIN)

    def close(self) -> None:
        self._file.close()
        super().close()


def _open(path: Path) -> BinaryIO:
    """The file of that name; `-` is standard input."""
    if str(path) == "-":
        return cast(BinaryIO, open(os.dup(0), "rb", buffering=0))
    if path.is_dir():
        raise input_error(path, 0, "a folder, where a file was expected", "name a file in it")
    try:
        return cast(BinaryIO, path.open("rb", buffering=0))
    except OSError as error:
        raise input_error(path, 0, reason_of(error), "check the name") from error


@contextmanager
def open_compressed(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """The content of a plain, gzip or bzip2 file as a stream; reading a damaged one raises InputError."""
    with io.BufferedReader(Decompressed(path), FILE_BLOCK) as stream:
        yield cast(BinaryIO, stream)


def read_blocks(path: str | os.PathLike[str], size: int = 1 << 22) -> Iterator[bytes]:
    """Content in blocks of about `size` bytes that end at line ends; only the last line may lack its own.

    Of a damaged file all whole lines are delivered; then InputError is raised.
    """
    with Decompressed(path) as source:
        yield from line_blocks(source, size)


def line_blocks(source: Decompressed, size: int) -> Iterator[bytes]:
    """What `source` still holds, as `read_blocks` gives it, without a byte order mark at its start."""
    parts: list[bytes] = []
    n_bytes = 0
    while True:
        is_start = source.n_file_bytes == 0
        try:
            chunk = source.read_some(size).removeprefix(BYTE_ORDER_MARK if is_start else b"")
        except InputError:
            yield from _whole_lines(parts)
            raise
        if not chunk:
            break
        parts.append(chunk)
        n_bytes += len(chunk)
        if n_bytes >= size and b"\n" in chunk:
            block, rest = _cut(parts)
            yield block
            parts, n_bytes = [rest], len(rest)
        elif n_bytes > size + LINE_LIMIT:
            found = f"a line of more than {LINE_LIMIT:,} bytes"
            raise input_error(source.path, 0, found, "give one record a line")
    if last := b"".join(parts):
        yield last


def _cut(parts: list[bytes]) -> tuple[bytes, bytes]:
    """The joined `parts` up to the last line end, and what follows it."""
    end = parts[-1].rfind(b"\n") + 1
    return b"".join([*parts[:-1], parts[-1][:end]]), parts[-1][end:]


def _whole_lines(parts: list[bytes]) -> Iterator[bytes]:
    joined = b"".join(parts)
    if end := joined.rfind(b"\n") + 1:
        yield joined[:end]


class Bzip2Block(NamedTuple):
    """One block: its place in bits, and its content; None when it is damaged or cut off."""

    start_bit: int
    end_bit: int
    data: bytes | None


def read_bzip2_blocks(path: str | os.PathLike[str], start_bit: int = 0, n_threads: int = 2) -> Iterator[Bzip2Block]:
    """The blocks that start at `start_bit` or later, in order, decompressed by threads a few blocks ahead."""
    with open(path, "rb", buffering=0) as file, ThreadPoolExecutor(n_threads) as pool:
        waiting: deque[tuple[int, int, Future[bytes | None]]] = deque()
        try:
            for start, end in _block_places(file, start_bit):
                piece = _read_at(file, start // 8, (end + 7) // 8 - start // 8)
                waiting.append((start, end, pool.submit(decompress_block, piece, start % 8, end - start)))
                if len(waiting) > 2 * n_threads:
                    yield _finished(*waiting.popleft())
            while waiting:
                yield _finished(*waiting.popleft())
        finally:
            pool.shutdown(cancel_futures=True)


def _finished(start: int, end: int, future: Future[bytes | None]) -> Bzip2Block:
    return Bzip2Block(start, end, future.result())


def _read_at(file: io.FileIO, offset: int, size: int) -> bytes:
    """Bytes of the file; read, not mapped, so that memory does not grow with the file."""
    file.seek(offset)
    return file.read(size)


def _block_places(file: io.FileIO, start_bit: int) -> Iterator[tuple[int, int]]:
    """First and last bit of each block; the end of the file ends a block that is cut off."""
    size_bytes = os.fstat(file.fileno()).st_size
    open_block: int | None = None
    for place, is_block in _magic_places(file, size_bytes, start_bit):
        if open_block is not None:
            yield open_block, place
        open_block = place if is_block else None
    if open_block is not None:
        yield open_block, 8 * size_bytes


def _magic_places(file: io.FileIO, size_bytes: int, start_bit: int) -> Iterator[tuple[int, bool]]:
    """Bits where a magic number starts, in order, and whether it starts a block (or ends a stream)."""
    for window in range(start_bit // 8, size_bytes, WINDOW):
        data = _read_at(file, window, WINDOW + MAGIC_BYTES - 1)
        places = [
            (8 * window + bit, is_block)
            for magic, is_block in ((BLOCK_MAGIC, True), (END_MAGIC, False))
            for bit in _find_magic(data, magic)
            if bit < 8 * WINDOW
        ]
        yield from (place for place in sorted(places) if place[0] >= start_bit)


def _find_magic(data: bytes, magic: int) -> Iterator[int]:
    """Bits of `data` where `magic` starts: five whole bytes are searched for, the bits around them compared."""
    for shift in range(8):
        middle = (magic >> shift & (1 << 40) - 1).to_bytes(5, "big")
        at = data.find(middle, 1)
        while at > 0:
            around = int.from_bytes(data[at - 1 : at + 6].ljust(7, b"\0"), "big")
            if around >> 8 - shift & (1 << 48) - 1 == magic:
                yield 8 * (at - 1) + shift
            at = data.find(middle, at + 1)


def decompress_block(piece: bytes, skip_bits: int, n_bits: int) -> bytes | None:
    """Content of the block in the `n_bits` of `piece` after `skip_bits`, as a stream of its own; None if damaged."""
    unused = 8 * len(piece) - skip_bits - n_bits
    block = int.from_bytes(piece, "big") >> unused & (1 << n_bits) - 1
    checksum = block >> n_bits - 80 & 0xFFFFFFFF if n_bits >= 80 else 0
    stream = (((int.from_bytes(b"BZh9", "big") << n_bits | block) << 48 | END_MAGIC) << 32) | checksum
    n_stream_bits = 32 + n_bits + 80
    padding = -n_stream_bits % 8
    try:
        return bz2.decompress((stream << padding).to_bytes((n_stream_bits + padding) // 8, "big"))
    except (OSError, ValueError):
        return None
