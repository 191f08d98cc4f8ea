"""Fetching releases: a folder of releases here becomes a copy of one elsewhere, of its current release and no other.

What a killed or broken fetch has brought stays, checked, and is not brought again; neither are files that an earlier
release here has. Nobody sees a release before all of it is here.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from evenrank.core.types import FilePath
from evenrank.errors import DamagedCollectionError, EvenrankError, NoCollectionError, input_error, reason_of
from evenrank.io.atomic import link_or_copy
from evenrank.trec.download import fetch_checked, fetch_small, is_web_address
from evenrank.trec.manifest import FILE_NAME, locked_folder, parse_manifest
from evenrank.trec.releases import (
    KEPT,
    Release,
    ReleasedFile,
    current_of_releases,
    put_release,
    record_name,
    release_from,
    releases,
)

LINKED = ".linked"
"""Added to the name of a file of a local source until it is checked; no download resumes in what may be the source."""
MOST_RECORD_BYTES = 1 << 26
"""A manifest or a record that is longer is none."""


def fetch_release(source: str | FilePath, folder: FilePath, *, keep: int = KEPT) -> Release:
    """Make the current release of `source`, a folder or an http(s) address, the current one of a folder.

    Every byte is checked. Give the same call again after it failed. Servers on the folder change to the release as they
    do after an import; the `keep` newest releases stay.
    """
    folder, source = Path(folder), str(source)
    release = _current_at(source, folder)
    with locked_folder(folder):
        current = current_of_releases(folder)
        if (mine := releases(folder).get(release.number)) is not None and mine.files != release.files:
            raise EvenrankError(
                f"{folder}: has another release {release.number} than {source} (fetch into a new folder)"
            )
        is_there = [file.fault(folder / name, reads=False) is None for name, file in release.files.items()]
        if current is not None and current.manifest == release.manifest and all(is_there):
            return current
        known = {file: folder / name for one in releases(folder).values() for name, file in one.files.items()}
        for name, file in release.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            same = known.get(file)
            if same is not None and not path.exists() and file.fault(same, reads=False) is None:
                link_or_copy(same, path)
            else:
                _bring(source, name, path, file)
        put_release(release, keep)
    return release


def follow_releases(
    source: str | FilePath,
    folder: FilePath,
    *,
    every_seconds: float = 300.0,
    keep: int = KEPT,
    n_rounds: int | None = None,
    report: Callable[[Release], object] = lambda release: None,
    warn: Callable[[str], object] = lambda text: None,
) -> None:
    """Fetch again and again, for `n_rounds` or without end; `report` receives each release that is new here.

    A source that is away, or that changes meanwhile, is asked again in the next round.
    """
    before, rounds = None, 0
    while True:
        rounds += 1
        try:
            release = fetch_release(source, folder, keep=keep)
            if release.manifest != before:
                report(release)
            before = release.manifest
        except EvenrankError as error:
            warn(str(error))
        if rounds == n_rounds:
            return
        time.sleep(every_seconds)


def _current_at(source: str, folder: Path) -> Release:
    """The current release of a source, which is to be in a folder here."""
    manifest = parse_manifest(_small(source, FILE_NAME), _place(source, FILE_NAME))
    named = record_name(manifest.data_folder.removeprefix("data-"))
    release = release_from(_small(source, named), folder, _place(source, named))
    if release.manifest != manifest:
        raise DamagedCollectionError(f"{_place(source, named)}: of another release than {FILE_NAME} (try again)")
    return release


def _place(source: str, name: str) -> str:
    return f"{source.rstrip('/')}/{quote(name)}" if is_web_address(source) else str(Path(source) / name)


def _small(source: str, name: str) -> bytes:
    place = _place(source, name)
    if is_web_address(source):
        return fetch_small(place, MOST_RECORD_BYTES)
    try:
        return Path(place).read_bytes()
    except OSError as error:
        fix = "name a folder that evenrank collection pack made, or its http address"
        raise NoCollectionError(f"{place}: {reason_of(error)} ({fix})") from error


def _bring(source: str, name: str, path: Path, file: ReleasedFile) -> None:
    """Have one file of a release at a path."""
    place = _place(source, name)
    if is_web_address(source):
        fetch_checked(path, place, file.size_bytes, file.fault)
        return
    if path.exists() and file.fault(path) is None:
        return
    linked = path.with_name(path.name + LINKED)
    linked.unlink(missing_ok=True)
    try:
        link_or_copy(Path(place), linked)
    except FileNotFoundError as error:
        raise input_error(place, 0, reason_of(error), "try again: the release may have been replaced") from error
    if fault := file.fault(linked):
        linked.unlink()
        raise input_error(place, 0, fault, "not kept; pack the release again")
    os.replace(linked, path)
