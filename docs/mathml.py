"""Formulas as MathML: browsers typeset them themselves, so a page needs no script, no font and no network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def visit_math(writer: HTML5Translator, node: nodes.math) -> None:
    """A formula in a line of text."""
    writer.body.append(convert(node.astext(), display="inline"))
    raise nodes.SkipNode


def visit_math_block(writer: HTML5Translator, node: nodes.math_block) -> None:
    """A formula in a paragraph of its own, which scrolls if it is wider than the page."""
    writer.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the two kinds of formula with Sphinx."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    app.config.html_math_renderer = "mathml"  # type: ignore[attr-defined]
    return {"parallel_read_safe": True, "parallel_write_safe": True}
