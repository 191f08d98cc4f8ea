"""Hostile pages end in time, and no text whatever makes the cleaner fail."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.real_dump import load_benchmark

from evenrank.wikipedia.annotate.wikitext import parse_wikitext

HOSTILE = load_benchmark("wikitext").HOSTILE
MARKS = (
    *(
        "{{",
        "}}",
        "[[",
        "]]",
        "{|",
        "|}",
        "|",
        "||",
        "!!",
        "'''",
        "''",
        "=",
        "==",
        "\n",
        "\n{|",
        "\n|}",
        "\n|-",
        "\n* ",
    ),
    *("<ref>", "<ref", "</ref>", "<ref name=a />", "<!--", "-->", "<nowiki>", "</nowiki>", "<gallery>", "</gallery>"),
    *("<math>", "</math>", "<br>", "<", ">", "[http://a ", "]", "&amp;", "&#0;", "&#xD800;", "&", "__TOC__", "\0"),
    *("File:a.jpg", "Category:", "infobox", "lang", "a", " ", ":", "\x85", "\u2028", "İ", "\ud800"),
)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_megabyte_is_read(name: str) -> None:
    text = HOSTILE[name](1_000_000)
    page = parse_wikitext(text)
    assert page.counts.n_bytes == len(text.encode())
    assert len(page.body) <= len(text)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(MARKS), max_size=40).map("".join))
def test_any_mixture_of_marks_is_read(text: str) -> None:
    page = parse_wikitext(text)
    assert sum(page.counts.n_headings) == sum(section.level > 0 for section in page.sections)
    assert page.counts.n_categories >= len(page.categories)
    assert all(value == value.strip() for value in (*page.captions, *page.anchors, *page.categories))


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_any_text_is_read(text: str) -> None:
    page = parse_wikitext(text)
    assert parse_wikitext(text) == page


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.characters(categories=["L", "N", "Zs"], include_characters=".,\n()")))
def test_text_without_marks_passes_unchanged(text: str) -> None:
    assert parse_wikitext(text).body == text
