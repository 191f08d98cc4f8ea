"""The hash of many titles at once is that of the normal form of each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenrank.app.articles.titles import index_titles
from evenrank.trec import title_hashes
from evenrank.trec.collection import Collection
from evenrank.trec.title_hashes import hash_titles, normal_title, title_hash

ODD = " \u00a0\u0085\u1680\u2003\u2028\u202f\u205f\u3000\t\n\u001c_:\u200e\u200f\u202a\u2069ßŉΐﬁéǆжд漢字𝔘–\u0301Aabz"


def hashed(titles: list[str]) -> list[int]:
    parts = [title.encode() for title in titles]
    offsets = np.cumsum([0, *map(len, parts)])
    return hash_titles(offsets, np.frombuffer(b"".join(parts), np.uint8)).tolist()


texts = st.text(st.sampled_from(ODD) | st.characters(exclude_categories=["Cs"]), max_size=8)


@given(st.lists(texts, max_size=12))
def test_hashes_are_those_of_normal_forms(titles: list[str]) -> None:
    assert hashed(titles) == [title_hash(normal_title(title)) for title in titles]


@pytest.mark.parametrize("character", sorted(ODD))
def test_every_odd_character_anywhere(character: str) -> None:
    titles = [character, f"{character}b", f"a{character}b", f"ab{character}", f"a{character}{character}b", "plain", ""]
    assert hashed(titles) == [title_hash(normal_title(title)) for title in titles]


def test_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    titles = [f"{'_' * (n % 7)}title {n}{'é' * (n % 3)}" for n in range(200)]
    whole = hashed(titles)
    monkeypatch.setattr(title_hashes, "BLOCK", 64)
    assert hashed(titles) == whole
    assert len(set(whole)) == len(set(map(normal_title, titles)))


def test_every_title_of_a_collection_is_found(generated: Collection) -> None:
    collection = generated
    index = index_titles(collection)
    assert collection.titles is not None
    for row, title in enumerate(collection.titles):
        found = index.find(normal_title(title))
        assert found is not None
        assert normal_title(collection.titles[found]) == normal_title(title)
        assert found <= row
    assert index.find("No such title") is None
