"""The age of each dependency's last release, and known vulnerabilities of the locked versions.

    python tools/audit.py [--index URL] [--days 730]

asks the package index (pip's own, unless another is named) for dates, and `pip-audit`, where it is installed, for
vulnerabilities. Exit 1 when a package has a known vulnerability or no release for `--days`; exit 3 when something could
not be asked: then nothing is known about it, which is said, and is no success.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

LOCK = Path(__file__).parent.parent / "requirements" / "run.lock"
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.M)
JSON_INDEX = "application/vnd.pypi.simple.v1+json"
"""Only this form of an index has dates (PEP 700)."""


def locked_versions(text: str) -> dict[str, str]:
    """Versions by package in a lock file."""
    return dict(PINNED.findall(text))


def last_release(record: dict[str, Any]) -> datetime | None:
    """When the newest file of a package was uploaded; None when its index does not say."""
    dates = [entry["upload-time"] for entry in record.get("files", ()) if entry.get("upload-time")]
    return max(map(datetime.fromisoformat, dates), default=None)


def ask_index(index: str, package: str) -> datetime | None:
    """The date of a package's last release; None when the index does not say."""
    request = urllib.request.Request(f"{index.rstrip('/')}/{package}/", headers={"Accept": JSON_INDEX})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return last_release(json.load(answer))
    except (OSError, ValueError):
        return None


def show_ages(index: str, packages: Iterable[str], max_days: int) -> tuple[bool, bool]:
    """Print the packages whose last release is old; gives whether there are any, and whether all dates are known."""
    now = datetime.now(UTC)
    dates = {package: ask_index(index, package) for package in packages}
    ages = {package: (now - date).days for package, date in dates.items() if date is not None}
    old = sorted((days, package) for package, days in ages.items() if days > max_days)
    for days, package in reversed(old):
        print(f"{package}: last release {days:,} days ago (at most {max_days:,}: find out whether it is maintained)")
    print(f"dates of {len(ages)} of {len(dates)} packages are known; {len(old)} have no release for {max_days} days")
    return bool(old), len(ages) == len(dates)


def show_vulnerabilities(lock: Path) -> tuple[bool, bool]:
    """Print known vulnerabilities; gives whether there are any, and whether every package could be looked up."""
    words = [sys.executable, "-m", "pip_audit", "--require-hashes", "--disable-pip", "-r", str(lock), "-f", "json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        reason = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        print(f"vulnerabilities: not looked up: {reason[:200]}")
        return False, False
    bad = [(entry["name"], entry["version"], v["id"]) for entry in found for v in entry.get("vulns", ())]
    skipped = [entry["name"] for entry in found if "skip_reason" in entry]
    for name, version, identifier in bad:
        print(f"{name} {version}: {identifier}")
    print(f"vulnerabilities: {len(bad)} known in {len(found) - len(skipped)} packages; {len(skipped)} not looked up")
    return bool(bad), not skipped


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--index", help="simple index of packages; pip's own by default")
    parser.add_argument("--days", type=int, default=730)
    chosen = parser.parse_args()
    if chosen.index is None:
        from pip._internal.models.index import PyPI

        chosen.index = PyPI.simple_url
    is_old, are_dated = show_ages(chosen.index, locked_versions(LOCK.read_text()), chosen.days)
    is_bad, are_asked = show_vulnerabilities(LOCK)
    if is_old or is_bad:
        return 1
    return 0 if are_dated and are_asked else 3


if __name__ == "__main__":
    sys.exit(main())
