"""Tables as LaTeX (booktabs), the best values in bold."""

from __future__ import annotations

from evenrank.scoring.tables.table import Table

_ESCAPES = {
    "\\": r"\textbackslash{}",
    **{character: "\\" + character for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    "−": "$-$",
    "×": r"$\times$",
    "‖": r"$\Vert$",
    "²": r"$^2$",
}


def latex_of(table: Table) -> str:
    """A `tabular` that needs the package booktabs; a caption becomes a comment above it."""
    align = "".join("r" if table.is_number(place) else "l" for place in range(len(table.columns)))
    best = table.best()
    lines = [f"% {line}" for line in table.caption.splitlines()]
    lines += [rf"\begin{{tabular}}{{{align}}}", r"\toprule", _row([escape(c.heading) for c in table.columns])]
    lines.append(r"\midrule")
    for number, row in enumerate(table.shown()):
        cells = [rf"\textbf{{{escape(c)}}}" if (number, place) in best else escape(c) for place, c in enumerate(row)]
        lines.append(_row(cells))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def escape(text: str) -> str:
    """Text that LaTeX prints unchanged."""
    return "".join(_ESCAPES.get(character, character) for character in text)
