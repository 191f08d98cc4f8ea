"""Wheel and source archive: built, complete, and working where nothing else of this repository is.

The long tests install the wheel from scratch with each extra alone, which needs a package index.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
ITEMS = "import evenrank; fair = evenrank.rerank({'q': {'a': 1, 'b': 1}}, {'a': 'x', 'b': 'y'}); "
USES = {
    "": "import evenrank; print(evenrank.score({'q': ['a']}, {'a': 'x'}, target='equal').scores)",
    "report": "import evenrank; evenrank.score({'q': ['a']}, {'a': 'x'}, target='equal').plot().savefig('a.png')",
    "pandas": "import evenrank; print(evenrank.score({'q': ['a']}, {'a': 'x'}, target='equal').to_pandas())",
    "polars": "import evenrank; print(evenrank.score({'q': ['a']}, {'a': 'x'}, target='equal').to_polars())",
    "web": "import evenrank.app.app",
    "wiki": "import evenrank.wikipedia.mediawiki.client; print(evenrank.publish)",
    "fleet": "import evenrank.retrieval.engine.opensearch_engine, opensearchpy",
    "postgres": "import evenrank.database.postgres, psycopg",
    "interop": "import evenrank.interop.pyterrier_transformer, ir_measures, pandas; import evenrank.interop.frames",
    "ranx": ITEMS + "from evenrank.interop.ranx_runs import to_ranx; print(to_ranx(fair))",
    "lenskit": ITEMS + "from evenrank.interop.lenskit_lists import to_lenskit; print(len(to_lenskit(fair)))",
    "ann": "from evenrank.retrieval.encode.vector_cache import has_usearch; import usearch.index; assert has_usearch()",
    "dense": "import evenrank.retrieval.encode.encoder, onnxruntime, tokenizers",
    "spark": "import evenrank.spark, pyspark.sql.pandas.functions, pyarrow.parquet",
    "gpu": "\n".join(
        [
            "import torch",
            "from evenrank.errors import EvenrankError",
            "from evenrank.retrieval.encode.encoder import Encoder, EncoderSettings",
            "print(Encoder(EncoderSettings(device='cpu-float')).encode_query('harvest').shape)",
            "try:",
            "    Encoder(EncoderSettings(device='cuda')).encode_query('harvest')",
            "except EvenrankError as error:",
            "    assert 'PyTorch finds no GPU here' in str(error)",
            "else:",
            "    assert torch.cuda.is_available()",
        ]
    ),
}
"""Extra → Python that needs it; `gpu` computes on the processor where there is no GPU."""
QUICK = ("", "report", "pandas", "polars", "web", "wiki", "fleet", "postgres", "interop")
"""Extras that are imported in a second or two; the long tests install all of them."""
OPTIONAL = (
    *("matplotlib", "pandas", "polars", "starlette", "onnxruntime", "pyspark", "pyarrow", "ir_measures", "ranx"),
    *("lenskit", "psycopg", "opensearchpy", "pyterrier", "tokenizers", "urllib3", "babel", "jinja2", "usearch"),
)
"""Packages that only some extras bring, by their names in Python."""
ADAPTERS = {"ranx": ("ranx",), "lenskit": ("LensKit",), "interop": ("PyTerrier", "ir_measures", "ir_datasets")}
"""Extra → the sections of `interop.md` whose examples need it."""


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


def test_an_index_of_packages_would_accept_both_archives(built: Path) -> None:
    pytest.importorskip("twine")
    archives = [str(path) for path in built.iterdir()]
    check = [sys.executable, "-m", "twine", "check", "--strict", *archives]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


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


def brought_by(extra: str) -> set[str]:
    """Names in Python of the packages that the core and an extra bring, with all that these need."""
    texts = [*PROJECT["dependencies"], *(PROJECT["optional-dependencies"][extra] if extra else [])]
    found: set[str] = set()
    waiting = [(one.name, one.extras) for one in map(Requirement, texts)]
    while waiting:
        name, extras = waiting.pop()
        try:
            needed = [Requirement(text) for text in requires(name) or []]
        except PackageNotFoundError:
            continue
        if canonicalize_name(name) in found:
            continue
        found.add(canonicalize_name(name))
        applies = (one for one in needed if _applies(one, extras))
        waiting += [(one.name, one.extras) for one in applies]
    by_module = packages_distributions()
    return {module for module, owners in by_module.items() if {canonicalize_name(one) for one in owners} & found}


def direct_requirements(extra: str) -> list[str]:
    """Names of the packages that an extra asks for here."""
    wanted = map(Requirement, PROJECT["optional-dependencies"][extra] if extra else [])
    return [one.name for one in wanted if one.marker is None or one.marker.evaluate()]


def is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def _applies(requirement: Requirement, extras: set[str]) -> bool:
    return requirement.marker is None or any(requirement.marker.evaluate({"extra": one}) for one in ("", *extras))


@pytest.mark.parametrize("extra", QUICK)
def test_what_an_extra_is_for_needs_nothing_else(extra: str, tmp_path: Path) -> None:
    """With all optional packages hidden that the extra does not bring; what is installed depends on the environment."""
    if missing := [name for name in direct_requirements(extra) if not is_installed(name)]:
        pytest.skip(f"the extra [{extra}] is not installed: {', '.join(missing)}")
    allowed = brought_by(extra)
    hidden = [f"sys.modules[{name!r}] = None" for name in OPTIONAL if name not in allowed]
    code = "\n".join(["import sys", *hidden, USES[extra]])
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_extra_is_tried() -> None:
    assert set(PROJECT["optional-dependencies"]) - {"learn"} == set(USES) - {""}


def test_the_version_is_in_one_place(built: Path) -> None:
    """The wheel, the package and the citation have the version of pyproject.toml; nothing else names one."""
    version = PROJECT["version"]
    assert wheel_of(built).name.startswith(f"evenrank-{version}-")
    sources = [path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py")]
    assert not [text for text in sources if f'"{version}"' in text]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_the_changelog_has_this_version_with_its_date() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    newest = next(heading for heading in headings if heading != "Unreleased")
    assert re.fullmatch(rf"{re.escape(PROJECT['version'])} – \d{{4}}-\d\d-\d\d", newest)


def test_the_page_of_an_index_shows_no_broken_picture(built: Path) -> None:
    """An index has the text of the README and none of its files: pictures with paths would be broken there."""
    with zipfile.ZipFile(wheel_of(built)) as packed:
        (name,) = [one for one in packed.namelist() if one.endswith(".dist-info/METADATA")]
        text = packed.read(name).decode()
    assert "# Evenrank" in text
    assert not re.findall(r"!\[[^]]*\]\((?!https?://|data:)", text)
    assert not re.findall(r"(?<!!)\[[^]]*\]\((?!https?://|#|mailto:)", text)


@pytest.fixture(scope="module")
def environment(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Makes an environment with the wheel and one extra, and nothing else; gives its folder of programs."""
    made: dict[str, Path] = {}

    def make(extra: str) -> Path:
        if extra not in made:
            place = tmp_path_factory.mktemp(extra or "core") / "env"
            subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
            wanted = f"evenrank[{extra}] @ {wheel_of(built).as_uri()}" if extra else str(wheel_of(built))
            python = str(place / "bin" / "python")
            uv = shutil.which("uv")
            install = [uv, "pip", "install", "--python", python] if uv else [python, "-m", "pip", "install"]
            subprocess.run([*install, "-q", wanted], check=True, capture_output=True)
            made[extra] = place / "bin"
        return made[extra]

    return make


@pytest.mark.long
@pytest.mark.parametrize("extra", USES)
def test_each_extra_alone_in_a_clean_environment(
    extra: str, environment: Callable[[str], Path], tmp_path: Path
) -> None:
    programs = environment(extra)
    use = [str(programs / "python"), "-c", USES[extra]]
    done = subprocess.run(use, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    doctor = subprocess.run([str(programs / "evenrank"), "doctor"], capture_output=True, check=False)
    assert doctor.returncode == 0, doctor.stdout


def pages_of_the_docs() -> list[str]:
    """Pages with examples, by their path; those on other packages and of a real dump have tests of their own."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    shown = [page for page in pages if re.search(r"^```(console|python)$", page.read_text("utf-8"), re.M)]
    return [str(page.relative_to(ROOT)) for page in shown if page.name not in ("interop.md", "real-wiki.md")]


@pytest.mark.long
@pytest.mark.parametrize("name", pages_of_the_docs())
def test_every_page_runs_in_the_environment_of_the_readme(
    name: str, environment: Callable[[str], Path], tmp_path: Path
) -> None:
    """With the extras that `make demo` installs, and those that the page names: real output, compared."""
    text = (ROOT / name).read_text("utf-8")
    named = {one for names in re.findall(r"pip install '\.\[([\w,]+)\]'", text) for one in names.split(",")}
    programs = environment(",".join(sorted({"report", "web"} | named)))
    (tmp_path / "page.md").write_text(text, "utf-8")
    check = [str(programs / "python"), str(ROOT / "docs" / "fill_examples.py"), "--check", "page.md"]
    done = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
def test_wheel_and_source_archive_of_build_install_alone(tmp_path: Path) -> None:
    """`python -m build`, as for an index; both archives installed, each in an environment of its own."""
    subprocess.run([sys.executable, "-m", "build", "-o", str(tmp_path / "dist")], cwd=ROOT, check=True)
    archives = sorted((tmp_path / "dist").iterdir())
    assert [archive.name.removeprefix(f"evenrank-{PROJECT['version']}") for archive in archives] == [
        "-py3-none-any.whl",
        ".tar.gz",
    ]
    for archive in archives:
        place = tmp_path / f"env-{archive.suffix}"
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        subprocess.run([str(place / "bin/python"), "-m", "pip", "install", "-q", str(archive)], check=True)
        use = [str(place / "bin/python"), "-c", USES[""]]
        assert "AWRF" in subprocess.run(use, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        shown = subprocess.run([str(place / "bin/evenrank"), "--version"], capture_output=True, text=True, check=True)
        assert PROJECT["version"] in shown.stdout


@pytest.mark.long
@pytest.mark.parametrize("extra", ADAPTERS)
def test_examples_with_another_package_run_with_that_package_alone(
    extra: str, environment: Callable[[str], Path], tmp_path: Path
) -> None:
    """Among them those of ranx and LensKit (`py`), which other tests leave out: one compiles itself, one is large."""
    start, *sections = re.split(r"^## ", (ROOT / "docs" / "how-to" / "interop.md").read_text("utf-8"), flags=re.M)
    chosen = [section for section in sections if section.split("\n", 1)[0] in ADAPTERS[extra]]
    assert len(chosen) == len(ADAPTERS[extra])
    (tmp_path / "page.md").write_text("".join([start, *chosen]).replace("```py\n", "```python\n"), "utf-8")
    check = [str(environment(extra) / "python"), str(ROOT / "docs" / "fill_examples.py"), "--check", "page.md"]
    done = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
