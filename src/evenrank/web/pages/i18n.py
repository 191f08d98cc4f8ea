"""The language of pages: chosen by cookie or by the browser, with numbers and dates as that language writes them."""

from __future__ import annotations

import gettext
import io
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files

from babel import Locale
from babel.dates import format_date
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.numbers import format_decimal, format_percent
from starlette.requests import Request

COOKIE = "language"
LANGUAGES = {"en": "English", "de": "Deutsch", "fr": "Français", "es": "Español", "ar": "العربية"}
"""Languages of the pages, each under its own name. Texts are written in English; the others are in `locale/`."""
RIGHT_TO_LEFT = frozenset({"ar"})
_current: ContextVar[str] = ContextVar("language", default="en")


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


def current() -> str:
    """The language in use."""
    return _current.get()


def direction() -> str:
    """How the language in use is written."""
    return "rtl" if current() in RIGHT_TO_LEFT else "ltr"


@cache
def translations(language: str) -> gettext.NullTranslations:
    """The messages of a language; English is its own."""
    source = files("evenrank.web").joinpath("locale", f"{language}.po")
    if language == "en" or not source.is_file():
        return gettext.NullTranslations()
    with source.open("rb") as file:
        catalog = read_po(file, locale=language, abort_invalid=True)
    compiled = io.BytesIO()
    write_mo(compiled, catalog)
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)


def translate(message: str) -> str:
    """A message in the language in use."""
    return translations(current()).gettext(message) if message else ""


def translate_plural(one: str, many: str, n: int) -> str:
    """The form of a message for a number, in the language in use."""
    return translations(current()).ngettext(one, many, n)


@cache
def _locale(language: str) -> Locale:
    return Locale.parse(language)


def thousands(number: float) -> str:
    """A whole number with separators."""
    return format_decimal(number, locale=_locale(current()))


def percent(share: float) -> str:
    """A share as people read it, small ones with a decimal."""
    form = "#,##0.0\u00a0%" if 0 < share < 0.0995 else "#,##0\u00a0%"
    return format_percent(share, form, locale=_locale(current()))


def decimal(number: float, digits: int = 1) -> str:
    """A number with a fixed count of decimals."""
    return format_decimal(number, "#,##0." + "0" * digits, locale=_locale(current()))


def points(difference: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    rounded = round(100 * difference, 1)
    sign = "+" if rounded > 0 else "−" if rounded < 0 else ""
    return sign + decimal(abs(rounded))


def day(stored: str) -> str:
    """A stored time as a date."""
    when = datetime.strptime(stored[:10], "%Y-%m-%d").replace(tzinfo=UTC)
    return format_date(when, "medium", locale=_locale(current()))
