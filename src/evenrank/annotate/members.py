"""gzip files made of independent members, the first of which carries a comment in its header."""

from __future__ import annotations

import zlib
from struct import pack

_HEADER = b"\x1f\x8b\x08"
_COMMENT_FLAG = 0x10
_UNKNOWN_SYSTEM = 255
LEVEL = 6


def gzip_member(data: bytes, comment: str = "") -> bytes:
    """A whole gzip member without a date, so that equal data give equal bytes.

    Members can be joined to one file, which every reader of gzip reads as one. The comment (Latin-1) is what
    `file` and header readers see; readers of the content skip it.
    """
    flags = _COMMENT_FLAG if comment else 0
    head = _HEADER + pack("<BLBB", flags, 0, 0, _UNKNOWN_SYSTEM)
    text = comment.replace("\0", "").encode("latin-1", "replace") + b"\0" if comment else b""
    compressor = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = compressor.compress(data) + compressor.flush()
    return head + text + body + pack("<LL", zlib.crc32(data), len(data) & 0xFFFFFFFF)


def read_comment(data: bytes) -> str:
    """The comment in the header of a gzip file's first bytes; empty when there is none."""
    if data[:3] != _HEADER or data[3] != _COMMENT_FLAG:
        return ""
    return data[10 : data.index(b"\0", 10)].decode("latin-1")
