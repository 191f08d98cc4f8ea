"""Tables as HTML (a caption, row headers, the best values in bold), and plain pages of them."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from evenrank.core.safe_text import terminal_text
from evenrank.scoring.tables.table import Table

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a }}
table {{ border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto }}
th, td {{ padding: .25rem .6rem; border-bottom: 1px solid #d9d9d9; text-align: left }}
caption {{ text-align: left; color: #555; padding: .25rem 0 }}
img {{ max-width: 100%; height: auto }}
</style></head><body><h1>{title}</h1>
{body}
</body></html>
"""


def page_of(title: str, body: Iterable[str]) -> str:
    """A whole page that loads nothing from anywhere, of parts that are HTML already."""
    return terminal_text(PAGE.format(title=escape(title), body="".join(body)))


def html_of(table: Table, class_name: str = "evenrank") -> str:
    """A `<table>` whose first column is the row header."""
    best = table.best()
    heads = "".join(
        f'<th scope="col"{_align(table, place)}>{escape(c.heading)}</th>' for place, c in enumerate(table.columns)
    )
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    body = "".join(f"<tr>{_cells(table, number, row, best)}</tr>\n" for number, row in enumerate(table.shown()))
    return (
        f'<table class="{escape(class_name)}">{caption}\n<thead><tr>{heads}</tr></thead>\n'
        f"<tbody>\n{body}</tbody></table>\n"
    )


def _cells(table: Table, number: int, row: list[str], best: set[tuple[int, int]]) -> str:
    cells = [f'<th scope="row">{escape(row[0])}</th>']
    for place, text in enumerate(row[1:], 1):
        inner = f"<strong>{escape(text)}</strong>" if (number, place) in best else escape(text)
        cells.append(f"<td{_align(table, place)}>{inner}</td>")
    return "".join(cells)


def _align(table: Table, place: int) -> str:
    return ' style="text-align:right"' if place and table.is_number(place) else ""
