"""What a wiki did wrong is said in the visitor's language; what the wiki itself said stays as it is."""

from __future__ import annotations

import pytest

from evenrank.app.articles.user_articles import wiki_fault
from evenrank.app.pages.i18n import LANGUAGES
from evenrank.wikipedia.mediawiki.publish import ADVICE, RefusedError
from evenrank.wikipedia.mediawiki.settings import WikiUnreachableError


def test_errors_are_translated_with_their_values() -> None:
    error = WikiUnreachableError(
        "%(host)s took longer than %(seconds)s seconds for one answer", host="w.org", seconds="9"
    )
    assert str(error) == str(wiki_fault(error)) == "w.org took longer than 9 seconds for one answer"
    assert wiki_fault(error).in_language("de") == "w.org hat für eine Antwort länger als 9 Sekunden gebraucht"


@pytest.mark.parametrize("language", [code for code in LANGUAGES if code != "en"])
def test_advice_is_translated_and_the_words_of_the_wiki_are_not(language: str) -> None:
    for code, advice in ADVICE.items():
        error = RefusedError(code, "Diese Seite ist geschützt.")
        text = wiki_fault(error).in_language(language)
        assert "Diese Seite ist geschützt." in text
        assert code in text
        assert advice in str(error)
        assert advice not in text
