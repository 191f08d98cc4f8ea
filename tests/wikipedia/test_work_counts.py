"""What an article has and what its editors ask for, counted by hand; nothing where templates are not known."""

from __future__ import annotations

import time

import pytest

from evenrank.wikipedia.annotate.inline import Namespaces
from evenrank.wikipedia.annotate.work_counts import NOT_COUNTED, WorkCounts, count_work, notice_templates

ARTICLE = """{{Short description|A town}}
{{Multiple issues|
{{More citations needed|date=May 2021}}
{{template:Copy edit|date=May 2021}}
}}
{{Infobox settlement|name=Ooty}}
'''Ooty''' is a town.{{Citation needed|date=May 2021}} It is old.{{cn}} It is large.{{ Fact }}<ref>A book.</ref>
<!-- {{citation needed}} --> <nowiki>{{citation needed}}</nowiki> {{cite book|title=Fact}} {{Citation needed span text}}
== Past ==
{{Expand_section|date=May 2021}}
[[File:Ooty.jpg|thumb|A view]] [[India]]
"""


def test_by_hand() -> None:
    assert count_work(ARTICLE) == WorkCounts(
        text=len(ARTICLE), sections=1, sources=1, images=1, links=1, citations=3, maintenance=3
    )


@pytest.mark.parametrize(
    ("language", "text", "citations", "maintenance"),
    [
        ("fr", "{{Référence nécessaire|Vrai}} {{refnec}} {{À sourcer|date=mai 2020}}", 2, 1),
        ("es", "{{cita requerida}} {{referencias|t=20200501}}", 1, 1),
        ("de", "{{Belege fehlen}} {{Citation needed}}", NOT_COUNTED, 1),
        ("ar", "نص{{بحاجة لمصدر|تاريخ=2020}}", 1, NOT_COUNTED),
        ("ltg", "{{Citation needed}}", NOT_COUNTED, NOT_COUNTED),
    ],
)
def test_each_wiki_has_its_own_templates(language: str, text: str, citations: int, maintenance: int) -> None:
    found = count_work(text, Namespaces.local(language=language))
    assert (found.citations, found.maintenance) == (citations, maintenance)


def test_no_template_asks_for_both() -> None:
    citations, maintenance = notice_templates("en")
    assert citations
    assert maintenance
    assert not citations & maintenance


def test_broken_wikitext_takes_linear_time() -> None:
    def seconds(n: int) -> float:
        start = time.process_time()
        count_work("{{" * n + "{{cn" * n + "_" * n)
        return time.process_time() - start

    seconds(1_000)
    assert seconds(160_000) < 100 * seconds(8_000) + 3.0  # 20 times the length; 400 times if it were quadratic
