"""The language of pages: chosen by cookie or by the browser, with numbers and dates as that language writes them."""

from __future__ import annotations

import gettext
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, date, datetime
from functools import cache
from importlib.resources import files
from typing import Protocol

from babel import Locale
from babel.dates import format_date, format_skeleton, format_time
from babel.lists import format_list
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal, format_percent
from markupsafe import Markup, escape
from starlette.requests import Request

COOKIE = "language"
LANGUAGES = {"en": "English", "de": "Deutsch", "fr": "Français", "es": "Español", "ar": "العربية"}
"""Languages of the pages, each under its own name. Texts are written in English; the others are in `locale/`."""
RIGHT_TO_LEFT = frozenset({"ar"})
LEFT_TO_RIGHT = "\u200e"
"""A mark that gives what follows it the direction of numbers."""
NEARLY_ONE = 1 - 1e-9
"""Shares from here on are 1, but for the rounding of the computer."""
_APART = re.compile(r" (?=[?!;:»])|(?<=«) ")
_current: ContextVar[str] = ContextVar("language", default="en")


class Message(str):
    """A text with values in it: English as it is, in any other language when it is shown.

    `Message("%(n)s are allowed", n=3)` is the text "3 are allowed"; `translate` puts the values into the translation.
    Whole numbers are written as the language does.
    """

    __slots__ = ("template", "values")
    template: str
    values: Mapping[str, object]

    def __new__(cls, template: str, **values: object) -> Message:
        made = super().__new__(cls, template % {name: _written(value, "en") for name, value in values.items()})
        made.template, made.values = template, values
        return made

    def in_language(self, language: str) -> str:
        """The text in a language."""
        template = translations(language).gettext(self.template)
        return template % {name: _written(value, language) for name, value in self.values.items()}


def _written(value: object, language: str) -> str:
    """A value as a language writes it."""
    if isinstance(value, int):
        return format_decimal(value, locale=_locale(language))
    return value.in_language(language) if isinstance(value, Message) else str(value)


def language_of(request: Request) -> str:
    """The language that a visitor chose, else the best that the browser asks for, else English."""
    chosen = request.cookies.get(COOKIE, "")
    return chosen if chosen in LANGUAGES else preferred(request.headers.get("accept-language", ""))


def preferred(header: str) -> str:
    """The first language of an Accept-Language header that there is, by its weights."""
    wanted = []
    for place, part in enumerate(header.split(",")[:20]):
        tag, _, weight = part.strip().partition(";q=")
        try:
            wanted.append((-float(weight or 1), place, tag.split("-")[0].lower()))
        except ValueError:
            continue
    return next((tag for _, _, tag in sorted(wanted) if tag in LANGUAGES), "en")


def use_language(language: str) -> None:
    """The language of everything that this request renders from now on."""
    _current.set(language)


@contextmanager
def written_in(language: str) -> Iterator[None]:
    """Everything in the block is in one language, such as that of a wiki; English where there is no translation."""
    token = _current.set(language if language in LANGUAGES else "en")
    try:
        yield
    finally:
        _current.reset(token)


def current() -> str:
    """The language in use."""
    return _current.get()


def text_direction() -> str:
    """How the language in use is written."""
    return "rtl" if current() in RIGHT_TO_LEFT else "ltr"


@cache
def translations(language: str) -> gettext.NullTranslations:
    """The messages of a language; English is its own."""
    source = files("evenrank.app").joinpath("locale", f"{language}.po")
    if language == "en" or not source.is_file():
        return gettext.NullTranslations()
    with source.open("rb") as file:
        catalog = read_po(file, locale=language, abort_invalid=True)
    for message in catalog:
        text = message.string
        message.string = _held_together(text) if isinstance(text, str) else tuple(map(_held_together, text or ()))
    compiled = io.BytesIO()
    write_mo(compiled, catalog)
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)


def _held_together(text: str) -> str:
    """A text whose French signs, which have a space beside them, never stand alone at the start or end of a line."""
    return _APART.sub("\u00a0", text)


def translate(message: str) -> str:
    """A message in the language in use."""
    return in_language(message, current())


def in_language(message: str, language: str) -> str:
    """A message in a language, whatever the pages are in; English where there is no translation."""
    if isinstance(message, Message):
        return message.in_language(language)
    return translations(language).gettext(message) if message else ""


def stored_message(template: str, values: Mapping[str, object]) -> str:
    """A message that was stored as its text and its values, in the language in use."""
    return translate(Message(template, **values))


@cache
def _safe_text(language: str, message: str) -> Markup:
    return Markup(translations(language).gettext(message))  # texts of the package; values are escaped # nosec B704


@cache
def _constant_text(language: str, message: str) -> Markup:
    return _safe_text(language, message) % {}


def template_text(message: str, **values: object) -> Markup:
    """What `_` is in templates: a message with its values, which are escaped. A long page asks for hundreds of
    messages, nearly all without values, so those are remembered ready for use."""
    return _safe_text(current(), message) % values if values else _constant_text(current(), message)


def template_plural(one: str, many: str, number: int, /, **values: object) -> Markup:
    """What `ngettext` is in templates: the form of a message for a number, which it may name `num`, with its values."""
    text = translations(current()).ngettext(one, many, number)
    return Markup(text) % {"num": thousands(number), **values}  # values are escaped # nosec B704


@cache
def _locale(language: str) -> Locale:
    return Locale.parse(language)


def thousands(number: float) -> str:
    """A whole number with separators."""
    return format_decimal(number, locale=_locale(current()))


def percent(share: float, has_decimal: bool | None = None) -> str:
    """A share as people read it; by default only small ones, and those just below 1, have a decimal.

    Only what is 1 is written as 100 %.
    """
    is_below = share < NEARLY_ONE
    if has_decimal is None:
        has_decimal = 0 < share < 0.0995 or (is_below and share >= 0.995)
    shown = min(share, 0.999) if has_decimal and is_below else share
    form = "#,##0.0" if has_decimal else "#,##0"
    space = "" if current() in RIGHT_TO_LEFT else "\u00a0"  # a sign apart from its number would change sides
    return format_percent(shown, f"{form}{space}%", locale=_locale(current()))


def decimal(number: float, digits: int = 1) -> str:
    """A number with a fixed count of decimals."""
    text = format_decimal(abs(number), "#,##0." + "0" * digits, locale=_locale(current()))
    return _with_sign("−", text) if number < 0 else text


def plain_number(number: float) -> str:
    """A number with as many decimals as it needs, three at most."""
    return format_decimal(number, locale=_locale(current()))


def signed(number: float, digits: int = 1) -> str:
    """A number with its sign."""
    rounded = round(number, digits)
    sign = "+" if rounded > 0 else "−" if rounded < 0 else ""
    return _with_sign(sign, decimal(abs(rounded), digits))


def _with_sign(sign: str, number: str) -> str:
    """The sign before the number, also within text that is written from right to left."""
    return f"{LEFT_TO_RIGHT}{sign}{number}" if sign and current() in RIGHT_TO_LEFT else f"{sign}{number}"


def joined_texts(texts: Iterable[str]) -> Markup:
    """Names one after the other, as the language lists them: "Africa, Asia, and Europe"."""
    return Markup(format_list([str(escape(text)) for text in texts], locale=_locale(current())))  # nosec B704


def capital(text: str) -> str:
    """A text as the start of a line: its first letter is a capital."""
    return f"{text[:1].upper()}{text[1:]}"


def points(difference: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    return signed(100 * difference)


def day(stored: str) -> str:
    """A stored time as a date."""
    return _date(datetime.strptime(stored[:10], "%Y-%m-%d").replace(tzinfo=UTC))


def _date(when: datetime) -> str:
    """A date with the short name of its month, which is clear wherever days or months come first."""
    return format_skeleton("yMMMd", when, locale=_locale(current()))


class Dated(Protocol):
    """Data of a known or unknown age."""

    @property
    def text(self) -> str: ...
    @property
    def date(self) -> str | None: ...


def age(data: Dated) -> str:
    """The age of the data, a known date as the language writes it."""
    if data.date is None:
        return translate(data.text)
    has_day = len(data.date) > len("2021-10")
    when = date.fromisoformat(data.date if has_day else f"{data.date}-01")
    return format_date(when, "long" if has_day else "MMMM y", locale=_locale(current()))


def size(size_bytes: int | None) -> str:
    """The size of a text as people read it."""
    if size_bytes is None:
        return translate("unknown")
    if size_bytes < 1000:
        return translate(Message("%(n)s\u00a0B", n=size_bytes))
    return translate(Message("%(n)s\u00a0kB", n=decimal(size_bytes / 1000)))


def moment(stored: str) -> str:
    """A stored time as date and time, in UTC."""
    when = datetime.fromisoformat(stored.replace(" ", "T").removesuffix("Z")).replace(tzinfo=UTC)
    return f"{_date(when)}{translate(', ')}{format_time(when, 'HH:mm', locale=_locale(current()))} UTC"
