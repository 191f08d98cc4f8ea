"""The notebooks run from top to bottom, show what they say, and open in any Jupyter."""

from __future__ import annotations

import base64
import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs.test_examples import examples

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("run_notebooks", ROOT / "tools" / "run_notebooks.py")
assert SPEC is not None
assert SPEC.loader is not None
run_notebooks = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(run_notebooks)
NOTEBOOKS: list[Path] = run_notebooks.NOTEBOOKS
MAX_FIGURE_BYTES = 60_000


def read(path: Path) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return notebook


def shown_text(output: dict[str, Any]) -> str:
    """What an output shows as plain text."""
    return "".join(output["text"] if output["output_type"] == "stream" else output["data"]["text/plain"])


def code_cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_there_are_four() -> None:
    assert [path.name[0] for path in NOTEBOOKS] == ["1", "2", "3", "4"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_those_of_a_fresh_run(path: Path) -> None:
    saved, fresh = read(path), run_notebooks.executed(path)
    for old, new in zip(code_cells(saved), code_cells(fresh), strict=True):
        pairs = list(zip(old["outputs"], new["outputs"], strict=True))
        differing = [b for a, b in pairs if not examples._same(shown_text(a).strip(), shown_text(b).strip())]
        assert not differing, (
            f"{''.join(old['source'])}\n{shown_text(differing[0])}\nrun: python tools/run_notebooks.py"
        )
        assert [a.get("data", {}).keys() for a, _ in pairs] == [b.get("data", {}).keys() for _, b in pairs]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_file_is_a_notebook_of_version_4_5(path: Path) -> None:
    notebook = read(path)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert notebook["metadata"]["kernelspec"]["language"] == "python"
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", one) for one in ids)
    for cell in notebook["cells"]:
        wanted = {"cell_type", "id", "metadata", "source"}
        is_code = cell["cell_type"] == "code"
        assert set(cell) == (wanted | {"execution_count", "outputs"} if is_code else wanted)
    assert [cell["execution_count"] for cell in code_cells(notebook)] == list(range(1, len(code_cells(notebook)) + 1))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_figures_are_there_and_small(path: Path) -> None:
    outputs = [output for cell in code_cells(read(path)) for output in cell["outputs"]]
    figures = [base64.b64decode(data) for output in outputs if (data := output.get("data", {}).get("image/png"))]
    assert figures
    assert all(figure.startswith(b"\x89PNG") and len(figure) <= MAX_FIGURE_BYTES for figure in figures)


def test_notebooks_are_linked() -> None:
    for page in (ROOT / "README.md", ROOT / "docs" / "index.md"):
        text = page.read_text("utf-8")
        assert [path.name for path in NOTEBOOKS if path.name not in text] == []


def test_a_failing_cell_is_an_error(tmp_path: Path) -> None:
    notebook = read(NOTEBOOKS[0])
    notebook["cells"] = [{**code_cells(notebook)[0], "source": ["1 / 0"]}]
    (tmp_path / "broken.ipynb").write_text(json.dumps(notebook), "utf-8")
    with pytest.raises(run_notebooks.subprocess.CalledProcessError):
        run_notebooks.executed(tmp_path / "broken.ipynb")
