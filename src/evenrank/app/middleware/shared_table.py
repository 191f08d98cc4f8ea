"""A small table in memory that all worker processes share, so that limits and counts hold over all of them."""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import struct
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Pair = tuple[float, float]
WINDOW = 16
"""Places in which a key may be."""
_NUMBERS = struct.Struct("<dd")


class SharedTable:
    """Keys with two numbers each, in memory that processes inherit when they are forked.

    It is guarded by a lock of the operating system, which a worker that is killed gives back; a key has a few possible
    places, and when all are taken, the one that matters least makes room.
    """

    def __init__(self, n_places: int, key_bytes: int = 16) -> None:
        self.n_places, self.key_bytes = n_places, key_bytes
        self._size = key_bytes + _NUMBERS.size
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the table
        os.ftruncate(self._file.fileno(), n_places * self._size)
        self._memory = mmap.mmap(self._file.fileno(), n_places * self._size)
        self._lock = threading.Lock()

    def update(self, key: str, change: Callable[[Pair | None], Pair], value: Callable[[Pair], float]) -> Pair:
        """Change the numbers of a key, None for a new one; where all places are full, the one of least `value` goes."""
        packed = self._packed(key)
        with self._locked():
            place, known = self._place(packed, value)
            numbers = change(known)
            start = place * self._size
            self._memory[start : start + self._size] = packed + _NUMBERS.pack(*numbers)
        return numbers

    def items(self) -> Iterator[tuple[str, Pair]]:
        """All keys that are text, with their numbers."""
        with self._locked():
            content = self._memory[:]
        for start in range(0, len(content), self._size):
            key = content[start : start + self.key_bytes]
            if key.strip(b"\0"):
                numbers = _NUMBERS.unpack(content[start + self.key_bytes : start + self._size])
                yield key.rstrip(b"\0").decode("utf-8", "replace"), (numbers[0], numbers[1])

    def _packed(self, key: str) -> bytes:
        """The key itself when it fits, else its digest."""
        encoded = key.encode()
        if len(encoded) <= self.key_bytes:
            return encoded.ljust(self.key_bytes, b"\0")
        return hashlib.blake2b(encoded, digest_size=self.key_bytes).digest()

    def _place(self, packed: bytes, value: Callable[[Pair], float]) -> tuple[int, Pair | None]:
        """Where a key is, or where it may be put."""
        first = int.from_bytes(hashlib.blake2b(packed, digest_size=8).digest(), "little")
        best, least = 0, float("inf")
        for step in range(WINDOW):
            place = (first + step) % self.n_places
            start = place * self._size
            found = self._memory[start : start + self.key_bytes]
            numbers = _NUMBERS.unpack_from(self._memory, start + self.key_bytes)
            if found == packed:
                return place, (numbers[0], numbers[1])
            worth = value((numbers[0], numbers[1])) if found.strip(b"\0") else -float("inf")
            if worth < least:
                best, least = place, worth
        return best, None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with self._lock:
            fcntl.lockf(self._file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN)
