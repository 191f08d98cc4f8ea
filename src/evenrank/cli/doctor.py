"""`evenrank doctor`: what is installed, what this machine has, and whether files are as they were written."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import click

from evenrank.cli.listing import aligned
from evenrank.cli.option_types import StoreLocation

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
    from evenrank.cli.file_checks import check_path

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
