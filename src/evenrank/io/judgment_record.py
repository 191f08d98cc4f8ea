"""The record beside a file of judgments: how deep each topic was judged, on which scale, from which state of the work.

Four columns of qrels have no room for it, and a scorer that does not know the tiers counts topics that it should leave
out. The record holds the checksum of the file that it describes, so that it is never taken for another one's.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from evenrank.core.types import FilePath
from evenrank.errors import input_error
from evenrank.io.atomic import write_json

FORMAT = "evenrank-judgments"
VERSION = 1
MAX_BYTES = 1 << 26
REMEDY = "export the judgments again, or remove the record to do without tiers"


@dataclass(frozen=True, slots=True)
class CampaignRuns:
    """What scores should know of the campaign that judgments come from: its runs, and what the judging favours."""

    pooled: dict[str, str] = field(default_factory=dict)
    """Run → digest of its rankings (`pool_fingerprint`), of the runs whose pages were pooled; empty where unknown."""
    withdrawn: dict[str, str] = field(default_factory=dict)
    """The same of runs that are no part of a leaderboard; the digest is empty where only the name is known."""
    bias: str = ""
    """What the order of judging favours; empty where it favours nothing."""

    @classmethod
    def together(cls, parts: Sequence[CampaignRuns]) -> CampaignRuns:
        """What several files of judgments say."""
        found = cls()
        for part in parts:
            found.pooled.update(part.pooled)
            found.withdrawn.update(part.withdrawn)
        return cls(found.pooled, found.withdrawn, "; ".join(dict.fromkeys(part.bias for part in parts if part.bias)))


@dataclass(frozen=True, slots=True)
class JudgmentRecord:
    """What a record says to those who read the file beside it."""

    max_grade: int
    """Highest grade of the scale."""
    tiers: dict[int, int | None]
    """Topic → deepest tier that is judged whole; None where that is not known."""
    campaign: CampaignRuns
    """What is known of the runs, and of a bias."""


def judgment_record_path(path: FilePath) -> Path:
    """Where the record of a file of judgments is: beside it, with `.json` after its name."""
    return Path(f"{os.fspath(path)}.json")


def sha256_of(path: FilePath) -> str:
    """SHA-256 of the bytes of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_judgment_record(path: FilePath, record: dict[str, Any]) -> None:
    """Write the record of the judgments in a file, complete or not at all."""
    head = {"format": FORMAT, "version": VERSION, "file": Path(path).name, "sha256": sha256_of(path)}
    write_json(judgment_record_path(path), head | record)


def read_judgment_record(path: FilePath) -> JudgmentRecord | None:
    """The record beside a file of judgments; None where there is none. An error when it describes another file."""
    beside = judgment_record_path(path)
    try:
        if beside.stat().st_size > MAX_BYTES:
            return None
        record = orjson.loads(beside.read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        return None
    try:
        found = _parse(record)
    except (KeyError, TypeError, ValueError) as error:
        raise input_error(beside, 0, f"a record of judgments that cannot be read: {error}", REMEDY) from None
    if record.get("sha256") != sha256_of(path):
        raise input_error(beside, 0, f"describes another file than {Path(path).name} is now", REMEDY)
    return found


def _parse(record: dict[str, Any]) -> JudgmentRecord:
    if record["version"] != VERSION:
        raise ValueError(f"version {record['version']!r}, not {VERSION}")
    tiers = {int(row["topic"]): None if row["max_tier"] is None else int(row["max_tier"]) for row in record["topics"]}
    pooled = {str(run["name"]): str(run["fingerprint"]) for run in record.get("pooled_runs", ())}
    withdrawn = {name: pooled.pop(name, "") for name in map(str, record.get("withdrawn_runs", ()))}
    bias = str(record.get("bias") or (record.get("work_order") or {}).get("note", ""))
    return JudgmentRecord(int(record["max_grade"]), tiers, CampaignRuns(pooled, withdrawn, bias))
