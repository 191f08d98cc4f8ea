"""Number of languages in which a topic has a Wikipedia article → the three bands of the 2022 track."""

from __future__ import annotations

from collections.abc import Iterable

NO_LANGUAGE = frozenset(
    f"{name}wiki"
    for name in (
        *("commons", "species", "meta", "wikidata", "mediawiki", "sources", "incubator", "outreach"),
        *("foundation", "wikimania", "wikifunctions", "wikiversitybeta", "betawikiversity", "testwikidata", "test"),
    )
)
"""Sites whose name ends like a Wikipedia's but that are none."""


def count_languages(sites: Iterable[str]) -> int:
    """Number of Wikipedias among the sites of an item's sitelinks."""
    return sum(1 for site in sites if site.endswith("wiki") and site not in NO_LANGUAGE)


def languages_band(n_languages: int) -> str:
    """Band of a number of languages; the page's own wiki counts as one."""
    return "English only" if n_languages <= 1 else "2-4 languages" if n_languages <= 4 else "5+ languages"
