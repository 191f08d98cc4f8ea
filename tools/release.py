"""Makes the files of a release under `dist/`: wheel, source archive, checksums and a software bill of materials.

    .venv/bin/python tools/release.py          # or: make release

Both archives are checked by `twine check --strict`, and each is installed and used in an environment of its own.
Dates in the archives are those of the last commit, so the same commit gives the same bytes. Nothing is uploaded.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
USE = """
import evenrank
fair = evenrank.rerank({"q": {"a": 0.9, "b": 0.8, "c": 0.1}}, {"a": "x", "b": "x", "c": "y"}, "equal", k=2)
print(evenrank.__version__, *fair.to_dict()["q"])
"""


def build(folder: Path) -> list[Path]:
    """Wheel and source archive of the present sources."""
    shutil.rmtree(folder, ignore_errors=True)
    date = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, check=True, capture_output=True, text=True)
    settings = os.environ | {"SOURCE_DATE_EPOCH": date.stdout.strip()}
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], cwd=ROOT, check=True, env=settings)
    return sorted(folder.iterdir())


def check(archives: list[Path]) -> None:
    """Fails when an index of packages would refuse an archive or show its description wrongly."""
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *map(str, archives)], check=True)


def try_out(archive: Path) -> None:
    """Install an archive in an environment of its own and use what is installed there, whatever PYTHONPATH says."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = f"{folder}/bin/python"
        install = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", str(archive)]
        subprocess.run(install, check=True)
        subprocess.run([python, "-I", "-c", USE], check=True, cwd=folder)


def sums(paths: list[Path]) -> str:
    """Lines for `sha256sum --check`."""
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in paths)


def main() -> None:
    folder = ROOT / "dist"
    archives = build(folder)
    check(archives)
    for archive in archives:
        try_out(archive)
    bill = folder / "evenrank.cdx.json"
    made = subprocess.run([sys.executable, str(ROOT / "tools" / "sbom.py")], check=True, capture_output=True)
    bill.write_bytes(made.stdout)
    (folder / "SHA256SUMS").write_text(sums([*archives, bill]), "utf-8")
    print(*sorted(path.name for path in folder.iterdir()), sep="\n")


if __name__ == "__main__":
    main()
