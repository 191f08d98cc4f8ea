"""The search of the documentation finds pages by words that they do not have."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_a_page_is_found_by_what_others_call_its_subject(tmp_path: Path) -> None:
    pytest.importorskip("sphinx")
    from sphinx.application import Sphinx

    source = tmp_path / "source"
    source.mkdir()
    (source / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'docs')!r})\nextensions = ['myst_parser', 'synonyms']\n"
    )
    (source / "index.md").write_text("# Start\n\n```{toctree}\nmeasures\n```\n")
    (source / "measures.md").write_text("# Measures\n\nWhat a number says.\n")
    Sphinx(str(source), str(source), str(tmp_path / "site"), str(tmp_path / "trees"), "html", status=None).build()
    index = re.fullmatch(r"Search\.setIndex\((.*)\)", (tmp_path / "site" / "searchindex.js").read_text(), re.S)
    assert index is not None
    found = json.loads(index[1])
    assert found["docnames"] == ["index", "measures"]
    assert found["terms"]["metric"] == 1
    assert "optim" not in found["terms"]


def test_every_synonym_belongs_to_a_heading() -> None:
    spec = importlib.util.spec_from_file_location("synonyms", ROOT / "docs" / "synonyms.py")
    assert spec is not None
    assert spec.loader is not None
    synonyms = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(synonyms)
    text = "\n".join(page.read_text("utf-8") for page in (ROOT / "docs").rglob("*.md"))
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    assert [
        word
        for word in synonyms.SYNONYMS
        if not synonyms.SYNONYMS[word] or not set(synonyms.SYNONYMS[word]) <= set(synonyms.keywords_of(headings))
    ] == []
