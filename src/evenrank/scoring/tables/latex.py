"""Tables as LaTeX (booktabs), the best values in bold."""

from __future__ import annotations

from evenrank.core.safe_text import latex_text, visible_line
from evenrank.scoring.tables.table import Table


def latex_of(table: Table) -> str:
    """A `tabular` that needs the package booktabs; a caption becomes a comment above it."""
    align = "".join("r" if table.is_number(place) else "l" for place in range(len(table.columns)))
    best = table.best()
    lines = [f"% {visible_line(line)}" for line in table.caption.splitlines()]
    lines += [rf"\begin{{tabular}}{{{align}}}", r"\toprule", _row([latex_text(c.heading) for c in table.columns])]
    lines.append(r"\midrule")
    for number, row in enumerate(table.shown()):
        cells = [
            rf"\textbf{{{latex_text(c)}}}" if (number, place) in best else latex_text(c) for place, c in enumerate(row)
        ]
        lines.append(_row(cells))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"
