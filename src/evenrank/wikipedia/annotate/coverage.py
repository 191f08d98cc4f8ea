"""Coverage: how many pages have an item, a continent or a gender, by group of pages and never for one person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from evenrank.core.records import WORK_ORDER
from evenrank.io.figures import clean_axes, figure_style, new_figure, save_figure_as
from evenrank.wikipedia.annotate import geography
from evenrank.wikipedia.annotate.attributes import LANGUAGE_BANDS, gender_category
from evenrank.wikipedia.annotate.record import Page

SMALL = 10
"""Groups of people smaller than this are left out of the report."""
FACTS = ("item", "continent", "citizenship", "gender")
"""What a page may have: an item, a continent, and if it is about a person a citizenship and a gender."""
PLOTTED_FACTS = {
    "item": ("o", "has an item"),
    "continent": ("s", "has a continent"),
    "citizenship": ("^", "citizenship stated"),
}
"""Facts in the figure, with marker and label."""
OF_PEOPLE = frozenset({"citizenship", "gender"})

Key = tuple[str, str, str]
"""Kind of group, group, and `pages`, `people` or a fact."""


def count_coverage(page: Page, record: Mapping[str, Any]) -> Iterator[Key]:
    """The counts to which one page adds."""
    is_human = page.facts is not None and page.facts.is_human
    has = {
        "item": page.item is not None,
        "continent": bool(record["geographic_locations"]),
        "citizenship": is_human and geography.CITIZENSHIP in page.facts.claims if page.facts else False,
        "gender": is_human and bool(record.get("gender")),
    }
    for kind, group in _groups(page, record, is_human):
        yield kind, group, "pages"
        if is_human:
            yield kind, group, "people"
        yield from ((kind, group, fact) for fact, is_there in has.items() if is_there)


def _groups(page: Page, record: Mapping[str, Any], is_human: bool) -> Iterator[tuple[str, str]]:
    yield "all", "all pages"
    yield "topic", "people" if is_human else "other topics" if page.item is not None else "without item"
    yield "quality", page.quality_class
    if "num_sitelinks_category" in record and page.item is not None:
        yield "languages", record["num_sitelinks_category"]
    if is_human and "gender" in record:
        labels = record["gender"] or ["unknown"]
        yield from (("gender", name) for name in {_category(label) for label in labels})
    if is_human:
        yield from (("age of people", name) for name in record.get("years_category") or ["unknown"])


def _category(label: str) -> str:
    return label if label == "unknown" else gender_category(label)


class CoverageRow(NamedTuple):
    """Coverage of one group."""

    kind: str
    group: str
    n_pages: int
    n_people: int
    shares: Mapping[str, float | None]
    """Share of its pages (of its people, for citizenship and gender) that have a fact; None of none."""


def coverage_rows(counts: Counter[Key]) -> list[CoverageRow]:
    """The groups in the order of the report. People in groups of less than SMALL are left out."""
    groups = sorted({key[:2] for key in counts}, key=_report_order)
    rows = [_row(counts, kind, group) for kind, group in groups]
    return [row for row in rows if row.kind not in ("gender", "age of people") or row.n_people >= SMALL]


def _row(counts: Counter[Key], kind: str, group: str) -> CoverageRow:
    n_pages, n_people = counts[kind, group, "pages"], counts[kind, group, "people"]
    shares = {}
    for fact in FACTS:
        total = n_people if fact in OF_PEOPLE else n_pages
        shares[fact] = counts[kind, group, fact] / total if total else None
    return CoverageRow(kind, group, n_pages, n_people, shares)


_KINDS = ("all", "topic", "gender", "age of people", "languages", "quality")
_ORDERED = (*WORK_ORDER, *LANGUAGE_BANDS)


def _report_order(key: tuple[str, ...]) -> tuple[int, int, str]:
    kind, group = key
    return _KINDS.index(kind), _ORDERED.index(group) if group in _ORDERED else 0, group


def coverage_table(rows: list[CoverageRow]) -> str:
    """The rows as text for a terminal."""
    lines = [f"{'group':<28}{'pages':>12}{'people':>12}" + "".join(f"{fact:>13}" for fact in FACTS)]
    for row in rows:
        cells = "".join(f"{'–' if share is None else f'{share:.1%}':>13}" for share in row.shares.values())
        name = row.group if row.kind == "all" else f"  {row.kind}: {row.group}"
        lines.append(f"{name:<28}{row.n_pages:>12,}{row.n_people:>12,}{cells}")
    return "\n".join(lines)


def draw_coverage(rows: list[CoverageRow], path: Path) -> None:
    """Write the rows as a figure; the same rows give the same bytes."""
    with figure_style():
        figure, axes = new_figure(7, 1.2 + 0.28 * len(rows))
        names = [row.group if row.kind == "all" else f"{row.kind}: {row.group}" for row in rows]
        for fact, (marker, label) in PLOTTED_FACTS.items():
            shares = [float("nan") if (share := row.shares[fact]) is None else share for row in rows]
            axes.plot(shares, names, marker, label=label, alpha=0.8)
        axes.set(xlim=(-0.02, 1.02), xlabel="share of the group's pages (of its people, for citizenship)")
        axes.invert_yaxis()
        clean_axes(axes)
        figure.legend(loc="outside upper center", ncols=len(PLOTTED_FACTS), frameon=False)
        save_figure_as(figure, path)
