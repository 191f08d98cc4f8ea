"""Sphinx builds the documentation: pages in Markdown (MyST), the API reference from docstrings (autodoc).

make docs
"""

from __future__ import annotations

import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for the extensions beside this file

project = "Evenrank"
author = "The Evenrank authors"
copyright = "the Evenrank authors"  # noqa: A001
version = release = version_of("evenrank")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_design", "mathml", "synonyms"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["images/*"]
nitpicky = False

myst_enable_extensions = ["attrs_block", "colon_fence", "dollarmath"]
myst_heading_anchors = 3

add_module_names = False
autodoc_preserve_defaults = True
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_class_signature = "separated"
default_role = "code"
"""Backticks in docstrings are code."""

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["evenrank.css"]
html_title = "Evenrank"
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_last_updated_fmt = None
