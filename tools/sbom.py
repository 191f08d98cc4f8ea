"""A software bill of materials: every package of this environment that Evenrank needs, as CycloneDX 1.6 JSON.

    .venv/bin/python tools/sbom.py > evenrank.cdx.json

The same environment gives the same bytes. Names, versions and licences come from the metadata of installed packages.
"""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any


def needed(name: str, extras: frozenset[str] = frozenset()) -> dict[str, Distribution]:
    """The package and everything that it needs, as far as it is installed, by normalised name."""
    found: dict[str, Distribution] = {}
    waiting = [(name, extras)]
    while waiting:
        current, wanted = waiting.pop()
        key = normalised(current)
        try:
            package = distribution(current)
        except PackageNotFoundError:
            continue
        if key in found:
            continue
        found[key] = package
        for text in package.requires or ():
            requirement, _, marker = text.partition(";")
            asked = re.search(r"extra\s*==\s*['\"]([\w-]+)['\"]", marker)
            if asked is None or asked[1] in wanted:
                waiting.append((re.split(r"[\s<>=!~(\[]", requirement.strip())[0], frozenset()))
    return found


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def component(package: Distribution) -> dict[str, Any]:
    """One entry of the list."""
    name, version = normalised(package.metadata["Name"]), package.version
    entry: dict[str, Any] = {"type": "library", "name": name, "version": version, "purl": f"pkg:pypi/{name}@{version}"}
    if licence := licence_of(package):
        entry["licenses"] = [{"license": {"name": licence}}]
    return entry


def licence_of(package: Distribution) -> str:
    """The name of a licence: the expression, else a short text without line breaks, else the classifiers."""
    stated = package.metadata.get("License-Expression") or package.metadata.get("License") or ""
    if 0 < len(stated) < 100 and "\n" not in stated:
        return stated
    classes = [one.rpartition(" :: ")[2] for one in package.metadata.get_all("Classifier") or () if "License ::" in one]
    return " and ".join(classes)


def bill() -> dict[str, Any]:
    """The document."""
    packages = needed("evenrank", frozenset({"report", "web", "learn", "dense", "wiki", "interop"}))
    own = packages.pop("evenrank")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {**component(own), "type": "application"}},
        "components": [component(packages[name]) for name in sorted(packages)],
    }


if __name__ == "__main__":
    json.dump(bill(), sys.stdout, indent=2)
    print()
