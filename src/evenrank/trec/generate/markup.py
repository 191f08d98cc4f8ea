"""Wikitext beside the sentences: infoboxes, references, images, tables, categories."""

from __future__ import annotations

from evenrank.trec.generate.prose import Voice, capitalised, plain_text

REFERENCES = (
    "<ref>{{{{cite book |last={last} |first={first} |title={Title} |year={year} |publisher={publisher} "
    "|page={n}}}}}</ref>",
    '<ref name="{last}{year}">{{{{cite book |last={last} |first={first} |title={Title} |publisher={publisher} '
    "|location={place} |year={year} |isbn=978-0-{n:06d}-{n}-0}}}}</ref>",
    "<ref>{{{{cite news |title={Title} |newspaper={paper} |date={n} {month} {year}}}}}</ref>",
    "<ref>{{{{cite web |url=https://example.org/{last}/{n} |title={Title} |website=example.org "
    "|access-date={n} May 2021}}}}</ref>",
    "<ref>{{{{cite journal |last={last} |first={first} |title={Title} |journal=Journal of {Noun} |volume={n} "
    "|pages={n}–{m}}}}}</ref>",
)


def reference(voice: Voice, shape: int, number: int) -> str:
    """A footnote with a citation template; `shape` picks the template."""
    first, last = plain_text(voice["person"]()).split(" ", 1)
    return REFERENCES[shape % len(REFERENCES)].format(
        first=first,
        last=last,
        Title=f"{capitalised(voice['adj']())} {voice['objects']()} of {plain_text(voice['place']())}",
        Noun=capitalised(voice["group"]()) + " Studies",
        year=voice["year"](),
        month=voice["month"](),
        publisher=voice["publisher"](),
        paper=voice["paper"](),
        place=plain_text(voice["place"]()),
        n=number % 28 + 1,
        m=number % 28 + 9,
    )


def infobox(kind: str, title: str, fields: dict[str, str]) -> str:
    """An infobox with one parameter a line."""
    lines = [f"{{{{Infobox {kind}", f"| name = {title}", *(f"| {key} = {text}" for key, text in fields.items()), "}}"]
    return "\n".join(lines)


def image(voice: Voice, title: str, number: int) -> str:
    """An image with a caption."""
    side = ("", "|left", "|upright")[number % 3]
    name = f"{title.replace(' ', '_')}_{number}.jpg"
    return (
        f"[[File:{name}|thumb{side}|A {voice['adj']()} {voice['object']()} in {voice['place']()}, {voice['year']()}]]"
    )


def wikitext_table(voice: Voice, n_rows: int) -> str:
    """A small table of years, nouns and numbers."""
    rows = [
        f"|-\n| {voice['year']()} || {voice['place']()} || {voice['occasion']()} || {voice['number']()}"
        for _ in range(n_rows)
    ]
    return "\n".join(['{| class="wikitable"', "! Year !! Place !! Subject !! Number", *rows, "|}"])


def categories(names: list[str]) -> str:
    """Category links, one a line, each once."""
    return "\n".join(f"[[Category:{capitalised(name)}]]" for name in dict.fromkeys(names))
