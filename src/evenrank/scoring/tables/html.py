"""Tables as HTML: a caption, row headers, the best values in bold."""

from __future__ import annotations

from html import escape

from evenrank.scoring.tables.table import Table


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
