"""Arrays in the store: little-endian bytes without a header."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def pack(values: NDArray[np.generic] | list[int], dtype: str) -> bytes:
    """The bytes of an array."""
    return np.ascontiguousarray(values, dtype=dtype).tobytes()


def int32(blob: bytes) -> NDArray[np.int32]:
    return np.frombuffer(blob, "<i4")


def uint16(blob: bytes) -> NDArray[np.uint16]:
    return np.frombuffer(blob, "<u2")


def float64(blob: bytes) -> NDArray[np.float64]:
    return np.frombuffer(blob, "<f8")


def uint8(blob: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(blob, np.uint8)
