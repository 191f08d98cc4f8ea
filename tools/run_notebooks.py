"""Execute notebooks without Jupyter and write their outputs into them: `python tools/run_notebooks.py [NOTEBOOK…]`.

Each notebook runs in a fresh process, in an empty folder. As in Jupyter, a cell shows what it prints and the value of
its last expression: as plain text, and as HTML and PNG where the value offers them (`_repr_html_`, `_repr_png_`).
"""

from __future__ import annotations

import ast
import base64
import io
import json
import os
import subprocess
import sys
import tempfile
import traceback
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WIDTH = "120"
"""Columns for text, which data frames would otherwise take from the terminal."""
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def executed(path: Path) -> dict[str, Any]:
    """The notebook with the outputs of a fresh run; CalledProcessError where a cell fails."""
    with tempfile.TemporaryDirectory() as folder:
        line = [sys.executable, str(Path(__file__).resolve()), "--run", str(path.resolve())]
        done = subprocess.run(
            line,
            cwd=folder,
            check=True,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, "COLUMNS": WIDTH, "PYTHONUTF8": "1"},
        )
    notebook: dict[str, Any] = json.loads(done.stdout)
    return notebook


def run_cells(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of its code cells, run one after the other in this process."""
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            cell |= {"execution_count": count, "outputs": run_cell("".join(cell["source"]), names, count)}
    return notebook


def run_cell(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """The outputs of one cell: printed text, then the value of the last expression."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) and not source.rstrip().endswith(";") else None
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(ast.Module(body, []), f"<cell {count}>", "exec"), names)
        value = eval(compile(ast.Expression(last.value), f"<cell {count}>", "eval"), names) if last else None
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines_of(printed.getvalue())})
    if value is not None:
        result = {"data": display_data(value), "execution_count": count, "metadata": {}}
        outputs.append({**result, "output_type": "execute_result"})
    return outputs


def display_data(value: object) -> dict[str, Any]:
    """A value as a notebook stores it, by media type."""
    data: dict[str, Any] = {}
    if png := getattr(value, "_repr_png_", lambda: None)():
        data["image/png"] = base64.b64encode(png).decode() + "\n"
    if html := getattr(value, "_repr_html_", lambda: None)():
        data["text/html"] = lines_of(html)
    return {**data, "text/plain": lines_of(repr(value))}


def lines_of(text: str) -> list[str]:
    """Text as a notebook stores it: a list of lines with their ends."""
    return text.splitlines(keepends=True)


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--run"]:
        notebook = json.loads(Path(arguments[1]).read_text("utf-8"))
        try:
            json.dump(run_cells(notebook), sys.stdout)
        except Exception:
            traceback.print_exc()
            return 1
        return 0
    for path in [Path(name) for name in arguments] or NOTEBOOKS:
        path.write_text(json.dumps(executed(path), indent=1, ensure_ascii=False) + "\n", "utf-8")
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
