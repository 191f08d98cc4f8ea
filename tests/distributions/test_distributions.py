"""Wheel and source archive: built, complete, and working where nothing else of this repository is.

`EVENRANK_LONG=1` also installs the wheel from scratch, with each small extra alone; that needs a package index.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
USES = {
    "": "import evenrank; print(evenrank.score({'q': ['a']}, {'a': 'x'}, target='equal').scores)",
    "report": "import evenrank; evenrank.score({'q': ['a']}, {'a': 'x'}, target='equal').plot().savefig('a.png')",
    "pandas": "import evenrank; print(evenrank.score({'q': ['a']}, {'a': 'x'}, target='equal').to_pandas())",
    "polars": "import evenrank; print(evenrank.score({'q': ['a']}, {'a': 'x'}, target='equal').to_polars())",
    "web": "import evenrank.web.app",
    "wiki": "import evenrank.wiki.client",
    "fleet": "import opensearchpy, evenrank",
    "interop": "import evenrank; print(evenrank.parse_measure('AWRF'))",
}
"""Extra → Python that needs it; heavy ones (dense, gpu, spark) are not installed here."""
OPTIONAL = ("matplotlib", "pandas", "polars", "starlette", "lightgbm", "onnxruntime", "pyspark", "ir_measures")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source archive."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)], cwd=ROOT, check=True, capture_output=True
    )
    return folder


def wheel_of(folder: Path) -> Path:
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_wheel_holds_every_file_of_the_package(built: Path) -> None:
    inside = {name for name in zipfile.ZipFile(wheel_of(built)).namelist() if name.startswith("evenrank/")}
    tracked = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert {name.removeprefix("src/") for name in tracked.split()} <= inside
    assert not [name for name in inside if name.endswith((".pyc", "~"))]


def test_source_archive_can_be_built_from(built: Path, tmp_path: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    (folder,) = tmp_path.iterdir()
    assert {"pyproject.toml", "README.md", "LICENSE", "src", "tests", "docs"} <= {
        path.name for path in folder.iterdir()
    }
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "again")]
    subprocess.run(build, cwd=folder, check=True, capture_output=True)
    first, again = (zipfile.ZipFile(wheel_of(place)) for place in (built, tmp_path / "again"))
    assert first.namelist() == again.namelist()


def test_installed_wheel_works_without_optional_packages(built: Path, tmp_path: Path) -> None:
    """The wheel unpacked beside the packages that it needs, where optional ones cannot be imported."""
    with zipfile.ZipFile(wheel_of(built)) as packed:
        packed.extractall(tmp_path / "site")
    block = "\n".join(
        [
            "import sys",
            f"sys.path.insert(0, {str(tmp_path / 'site')!r})",
            *(f"sys.modules[{name!r}] = None" for name in OPTIONAL),
            "import evenrank",
            f"assert evenrank.__file__.startswith({str(tmp_path)!r}), evenrank.__file__",
            "collection = evenrank.generate_collection('c', n_pages=300, n_topics=2)",
            "evenrank.build_index(collection)",
            "run = evenrank.rank(collection, 1, 'optimal', workers=1).run",
            "print(evenrank.evaluate(collection, run))",
        ]
    )
    done = subprocess.run(
        [sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, check=False, env={**os.environ}
    )
    assert done.returncode == 0, done.stderr
    assert "Score" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("EVENRANK_LONG"), reason="EVENRANK_LONG=1 installs from a package index")
@pytest.mark.parametrize("extra", USES)
def test_each_extra_alone_in_a_clean_environment(extra: str, built: Path, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    python = tmp_path / "env" / "bin" / "python"
    wanted = f"evenrank[{extra}] @ {wheel_of(built).as_uri()}" if extra else str(wheel_of(built))
    subprocess.run([str(python), "-m", "pip", "install", "-q", wanted], check=True, capture_output=True)
    done = subprocess.run([str(python), "-c", USES[extra]], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    doctor = subprocess.run([str(tmp_path / "env" / "bin" / "evenrank"), "doctor"], capture_output=True, check=False)
    assert doctor.returncode == 0, doctor.stdout
