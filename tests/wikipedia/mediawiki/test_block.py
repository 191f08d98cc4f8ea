"""The marked part of a page: replaced alone, never when somebody edited it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenrank.wikipedia.mediawiki.publish import EditedByOthersError, find_block, replace_block, write_block
from evenrank.wikipedia.mediawiki.settings import WikiError

texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=80)


@given(texts, texts, texts, texts)
def test_only_our_part_changes(above: str, below: str, first: str, second: str) -> None:
    page = above + write_block(first, "a") + below
    changed = replace_block(page, second, "a")
    assert changed == above + write_block(second, "a") + below
    block = find_block(changed, "a")
    assert block is not None
    assert not block.is_edited
    assert replace_block(changed, second, "a") == changed


def test_a_page_without_markers_gets_them_at_its_end() -> None:
    assert replace_block("People wrote this.", "x", "a") == f"People wrote this.\n\n{write_block('x', 'a')}\n"
    assert replace_block("", "x", "a") == f"{write_block('x', 'a')}\n"


def test_lists_of_other_names_are_left_alone() -> None:
    page = replace_block(replace_block("", "one", "a"), "two", "b")
    changed = replace_block(page, "three", "a")
    assert write_block("three", "a") in changed
    assert write_block("two", "b") in changed


def test_an_edit_inside_is_not_lost() -> None:
    page = write_block("* [[Chess]]\n* [[Go]]", "a").replace("* [[Go]]", "* [[Go]] done")
    with pytest.raises(EditedByOthersError, match="was edited on the wiki"):
        replace_block(page, "new", "a")
    assert replace_block(page, "new", "a", discard_edits=True) == write_block("new", "a")


@pytest.mark.parametrize("damage", ["twice", "no end", "no begin", "swapped"])
def test_broken_markers_are_refused(damage: str) -> None:
    begin, content, end = write_block("x", "a").split("\n")
    page = {
        "twice": f"{begin}\n{content}\n{end}\n{begin}\n{content}\n{end}",
        "no end": f"{begin}\n{content}",
        "no begin": f"{content}\n{end}",
        "swapped": f"{end}\n{content}\n{begin}",
    }[damage]
    with pytest.raises(WikiError, match="markers"):
        replace_block(page, "y", "a")


@pytest.mark.parametrize("name", ["", "A", "a b", "-->", "a" * 65])
def test_names_that_could_break_the_markers(name: str) -> None:
    with pytest.raises(WikiError, match="not a name"):
        replace_block("", "x", name)


def test_content_cannot_end_the_part() -> None:
    end = write_block("", "a").split("\n")[-1]
    page = replace_block("", f"before {end} after", "a")
    block = find_block(page, "a")
    assert block is not None
    assert not block.is_edited
