"""Singular and plural of English nouns, by their endings and the exceptions that articles use often."""

from __future__ import annotations

import pytest

from evenrank.retrieval.query.topic_query import plural_forms, singular

NOUNS = {
    "silent e": "house lighthouse cause clause spouse course horse nurse verse universe disease base case phrase "
    "purpose rose nose license sense pulse eclipse prize size maze bronze cheese exercise franchise muse fuse abuse",
    "sibilant": "church beach coach watch box fox tax class glass bus virus campus chorus gas lens atlas iris waltz "
    "dish necropolis",
    "che": "cache niche headache avalanche moustache",
    "o": "volcano hero potato tornado mosquito photo piano studio radio zoo",
    "oe": "shoe canoe toe oboe horseshoe",
    "y and ie": "library city country movie cookie prairie tie pie day monkey",
    "irregular": "wolf knife thief child mouse crisis hypothesis analysis diagnosis quiz",
    "regular": "river bridge area opera sea dog person cafe tribe",
}


@pytest.mark.parametrize("noun", [noun for nouns in NOUNS.values() for noun in nouns.split()])
def test_the_singular_of_a_plural_is_the_noun(noun: str) -> None:
    assert singular(noun) == noun
    assert [singular(plural) for plural in plural_forms(noun)] == [noun] * len(plural_forms(noun))


@pytest.mark.parametrize(
    ("word", "noun"),
    [
        *[("buses", "bus"), ("viruses", "virus"), ("lighthouses", "lighthouse"), ("muses", "muse")],
        *[("classes", "class"), ("waltzes", "waltz"), ("prizes", "prize"), ("volcanoes", "volcano")],
        *[("photos", "photo"), ("beaches", "beach"), ("caches", "cache"), ("wives", "wife")],
    ],
)
def test_plurals_as_they_are_spelled(word: str, noun: str) -> None:
    assert singular(word) == noun


@pytest.mark.parametrize("word", ["series", "species", "news", "paris", "gas", "bus", "is", "as", "", "s", "es"])
def test_what_is_no_plural_stays(word: str) -> None:
    assert singular(word) == word
