"""Articles for assessors: cleaned, words marked, long ones cut, nothing that tells their quality."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from evenrank.app.assess.reading import FIRST_CHARACTERS, lay_out, marker, topic_stems
from evenrank.app.assess.texts import ArticleContent, ContentPart, content_of, pack_content, unpack_content
from evenrank.core.records import Article, Topic

RIVERS = Topic(1, "Rivers/Lakes", ("dam", "flood plains"))
WIKITEXT = """{{Good article}}
{{Infobox river|name=Thames|image=Thames.jpg|length_km=346}}
The '''Thames''' is a [[river]] with two dams &amp; <b>floods</b>.<ref>x</ref>

== Course ==
=== Upper ===
It flows. Damn.
== References ==
{{reflist}}
[[Category:Rivers of England]]
[[Category:Good articles]]
[[Category:All Wikipedia articles needing clarification]]
[[Category:River stubs]]
"""


def test_an_article_is_cleaned_and_says_nothing_of_its_quality() -> None:
    content = content_of(Article(7, "Thames", "", WIKITEXT))
    assert content.facts == (("Name", "Thames"), ("Length km", "346"))
    assert content.categories == ("Rivers of England",)
    assert [part.title for part in content.parts] == ["", "Course", "Upper"]
    assert content.parts[0].text == "The Thames is a river with two dams & floods."
    assert unpack_content(pack_content(content)) == content


def test_words_are_marked_under_any_ending() -> None:
    reading = lay_out(content_of(Article(7, "Thames", "", WIKITEXT)), topic_stems(RIVERS))
    assert str(reading.blocks[0].text) == (
        "The Thames is a <mark>river</mark> with two <mark>dams</mark> &amp; <mark>floods</mark>."
    )
    assert str(reading.blocks[3].text) == "It flows. Damn."
    assert str(reading.categories[0]) == "<mark>Rivers</mark> of England"
    assert dict(reading.words) == {"rivers": 2, "dam": 1, "flood": 1}


@given(st.text(alphabet=st.sampled_from("river dam <>&\"'ÀéRIVERS\n"), max_size=80))
def test_marked_text_is_the_text_and_nothing_breaks_out(text: str) -> None:
    import html

    mark = marker(topic_stems(RIVERS), [text])
    marked = str(mark(text))
    assert html.unescape(re.sub("</?mark>", "", marked)) == text
    assert "<" not in re.sub("</?mark>", "", marked)


def test_a_topic_without_telling_words_is_marked_by_what_it_has() -> None:
    assert topic_stems(Topic(1, "WikiProject", (), "volcanoes")) == topic_stems(Topic(1, "Volcanoes"))


def test_a_long_article_is_cut_between_paragraphs_and_shown_whole_on_request() -> None:
    paragraph = "The river flows on and on. " * 20
    content = ArticleContent("Long", (ContentPart(0, "", "\n".join([paragraph] * 400)), ContentPart(2, "End", "dam")))
    stems = topic_stems(RIVERS)
    head, whole = lay_out(content, stems), lay_out(content, stems, is_whole=True)
    n_shown = len(head.blocks) * len(paragraph)
    assert FIRST_CHARACTERS - len(paragraph) < n_shown <= FIRST_CHARACTERS
    assert head.n_left == 400 * len(paragraph) - n_shown + len("End" + "dam")
    assert (len(whole.blocks), whole.n_left) == (402, 0)
    assert head.words == whole.words == (("rivers", 8000), ("dam", 1))
    assert str(whole.blocks[-1].text) == "<mark>dam</mark>"


def test_one_endless_paragraph_is_cut_at_a_blank() -> None:
    content = ArticleContent("Long", (ContentPart(0, "", "word " * 20_000),))
    head = lay_out(content, topic_stems(RIVERS))
    assert FIRST_CHARACTERS - 10 < len(head.blocks[0].text) <= FIRST_CHARACTERS
    assert len(head.blocks[0].text) + head.n_left == 100_000


def test_words_are_marked_in_the_language_of_the_articles() -> None:
    stems = topic_stems(Topic(1, "Flüsse", ("Brücken",)), "de")
    mark = marker(stems, ["Der Fluss hat eine Brücke, der Berg nicht."], "de")
    assert mark("Der Fluss hat eine Brücke.") == "Der <mark>Fluss</mark> hat eine <mark>Brücke</mark>."
    stems = topic_stems(Topic(1, "東京", ()), "ja")
    assert marker(stems, ["私は東京に住む"], "ja")("私は東京に住む") == "私は<mark>東京</mark>に住む"
    assert marker({}, ["私"], "ja")("私") == "私"
