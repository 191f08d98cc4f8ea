"""Tables of a page: the words of their cells."""

from __future__ import annotations

import re

from evenrank.annotate.inline import decode_references, strip_markup

_CELL = re.compile(r"\n[ \t]*(?:\|-[^\n]*|\|\+|[|!])|\|\||!!")


def table_words(content: str) -> str:
    """Words of the cells and the caption of a table, in reading order; `content` is what stands inside {| |}."""
    cells = _CELL.split(strip_markup(content))
    words = [cell.rpartition("|")[2] for cell in cells[1:]]
    return " ".join(decode_references(" ".join(words)).split())
