"""Each kind of wikitext, worked by hand."""

from __future__ import annotations

import pytest

from evenrank.wikipedia.annotate.inline import Namespaces
from evenrank.wikipedia.annotate.templates import infobox_names
from evenrank.wikipedia.annotate.wikitext import PageText, Section, has_markup, parse_wikitext

PAGE = """{{Short description|A town}}
{{Infobox settlement
| name = [[Foo]]<ref>a</ref>
| population = {{formatnum|1,200}} ({{As of|2015}})
| leader = {{ubl|[[Ann Lee|Ann]]|{{nowrap|Bo Kim}}}}
| empty =
| image = Foo hall.jpg
}}
'''Foo''' ({{IPAc-en|f|uː}}) is a ''[[town]]'' in [[Bar (region)|Bar]].<ref name="x">See [[Baz]].</ref> It has<!-- not
shown --> parks.<ref name="x" />

[[File:Foo.jpg|thumb|200px|The [[town hall|hall]] of ''Foo'']]
== History ==
Founded in 900&nbsp;AD &amp; rebuilt. See [http://example.org the site] and [http://example.org].
=== Early<ref>b</ref> ===
* one
* two
{| class="wikitable"
! scope="col" | Year !! People
|-
| style="text-align:right" | 1900 || [[Ten|10]]
|-
| 1910
| {{flag|France}} 20
|}
After the table.{{sfn|Lee|2001}}
<gallery>
File:A.jpg|Old [[market]]
B.png
</gallery>
== See also ==
* [[:Category:Towns]]
[[de:Foo]]
[[Category:Towns in Bar|Foo]]
[[Category:900s_establishments]]
"""


@pytest.fixture(scope="module")
def page() -> PageText:
    return parse_wikitext(PAGE)


def test_lead_is_text_before_the_first_heading(page: PageText) -> None:
    assert page.lead == "Foo is a town in Bar. It has parks."


def test_sections_have_level_title_and_text(page: PageText) -> None:
    assert page.sections == (
        Section(2, "History", "Founded in 900 AD & rebuilt. See the site and ."),
        Section(3, "Early", "one\ntwo\n\nAfter the table."),
        Section(2, "See also", "Category:Towns"),
    )


def test_body_is_lead_and_sections(page: PageText) -> None:
    assert page.body.startswith("Foo is a town in Bar. It has parks.\nHistory\nFounded in 900 AD")
    assert page.body.endswith("After the table.\nSee also\nCategory:Towns")


def test_infobox_values_are_clean(page: PageText) -> None:
    assert page.infobox == (
        ("name", "Foo"),
        ("population", "1,200 (2015)"),
        ("leader", "Ann Bo Kim"),
        ("image", "Foo hall.jpg"),
    )
    assert page.infobox_values == "Foo\n1,200 (2015)\nAnn Bo Kim\nFoo hall.jpg"


def test_table_cells_are_words_of_their_own_field(page: PageText) -> None:
    assert page.tables == "Year People 1900 10 1910 France 20"
    assert "1900" not in page.body


def test_links_give_anchors_categories_and_captions(page: PageText) -> None:
    assert sorted(page.anchors) == ["10", "Ann", "Bar", "Category:Towns", "Foo", "hall", "market", "town"]
    assert page.categories == ("Towns in Bar", "900s establishments")
    assert page.captions == ("The hall of Foo", "Old market")


def test_counts(page: PageText) -> None:
    counts = page.counts
    assert counts.n_bytes == len(PAGE.encode())
    assert counts.n_references == 4
    assert counts.n_short_footnotes == 1
    assert counts.n_headings == (0, 2, 1, 0, 0, 0)
    assert counts.headings(2, 3) == 3
    assert counts.n_media == 4  # the link, the infobox image, two in the gallery
    assert counts.n_links == 9  # eight anchors and the link in a reference
    assert counts.n_categories == 2


@pytest.mark.parametrize(
    ("wikitext", "body"),
    [
        ("'''''both''''' ''i'' '''b'''", "both i b"),
        ("[[cat]]s and [[dog|the dogs]]", "cats and the dogs"),
        ("[[Logogram|[L]ogographic]] script", "[L]ogographic script"),
        ("[[brace|{]] sign", "{ sign"),
        ("a {{x|{{y|{{z}}}}}} b", "a b"),
        ("{{lang|la|[[Homo sapiens|homo]]}} est", "homo est"),
        ("[[a|{{nowrap|b c}}]] d", "b c d"),
        ("{{convert|5|km|mi}} away", "5 km away"),
        ("''Eagle''{{'s}} crew", "Eagle's crew"),
        ("x<sub>2</sub> a<br />b", "x2 a\nb"),
        ("<nowiki>[[not]] a '''link'''</nowiki> [[yes]]", "[[not]] a '''link''' yes"),
        ("E = <math>mc^2</math> [[a]]", "E = a"),
        ("a <ref>unclosed [[b]]", "a unclosed b"),
        ("a <!-- unclosed [[b]]", "a unclosed b"),
        ("a {{unclosed [[b]]", "a unclosed b"),
        ("a [[unclosed '''b'''", "a unclosed b"),
        ("a }} ]] |} b [[c]]", "a b c"),
        ("<REF>x</Ref >a[[b]]", "ab"),
        ("<references><ref name=a>x</ref></references>a[[b]]", "ab"),
        ("&lt;ref&gt; &#91;&#x5d; &unknown; [[a]]", "<ref> [] &unknown; a"),
        ("__NOTOC__\n----\n;term:def [[a]]", "term:def a"),
        ("[https://x.org/a?b=c [[label]] two] [//x.org three]", "label two three"),
        ("[[File:a.jpg|thumb|left|Cap {{lang|fr|''tion''}} [[b]] [http://x y]]]Text", "Text"),
        ("a\r\n\r\n== H ==\r\nb [[c]]", "a\nH\nb c"),
        ("null\0byte [[a]]", "null\N{REPLACEMENT CHARACTER}byte a"),
        ("==", "=="),
        ("= Top =\n[[a]]", "Top\na"),
    ],
)
def test_markup(wikitext: str, body: str) -> None:
    assert parse_wikitext(wikitext).body == body


@pytest.mark.parametrize(
    ("line", "level", "title"),
    [
        ("== a ==", 2, "a"),
        ("=== a ==", 2, "= a"),
        ("====== f ======", 6, "f"),
        ("=====", 2, "="),
        ("== ''a''[[b]] ==", 2, "ab"),
    ],
)
def test_headings(line: str, level: int, title: str) -> None:
    assert parse_wikitext(f"x\n{line}\ny").sections == (Section(level, title, "y"),)


def test_heading_inside_a_template_or_comment_is_none() -> None:
    page = parse_wikitext("a {{box|\n== no ==\n}} <!--\n== no ==\n--> b\n==yes==\n")
    assert [section.title for section in page.sections] == ["yes"]


@pytest.mark.parametrize(
    "text", ["", "One line.", "First.\nSecond: 3 < 4 & 5 = 5.\n\nThird.\n", "\n\nLate start.\nNext."]
)
def test_plain_text_passes_unchanged(text: str) -> None:
    page = parse_wikitext(text)
    assert page.body == text
    assert page.counts.n_bytes == len(text)


def test_plain_text_is_led_by_its_first_paragraph() -> None:
    page = parse_wikitext("First paragraph.\nSecond one.\nThird.")
    assert page.lead == "First paragraph."
    assert page.sections == (Section(0, "", "Second one.\nThird."),)
    assert page.counts.n_headings == (0,) * 6


def test_table_in_a_table_and_in_an_infobox() -> None:
    page = parse_wikitext("{{Infobox x|a=\n{|\n|one\n{|\n|two\n|}\n|}\n|b=three}}[[text]]")
    assert page.tables.split() == ["two", "one"]
    assert page.infobox == (("b", "three"),)
    assert page.body == "text"


def test_names_of_another_language() -> None:
    german = Namespaces.local(file="Datei", category="Kategorie")
    page = parse_wikitext("[[Datei:A.jpg|mini|Ein [[Haus]]]] Text [[Kategorie:Ort]] [[Category:B]]", german)
    assert page.body == "Text"
    assert page.categories == ("Ort", "B")
    assert page.captions == ("Ein Haus",)
    assert page.counts.n_media == 1


PAGES = {
    "de": """[[Bild:A.jpg|mini|hochkant=1.2|Ein [[Fluss]]]] [[Datei:B.jpg|links]] {{Infobox Fluss|LAGE=Bayern}}
Die Isar.{{FN|1}}<ref>x</ref>
== Lauf ==
[[Kategorie:Fluss in Europa]]""",
    "fr": """{{Infobox Rivière|nom=Loire}} [[Fichier:A.jpg|vignette|Un fleuve]] [[Image:B.jpg|gauche]]
La Loire.{{Sfn|Dupont|2001|p=3}}<ref>x</ref>
== Cours ==
[[Catégorie:Fleuve en Europe]]""",
    "es": """{{Ficha de río|nombre=Ebro}} [[Archivo:A.jpg|miniaturadeimagen|Un río]] [[Imagen:B.jpg|derecha]]
El Ebro.{{harvnp|Ruiz|2001}}<ref>x</ref>
== Curso ==
[[Categoría:Ríos]]""",
    "ru": """{{Карточка реки|название=Волга}} [[Файл:A.jpg|мини|Река]] [[Изображение:B.jpg|справа]]
Волга.{{sfn0|Иванов|2001}}<ref>x</ref>
== Течение ==
[[Категория:Реки]]""",
    "vi": """{{Thông tin sông|tên=Hồng}} [[Tập tin:A.jpg|nhỏ|Sông]] [[Hình:B.jpg|phải]]
Sông Hồng.{{sfn|Nam|2001}}<ref>x</ref>
== Dòng chảy ==
[[Thể_loại:Sông]]""",
    "ja": """{{基礎情報 川|名=信濃川}} [[ファイル:A.jpg|サムネイル|川]] [[画像:B.jpg|右]]
信濃川。{{Refnest|注}}<ref>x</ref>
== 流れ ==
[[カテゴリ:川]]""",
    "ltg": """{{Infoskreine Upe|nūsaukums=Daugova}} [[Fails:A.jpg|thumb|Upe]] [[Image:B.jpg|right]]
Daugova.{{sfn|Rancāns}}<ref>x</ref>
== Tecieņš ==
[[Kategoreja:Upis]]""",
}


@pytest.mark.parametrize("language", PAGES)
def test_a_page_in_another_language_counts_like_an_english_one(language: str) -> None:
    """Also without the names that a dump lists, as in a corpus of JSON lines."""
    page = parse_wikitext(PAGES[language], Namespaces.local(language=language))
    counts = page.counts
    found = (counts.n_media, counts.headings(2), counts.n_references, counts.n_short_footnotes, counts.n_categories)
    assert found == (2, 1, 1, 1, 1)
    assert len(page.infobox) == 1
    assert len(page.captions) == 1
    assert infobox_names(PAGES[language], language)
    english = parse_wikitext(PAGES[language])
    assert english.counts.n_categories == 0


def test_infoboxes_say_what_a_page_is_in_their_language() -> None:
    assert infobox_names(PAGES["ru"], "ru") == "реки"
    assert infobox_names("{{Info/Rio|x=1}}", "pt") == "Rio"
    assert infobox_names("{{Rzeka infobox|x=1}}", "pl") == "Rzeka"
    assert infobox_names("{{Infobox river|x=1}} {{Navbox}}") == "river"


MARKS = (
    "[[",
    "[http",
    "[//",
    "{{",
    "{|",
    "''",
    "__",
    "\0",
    "\n*",
    "\n#",
    "\n:",
    "\n;",
    "\n==",
    "\n----",
    "</",
    "<b",
    "&amp;",
)


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("around", ["plain", "naïve 馬 it's [1] {x} a_b < & -- = :;#*\n\n- "])
def test_each_mark_is_seen_wherever_it_stands(mark: str, around: str) -> None:
    assert not has_markup(around)
    assert not has_markup(f"{around}\n{around}")
    for text in (mark, mark + around, around + mark, around + mark + around):
        assert has_markup(text)
        assert has_markup(f"x{text}")
    if mark.startswith("\n"):
        assert has_markup(mark[1:] + around)


WRAPPED = """The experimental investigation of the aerodynamics of a wing in a
slipstream . An experimental study of a wing in a propeller slipstream was
made in order to determine the spanwise distribution of the lift .

A second paragraph follows, and it is wrapped at the same width as the
first one."""
SHIPS = "Two ships of the Royal Navy have borne the name:\nHMS Rhododendron (1917)\nHMS Rhododendron (1940)"


@pytest.mark.parametrize(
    "text, n_lines",
    [
        (WRAPPED, 3),
        (WRAPPED.partition("\n\n")[0], 3),
        ("Pratto is a surname.\nNotable people with the surname include:\nLucas Pratto", 1),
        (SHIPS, 1),
        ("A paragraph that is a line by itself and so long that nobody would wrap it there. " * 3 + "\nAnother.", 1),
        ("\n\nOne line", 3),
    ],
)
def test_the_lead_of_wrapped_text_is_its_first_paragraph(text: str, n_lines: int) -> None:
    assert len(parse_wikitext(text).lead.split("\n")) == n_lines


INFOBOXES = """Infobox Fluss, Ficha de futbolista, Info/Biografia, Faktamall biografi, Карточка, 基礎情報 人物,
Jezioro infobox, Şehir bilgi kutusu, 국가 정보, Πληροφορίες προσώπου, صندوق معلومات شخص"""


@pytest.mark.parametrize("name", [name.strip() for name in INFOBOXES.split(",")])
def test_infoboxes_of_other_wikipedias(name: str) -> None:
    page = parse_wikitext(f"{{{{{name}\n| name = Thames\n}}}}\nA river.")
    assert page.infobox == (("name", "Thames"),)
    assert parse_wikitext("{{Information|Thames}} A river.").infobox == ()
