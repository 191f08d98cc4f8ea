"""Languages: every message is translated, placeholders stay, and pages are in the language that visitors choose."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from evenrank.app.pages.i18n import (
    LANGUAGES,
    day,
    in_language,
    moment,
    percent,
    preferred,
    signed,
    size,
    template_plural,
    thousands,
    use_language,
)
from evenrank.app.pages.templating import environment
from tests.app.conftest import posted

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from messages import catalog_of, missing

from tests.desk_collections import QUESTION

OTHERS = [language for language in LANGUAGES if language != "en"]
PLACEHOLDER = re.compile(r"%\((\w+)\)s")


@pytest.mark.parametrize("language", OTHERS)
def test_every_message_is_translated(language: str) -> None:
    assert missing(language) == []


@pytest.mark.parametrize("language", OTHERS)
def test_placeholders_are_those_of_the_message(language: str) -> None:
    for message in catalog_of(language):
        if not message.id:
            continue
        one, many = (message.id, message.id) if isinstance(message.id, str) else message.id
        allowed = {*PLACEHOLDER.findall(one), *PLACEHOLDER.findall(many)}
        forms = [message.string] if isinstance(message.string, str) else list(message.string)
        assert all(set(PLACEHOLDER.findall(form)) <= allowed for form in forms), message.id
        assert set(PLACEHOLDER.findall(forms[-1])) == set(PLACEHOLDER.findall(many)), message.id
        assert all("%" not in PLACEHOLDER.sub("", form).replace("%%", "") for form in forms), message.id


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_is_made_in_every_language(client: TestClient, language: str) -> None:
    client.post("/language", data={"language": language, "back": "/about"})
    made, search = posted(client, "/lists", QUESTION), posted(client, "/searches", QUESTION)
    draw = posted(client, f"{search}/draws")
    parts = ("", "/fairness", "/trade-off", "/campaign", "/manage", "/refresh", "/publish", "?region=Europe&sort=title")
    paths = [
        "/",
        "/lists/new",
        "/searches/new?title=Chess",
        "/mine",
        "/about",
        "/api",
        search,
        f"{search}/manage",
        draw,
    ]
    for path in [*paths, *(made + part for part in parts)]:
        answer = client.get(path)
        assert answer.status_code == 200, path
        assert f'<html lang="{language}" dir="{"rtl" if language == "ar" else "ltr"}">' in answer.text
        assert answer.headers["content-language"] == language


def test_the_language_comes_from_the_cookie_then_from_the_browser(client: TestClient) -> None:
    assert "Nueva lista de trabajo" in client.get("/", headers={"Accept-Language": "pt, es-MX;q=0.8"}).text
    answer = client.post("/language", data={"language": "fr", "back": "/mine"})
    assert answer.headers["location"] == "/mine"
    assert "Nouvelle liste de travail" in client.get("/", headers={"Accept-Language": "es"}).text
    for back in ("//elsewhere.example", "https://elsewhere.example", "/\\elsewhere.example"):
        assert client.post("/language", data={"language": "de", "back": back}).headers["location"] == "/"


@pytest.mark.parametrize(
    "header, language",
    [("", "en"), ("de-AT,de;q=0.9", "de"), ("xx, fr;q=0.2, ar;q=0.3", "ar"), ("*;q=x,,;", "en"), ("en;q=0,es", "es")],
)
def test_the_browsers_wish(header: str, language: str) -> None:
    assert preferred(header) == language


def test_numbers_are_written_as_the_language_does() -> None:
    use_language("de")
    try:
        assert thousands(63576) == "63.576"
    finally:
        use_language("en")
    assert thousands(63576) == "63,576"


WRITTEN = {
    "en": (
        "+0.2",
        "−5.0",
        "9.0\u00a0%",
        "81\u00a0%",
        "434\u00a0B",
        "5.2\u00a0kB",
        "Nov 15, 2026",
        "Nov 15, 2026, 23:05 UTC",
    ),
    "de": (
        "+0,2",
        "−5,0",
        "9,0\u00a0%",
        "81\u00a0%",
        "434\u00a0B",
        "5,2\u00a0kB",
        "15. Nov. 2026",
        "15. Nov. 2026, 23:05 UTC",
    ),
    "fr": (
        "+0,2",
        "−5,0",
        "9,0\u00a0%",
        "81\u00a0%",
        "434\u00a0o",
        "5,2\u00a0ko",
        "15 nov. 2026",
        "15 nov. 2026, 23:05 UTC",
    ),
    "ar": (
        "\u200e+0.2",
        "\u200e−5.0",
        "9.0%",
        "81%",
        "434\u00a0بايت",
        "5.2\u00a0ك.ب",
        "15 نوفمبر 2026",
        "15 نوفمبر 2026، 23:05 UTC",
    ),
}


@pytest.mark.parametrize("language", WRITTEN)
def test_signs_units_and_dates_are_written_as_the_language_does(language: str) -> None:
    use_language(language)
    try:
        written = (
            *(signed(number) for number in (0.2, -5.0)),
            *(percent(share) for share in (0.09, 0.81)),
            *(size(n_bytes) for n_bytes in (434, 5200)),
            day("2026-11-15T23:05:59Z"),
            moment("2026-11-15T23:05:59Z"),
        )
    finally:
        use_language("en")
    assert written == WRITTEN[language]


def test_numbers_in_plural_forms_are_written_as_the_language_does() -> None:
    use_language("de")
    try:
        made = template_plural("Chosen from %(num)s article.", "Chosen from %(num)s articles.", 1234)
    finally:
        use_language("en")
    assert made == "Ausgewählt aus 1.234 Artikeln."


class Unlinked:
    """A desk whose articles are in no wiki."""

    wiki_name = ""


@pytest.mark.parametrize("name", ["style.css", "assess.css"])
def test_styles_follow_the_direction_of_the_language(name: str) -> None:
    """Start and end, never left and right: what is on the left in English is on the right in Arabic."""
    text = (Path(__file__).parents[2] / "src/evenrank/app/static" / name).read_text()
    wrong = r"(?:margin|padding|border)-(?:left|right)\b|(?:float|text-align):\s*(?:left|right)\b"
    assert re.findall(wrong, text) == []


@pytest.mark.parametrize(
    ("n_listed", "words"), [(10, "1 article came in"), (200, "Among the first hundred, 1 article")]
)
def test_a_short_list_has_no_first_hundred(n_listed: int, words: str) -> None:
    story = (
        '{% from "macros.html" import before_and_after with context %}{{ before_and_after(["Go"], ["Chess"], 1, n) }}'
    )
    told = environment().from_string(story).render(n=n_listed, state=Unlinked)
    assert f"<p>{words}" in told


@pytest.mark.parametrize(("n_listed", "words"), [(63, "The list has the same"), (200, "The same articles are among")])
def test_a_list_that_differs_in_the_order_alone_says_so(n_listed: int, words: str) -> None:
    story = '{% from "macros.html" import before_and_after with context %}{{ before_and_after([], [], 0, n) }}'
    assert f"<p>{words}" in environment().from_string(story).render(n=n_listed)


@pytest.mark.parametrize("language", OTHERS)
def test_signs_do_not_stand_alone_at_the_start_of_a_line(language: str) -> None:
    texts = [in_language(one, language) for message in catalog_of(language) if isinstance(one := message.id, str)]
    assert [text for text in texts if re.search(r" [?!;:»]|« ", text)] == []
