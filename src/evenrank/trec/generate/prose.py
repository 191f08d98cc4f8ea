"""Sentences from patterns, each slot a stream of words, and the wikitext beside them: references, images, tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np

from evenrank.trec.generate.lexicon import TOPICAL_KINDS, Lexicon, Pattern, SyntheticCountry
from evenrank.trec.generate.pages import N_ASPECTS

FIRST, LAST = 1780, 2020
"""Years that articles may be about."""
LATEST_START = 1985
"""No article is about a later birth or foundation."""
SPAN = 45
"""Years that one article covers."""


class Years:
    """A source of years between the `start` of an article's time and `SPAN` years later."""

    def __init__(self, start: int, rng: np.random.Generator) -> None:
        self.start = start
        self.rng = rng
        self.waiting: list[int] = []
        self.last = start

    def year(self) -> str:
        """Any year of the article's time."""
        if not self.waiting:
            self.waiting = self.rng.integers(self.start, min(self.start + SPAN, LAST), 16).tolist()
        self.last = self.waiting.pop()
        return str(self.last)

    def later(self) -> str:
        """A year after the last one that was named."""
        self.last = min(self.last + 1 + self.last * 7 % 11, LAST + 1)
        return str(self.last)

    def decade(self) -> str:
        """A decade of the article's time."""
        return f"{int(self.year()) // 10}0s"


def draw_start(rng: np.random.Generator) -> int:
    """The first year of an article's time; recent times are more frequent."""
    return LATEST_START - int((LATEST_START - FIRST) * rng.random() ** 1.7)


Voice = dict[str, Callable[[], str]]
"""By slot: where the next word comes from."""

PRONOUNS = {
    "female": {"They": "She", "they": "she", "their": "her", "their_cap": "Her", "them": "her"},
    "male": {"They": "He", "they": "he", "their": "his", "their_cap": "His", "them": "him"},
    "third": {"They": "They", "they": "they", "their": "their", "their_cap": "Their", "them": "them"},
}
VOWEL = r"(?=(?:\[\[)?(?:[AIOaio]|[Ee](?!u)|[Uu][nr](?!i)))"
"""Before a vowel sound, also when the word is a link."""
SMALL_AN, LARGE_AN = re.compile(" a " + VOWEL), re.compile(r"\bA " + VOWEL)


def constant(text: str) -> Callable[[], str]:
    """A slot that always says the same."""
    return lambda: text


class Prose:
    """The words of one block of articles."""

    def __init__(self, lexicon: Lexicon, rng: np.random.Generator) -> None:
        self.lexicon = lexicon
        self.rng = rng
        self.general: Voice = {slot: p.stream(rng, 512).__next__ for slot, p in lexicon.general.items()}
        self.people = {code: picker.stream(rng, 256).__next__ for code, picker in lexicon.people.items()}

    def page_voice(self, continent: int, country: SyntheticCountry, gender: str, years: Years) -> Voice:
        """The voice of an article outside its themes."""
        place = country.places.stream(self.rng, 32).__next__
        voice = self.general | {
            "place": place,
            "town": lambda: plain_text(place()),
            "jargon": place,
            "person": self.people[continent],
            "country": constant(country.name),
            "demonym": constant(country.demonym),
            "year": years.year,
            "later": years.later,
            "decade": years.decade,
            "role": self.general["plainrole"],
            "site": self.general["plainsite"],
            "field": self.general["plainfield"],
            "thing": self.general["objects"],
        }
        return voice | {slot: constant(word) for slot, word in PRONOUNS.get(gender, {}).items()}

    def theme_voice(self, voice: Voice, theme: int, aspect: int) -> Voice:
        """The same voice when it speaks about a theme; who only mentions it does not know its terms."""
        pickers = self.lexicon.themes[theme][aspect]
        known = TOPICAL_KINDS if aspect < N_ASPECTS else TOPICAL_KINDS[:-1]
        return voice | {kind: pickers[kind].stream(self.rng, 16).__next__ for kind in known}

    def naming(self, title: str, calls: list[str]) -> Voice:
        """Slots for the page's title and for what later sentences call its subject."""
        return {
            "title": constant(title),
            "name": constant(f"'''{title}'''"),
            "short": self._any_of(calls).__next__,
        }

    def _any_of(self, words: list[str]) -> Iterator[str]:
        while True:
            yield from (words[i] for i in self.rng.integers(0, len(words), 16))


def plain_text(text: str) -> str:
    """A word without its link."""
    return text[2:-2].split("|")[-1] if text.startswith("[[") else text


def make_sentence(pattern: Pattern, voice: Voice) -> str:
    """One sentence."""
    text = pattern.text % tuple([voice[slot]() for slot in pattern.slots])
    return text if text[0].isupper() else capitalised(text)


def capitalised(text: str) -> str:
    """The text with a capital at its start, also inside a link."""
    if text.startswith("[["):
        target, rest = text[2:].split("]]", 1)
        return f"[[{target.split('|')[0]}]]{rest}"
    return text[:1].upper() + text[1:]


def with_articles(text: str) -> str:
    """The text with "an" for "a" before vowels."""
    return LARGE_AN.sub("An ", SMALL_AN.sub(" an ", text))


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
