"""How a wiki shows class and importance: by its own templates where it has them, else in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from evenrank.wikipedia.mediawiki.banners import IMPORTANCES, QUALITIES
from evenrank.wikipedia.mediawiki.client import WikiClient, object_at, text
from evenrank.wikipedia.mediawiki.titles import resolve_titles

TEMPLATE = 10
_BETWEEN = "\n@@\n"


@dataclass(frozen=True)
class WikiIdiom:
    """Templates of class and importance that a wiki has; none by default."""

    templates: Mapping[str, bool] = field(default_factory=dict)
    """Name (`B-Class`, `High-importance`) → whether it makes a table cell with attributes of its own."""

    def quality_cell(self, value: str, sort_value: int) -> str:
        return self._cell(f"{value}-Class", value, sort_value)

    def importance_cell(self, value: str, sort_value: int) -> str:
        return self._cell(f"{value}-importance", value, sort_value)

    def _cell(self, template: str, value: str, sort_value: int) -> str:
        """A cell of a sortable table; attributes of a template that makes a cell follow ours."""
        order = f'data-sort-value="{sort_value}"'
        if template not in self.templates:
            return f"{order} | {value}"
        return f"{order} {'' if self.templates[template] else '| '}{{{{{template}}}}}"


PLAIN = WikiIdiom()
"""Words only, for text that is pasted anywhere."""


def idiom_of(client: WikiClient) -> WikiIdiom:
    """The templates that this wiki has; each is expanded once to see whether it makes a whole table cell."""
    names = [*(f"{value}-Class" for value in QUALITIES), *(f"{value}-importance" for value in IMPORTANCES)]
    found = resolve_titles(client, [f"Template:{name}" for name in names], namespace=TEMPLATE).pages
    known = [name for name in names if f"Template:{name}" in found]
    if not known:
        return PLAIN
    asked = _BETWEEN.join(f"{{{{{name}}}}}" for name in known)
    answer = client.call(action="expandtemplates", prop="wikitext", text=asked)
    expanded = text(object_at(answer, "expandtemplates"), "wikitext").split(_BETWEEN)
    if len(expanded) != len(known):
        return PLAIN
    return WikiIdiom({name: _is_cell(made) for name, made in zip(known, expanded, strict=True)})


def _is_cell(expanded: str) -> bool:
    """Whether expanded text begins with attributes and a bar, as `style="…" | B` does."""
    attributes, bar, _ = expanded.partition("|")
    return bool(bar) and "=" in attributes and "[[" not in attributes and "<" not in attributes
