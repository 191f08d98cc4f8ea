"""First letter of a title → the four bands of the alphabet of the 2022 track."""

from __future__ import annotations

import unicodedata

BANDS = {"a-d": "abcd", "e-k": "efghijk", "l-r": "lmnopqr", "s-": "stuvwxyz"}
REST = "s-"
"""Band of digits, signs and other scripts, so that every page is in one."""


def first_letter(title: str) -> str:
    """First character of a title in lower case, accents removed; empty for an empty title."""
    return unicodedata.normalize("NFKD", title)[:1].lower()


def letter_band(title: str) -> str:
    """Band of a title's first letter."""
    letter = first_letter(title)
    return next((band for band, letters in BANDS.items() if letter and letter in letters), REST)
