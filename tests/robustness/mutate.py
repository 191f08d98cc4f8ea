"""Bytes changed at random: bits, bytes, blocks, numbers, words that trouble parsers. Same seed, same bytes."""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Sequence

TROUBLE = (
    *(
        b"",
        b"\0",
        b"\n",
        b"\r",
        b"\r\n",
        b"\t",
        b" ",
        b"\x1c",
        b"\x85",
        b"\xa0",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\xed\xa0\x80",
    ),
    *(
        b"-1",
        b"0",
        b"007",
        b"1e999",
        b"-0.0",
        b"nan",
        b"inf",
        b"1_0",
        b"2147483648",
        b"9223372036854775808",
        b"9" * 5000,
    ),
    *(b"null", b"true", b"[]", b"{}", b'""', b"[[[[", b'"\\ud800"', b'{"id":', b'"page_id":', b'"numeric-id":1e5,'),
    *(b"<page>", b"</page>", b"<text", b"</text>", b"<id>", b"<timestamp>", b"{{", b"}}", b"[[", b"]]", b"{|", b"<!--"),
    *("٣".encode(), "²".encode(), "\u2028".encode(), "\U0001f600".encode()),
)
"""What parsers stumble over."""
PUMPED = (
    *(
        b"<",
        b"<script ",
        b"<!--",
        b"</",
        b"&amp;",
        b"(1900-",
        b"(",
        b'\\"',
        b"9",
        b"9.",
        b"1e",
        b" ",
        b"\t",
        b",",
        b";",
        b"a",
        b"|",
    ),
    *(
        b"{{a|",
        b"[[a|",
        b"[[",
        b"''",
        b"==a",
        b"\n=",
        b"<ref>",
        b"{|\n",
        b"[",
        b'{"a":',
        b"-",
        b"\n",
        b"a\tb\n",
        b"\xc3",
        b"...",
    ),
    *(b"1 Q0 1 1 1 t\n", b"</page>", b"<page>", b"\xed\xa0\x80", b"\xe2\x80\xa8", b"\0"),
)
"""Pieces that patterns with more than one way to match take long for, when there are many in a row."""
_NUMBER = re.compile(rb"-?\d+(\.\d+)?")
_QUOTED = re.compile(rb'"[^"\\]{0,40}"')


def mutate(rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """One of the seeds with one to eight changes, sometimes packed, sometimes packed and then damaged."""
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        rng.choice(CHANGES)(rng, data, seeds)
    result = bytes(data[: 1 << 17])
    if rng.random() < 0.05:
        packed = bytearray(gzip.compress(result, 1, mtime=0))
        if rng.random() < 0.5:
            _flip(rng, packed, seeds)
        result = bytes(packed)
    return result


def pump(rng: random.Random, seeds: Sequence[bytes], piece: bytes, n_bytes: int) -> bytes:
    """One of the seeds with a piece over and over in one place."""
    seed = rng.choice(seeds)
    at = rng.randrange(len(seed) + 1)
    return seed[:at] + piece * (n_bytes // len(piece)) + seed[at:]


def _flip(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    if data:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)


def _byte(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    if data:
        data[rng.randrange(len(data))] = rng.randrange(256)


def _cut(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    del data[rng.randrange(len(data) + 1) :]


def _delete(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    start = rng.randrange(len(data) + 1)
    del data[start : start + rng.choice((1, 2, 8, 64))]


def _repeat(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    start = rng.randrange(len(data) + 1)
    part = bytes(data[start : start + rng.choice((1, 4, 30, 200))])
    data[start:start] = part * rng.choice((1, 2, 50))


def _insert(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    start = rng.randrange(len(data) + 1)
    data[start:start] = rng.choice(TROUBLE)


def _splice(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    other = rng.choice(seeds)
    start, end = sorted((rng.randrange(len(other) + 1), rng.randrange(len(other) + 1)))
    at = rng.randrange(len(data) + 1)
    data[at:at] = other[start : min(end, start + 4000)]


def _replace(pattern: re.Pattern[bytes], rng: random.Random, data: bytearray) -> None:
    found = list(pattern.finditer(data))
    if found:
        place = rng.choice(found)
        data[place.start() : place.end()] = rng.choice(TROUBLE)


def _number(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    _replace(_NUMBER, rng, data)


def _quoted(rng: random.Random, data: bytearray, seeds: Sequence[bytes]) -> None:
    _replace(_QUOTED, rng, data)


CHANGES = (_flip, _byte, _cut, _delete, _repeat, _insert, _splice, _number, _quoted)
