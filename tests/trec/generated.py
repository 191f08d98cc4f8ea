"""Reads generated files with nothing but the standard library."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any


def records(path: Path) -> list[dict[str, Any]]:
    """The JSON records of a gzip file, one a line."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
