"""`evenrank doctor`: what is installed, what this machine has, and whether files are corrupted."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import NamedTuple

import click

from evenrank.cli.listing import aligned
from evenrank.cli.options import StoreLocation
from evenrank.database.database import Location, is_database_address, kinds_in, open_database, shown_location
from evenrank.errors import DamagedStoreError, EvenrankError

FINE = "intact"
BEFORE_CHECKSUMS = "not checked: it was made before checksums were kept"


class Finding(NamedTuple):
    """What is known of one file."""

    path: Path | str
    """A file, or the address of a database without its password."""
    state: str
    fix: str = ""
    is_damaged: bool = False
    is_checked: bool = True
    """Whether there was anything to compare it with."""


def check_path(path: Location) -> Iterator[Finding]:
    """What is found in a folder with a collection, in a file of ours, or in a PostgreSQL database."""
    if is_database_address(path):
        yield from _check_database(str(path))
        return
    path = Path(path)
    if path.is_dir():
        yield from _check_collection(path)
    elif path.suffix == ".json":
        yield _check_model(path)
    else:
        yield _check_store(path)


def _check_collection(folder: Path) -> Iterator[Finding]:
    from evenrank.trec.checksums import file_fault
    from evenrank.trec.manifest import FILE_NAME, read_manifest, waiting_manifest

    again = "import it again"
    try:
        manifest = read_manifest(folder)
    except EvenrankError as error:
        yield Finding(folder / FILE_NAME, str(error).removeprefix(f"{folder / FILE_NAME}: "), again, True)
        return
    yield Finding(folder / FILE_NAME, FINE)
    data = folder / manifest.data_folder
    if not manifest.files:
        yield Finding(data, BEFORE_CHECKSUMS, "to have them, import it again", is_checked=False)
    for name in manifest.files:
        fault = file_fault(data, name, manifest.files)
        yield Finding(data / name, fault or FINE, again if fault else "", bool(fault))
    yield from _check_sources(folder)
    if manifest.index_folder:
        yield from _check_index(folder / manifest.index_folder)
    if waiting := waiting_manifest(folder):
        yield Finding(
            folder / waiting.data_folder, "waits for its index", f"run: evenrank index {folder}", is_checked=False
        )
    if (model := folder / "relevance-model.json").exists():
        yield _check_model(model)
    for store in sorted(folder.glob("*.sqlite")):
        yield _check_store(store)
    for left in sorted(folder.glob(".*.tmp")):
        yield Finding(left, "left by a process that was killed", "the next import removes it", is_checked=False)


def _check_sources(folder: Path) -> Iterator[Finding]:
    """The imported files that lie in the collection's folder: `index` reads the corpus again, but no changes.

    A folder of releases has the corpus alone, if any.
    """
    from evenrank.trec.manifest import CHANGES, TOPIC_CHANGES, has_releases, read_manifest
    from evenrank.trec.sources import md5_of

    are_releases = has_releases(folder)
    for name, source in read_manifest(folder).sources.items():
        path = folder / source.path
        is_elsewhere = not source.path.startswith("corpus-") if are_releases else not path.is_relative_to(folder)
        if is_elsewhere or name.startswith((CHANGES, TOPIC_CHANGES)):
            continue
        if not path.exists():
            yield Finding(path, "missing", "restore it, or import other files", True)
        elif path.stat().st_size != source.size_bytes or (source.md5 and md5_of(path) != source.md5):
            yield Finding(path, "not the file that was imported", "restore it, or import the collection again", True)
        else:
            yield Finding(path, FINE if source.md5 else "of the right size")


def _check_index(folder: Path) -> Iterator[Finding]:
    from evenrank.retrieval.engine.engines import read_state
    from evenrank.trec.checksums import FILE_NAME as CHECKSUMS
    from evenrank.trec.checksums import ChecksumError, folder_faults
    from evenrank.trec.manifest import BUILD_FILE

    if not folder.exists():
        return
    rebuild = f"remove the folder and run: evenrank index {folder.parent}"
    state = read_state(folder)
    if state is None:
        yield Finding(folder / BUILD_FILE, "cannot be read", rebuild, True)
    elif not state.is_complete:
        yield Finding(folder, "not finished", f"run: evenrank index {folder.parent}", is_checked=False)
    elif not (folder / CHECKSUMS).exists():
        yield Finding(folder, BEFORE_CHECKSUMS, f"to have them, {rebuild}", is_checked=False)
    else:
        try:
            faults = folder_faults(folder)
        except ChecksumError as error:
            yield Finding(folder / CHECKSUMS, str(error), rebuild, True)
            return
        yield from (Finding(folder / name, fault, rebuild, True) for name, fault in faults.items())
        if not faults:
            yield Finding(folder, FINE)


def _check_model(path: Path) -> Finding:
    from evenrank.retrieval.learn.learned_model import load

    try:
        load(path)
    except EvenrankError as error:
        return Finding(path, str(error).removeprefix(f"{path}: "), "train it again: evenrank learn", True)
    return Finding(path, FINE)


def _check_store(path: Path) -> Finding:
    """A judgments file, a store of work lists or a file of article texts, told apart by their tables."""
    from evenrank.app.assess.texts import SCHEMA as TEXTS
    from evenrank.app.storage.store import app_schema
    from evenrank.database.sqlite import SqliteFile, kind_of, open_file
    from evenrank.trec.assessment.votes import judgments_schema

    is_made_anew = path.name.endswith(".texts.sqlite")
    restore = TEXTS.fix if is_made_anew else "restore a backup, or save what can be read: sqlite3 FILE .recover"
    try:
        schema = kind_of(path, (judgments_schema(), app_schema(), TEXTS))
        open_file(SqliteFile(path), schema).close()  # compares everything with its checksums
    except DamagedStoreError as error:
        return Finding(path, error.reason, restore, True)
    except EvenrankError as error:
        return Finding(path, str(error).removeprefix(f"{path}: "), restore, True)
    return Finding(path, FINE)


def _check_database(address: str) -> Iterator[Finding]:
    """Lists and judgments in PostgreSQL: every value is read, which finds pages that fail the server's checksums."""
    from evenrank.app.storage.store import app_schema
    from evenrank.trec.assessment.votes import judgments_schema

    shown = shown_location(address)
    try:
        kinds = kinds_in(address, (app_schema(), judgments_schema()))
        if not kinds:
            yield Finding(shown, "has no tables of evenrank", "name the database that serve or judgments uses", True)
        for schema in kinds:
            with open_database(address, schema) as store:
                faults = store.check()
            state = "; ".join(faults) or "every table can be read"
            yield Finding(f"{shown} ({schema.name})", state, "restore a backup" if faults else "", bool(faults))
    except EvenrankError as error:
        reason = str(error).removeprefix(f"{shown}: ")
        yield Finding(shown, reason, "check the address and that the server is running", True)


REQUIREMENT = re.compile(r"([\w.-]+)[^;]*(?:;.*extra == ['\"](\w+)['\"])?")
"""Name and extra of a requirement, such as `pandas>=2.2; extra == "spark"`."""


@click.command("doctor")
@click.argument("paths", metavar="[PATH]...", type=StoreLocation(exists=True, dir_okay=True), nargs=-1)
def command(paths: tuple[Path | str, ...]) -> None:
    """Print versions, cores, memory and the optional parts that are installed; exit 1 when a needed one is missing.

    With PATH, the folder of a collection, a judgments file, a store of work lists, a model file or the address of a
    PostgreSQL database, check all of it instead: what is damaged and what to do about it; exit 1 when anything is
    damaged.
    """
    if paths:
        return _check_files(paths)
    return _print_versions()


def _check_files(paths: tuple[Path | str, ...]) -> None:

    findings = [finding for path in paths for finding in check_path(path)]
    rows = [[str(finding.path), finding.state, finding.fix] for finding in findings]
    click.echo(aligned([["file", "state", "what to do"], *rows]))
    n_damaged = sum(finding.is_damaged for finding in findings)
    n_checked = sum(finding.is_checked for finding in findings)
    unchecked = f"; {len(findings) - n_checked:,} not checked" if n_checked < len(findings) else ""
    if n_damaged:
        click.echo(f"\n{n_damaged:,} of {n_checked:,} are damaged{unchecked}")
        raise click.exceptions.Exit(1)
    click.echo(f"\n{n_checked:,} checked, nothing is damaged{unchecked}")


def _print_versions() -> None:
    lines: list[list[object]] = [["part", "version", "needed for"]]
    lines.append(["evenrank", version("evenrank"), "everything"])
    lines.append(["python", platform.python_version(), "everything"])
    is_complete = sys.version_info >= (3, 11)
    missing = []
    for package, extras in _requirements().items():
        found = _version(package)
        is_complete &= bool(found or extras)
        missing += [] if found else extras
        used = "everything" if not extras else f"extra{'s' * (len(extras) > 1)} {', '.join(extras)}"
        lines.append([package, found or "not installed", used])
    click.echo(aligned(lines))
    if missing:
        click.echo(f"\nto install an extra, in the sources: pip install '.[{missing[0]}]'")
    click.echo(f"\ncores: {os.cpu_count()}   memory: {_memory()}   platform: {platform.platform()}")
    if not is_complete:
        raise click.exceptions.Exit(1)


def _requirements() -> dict[str, list[str]]:
    """Every package that may be needed, and the extras that need it; none for what is always needed."""
    found: dict[str, list[str]] = {}
    for line in requires("evenrank") or ():
        matched = REQUIREMENT.match(line)
        if matched:
            found.setdefault(matched[1], []).extend([matched[2]] if matched[2] else [])
    return dict(sorted(found.items(), key=lambda pair: (bool(pair[1]), pair[1])))


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _memory() -> str:
    try:
        n_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return "unknown"
    return f"{n_bytes / 2**30:.1f} GiB"
