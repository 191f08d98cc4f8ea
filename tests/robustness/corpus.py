"""The inputs that fuzzing starts from: `corpus/NAME/` holds some written by hand, and those that once failed.

`found.zip` beside them holds inputs that coverage-guided fuzzing found to reach code which the others do not.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterable
from pathlib import Path

CORPUS = Path(__file__).parent / "corpus"
FOUND = "found.zip"


def folder_of(name: str) -> Path:
    return CORPUS / name


def seeds_of(name: str) -> list[bytes]:
    """Every input of the corpus of a reader, always in the same order."""
    files = sorted(path for path in folder_of(name).iterdir() if path.name != FOUND)
    return [*(path.read_bytes() for path in files), *found_of(name)]


def found_of(name: str) -> list[bytes]:
    """The inputs that coverage-guided fuzzing found."""
    path = folder_of(name) / FOUND
    if not path.exists():
        return []
    with zipfile.ZipFile(path) as archive:
        return [archive.read(entry) for entry in sorted(archive.namelist())]


def save_found(name: str, inputs: Iterable[bytes]) -> None:
    """Replace the found inputs of a reader; the same inputs give the same bytes."""
    with zipfile.ZipFile(folder_of(name) / FOUND, "w", zipfile.ZIP_DEFLATED) as archive:
        for content in sorted(set(inputs)):
            entry = zipfile.ZipInfo(hashlib.sha256(content).hexdigest()[:16])
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
