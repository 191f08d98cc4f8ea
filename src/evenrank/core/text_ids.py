"""Ids of pages that are text: each has a number, by which everything inside knows the page.

Ids of a collection are all whole numbers or all text. Text is turned into numbers where a file is read, and back into
text where one is written or shown; nothing in between knows of it. Numbers are given in the order in which ids are
first seen, from 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.errors import shown_value

MAX_LENGTH = 1000
"""Longest id, in characters."""
FILE_NAME = "text_ids.npy"
"""File of a data folder: the ids in UTF-8, one after the other, each ended by a line feed."""
ALL_OF_A_KIND = "ids of a collection are all whole numbers or all text"


class TextIds:
    """Ids with their numbers; ids that come up later are added behind the others."""

    def __init__(self, ids: Iterable[str] = ()) -> None:
        self._texts = list(ids)
        self._numbers = {text: number for number, text in enumerate(self._texts, 1)}

    def __len__(self) -> int:
        return len(self._texts)

    def number(self, text: str) -> int:
        """The number of an id; an id that was not seen before gets the next one."""
        found = self._numbers.get(text)
        if found is None:
            self._texts.append(text)
            found = self._numbers[text] = len(self._texts)
        return found

    def find(self, text: str) -> int:
        """The number of an id; 0 for one that was not seen, which is then not added."""
        return self._numbers.get(text, 0)

    def numbers(self, texts: Iterable[str]) -> NDArray[np.int32]:
        return np.array([self.number(text) for text in texts], np.int32)

    def text(self, number: int) -> str:
        """The id of a number that was given."""
        return self._texts[number - 1]

    def texts(self, numbers: Iterable[int]) -> list[str]:
        return [self._texts[number - 1] for number in numbers]

    def renumbered(self, other: TextIds) -> NDArray[np.int32]:
        """By number here, the number of the same id in `other`, which gets those that it lacks; 0 for 0."""
        return np.concatenate([np.zeros(1, np.int32), other.numbers(self._texts)])


def check_text_id(value: object, name: str = "page_id") -> str:
    """An id that is text; ValueError says what is wrong with it."""
    if type(value) is int:
        raise ValueError(f"{name} is {value}, a whole number, where others are text ({ALL_OF_A_KIND})")
    if not isinstance(value, str) or not value:
        raise ValueError(f"{name} is {shown_value(value)}, not text")
    if len(value) > MAX_LENGTH:
        raise ValueError(f"{name} has {len(value):,} characters; {MAX_LENGTH:,} are allowed")
    if not value.isprintable() or any(character.isspace() for character in value):
        raise ValueError(f"{name} {shown_value(value)} has a blank or a control character, which would break run files")
    return value


def save_text_ids(folder: Path, ids: TextIds) -> None:
    """Write the ids of a collection into its data folder."""
    content = "".join(f"{text}\n" for text in ids.texts(range(1, len(ids) + 1))).encode()
    np.save(folder / FILE_NAME, np.frombuffer(content, np.uint8))


def load_text_ids(folder: Path) -> TextIds:
    """The ids of `save_text_ids`."""
    content: NDArray[Any] = np.load(folder / FILE_NAME)
    return TextIds(content.tobytes().decode().split("\n")[:-1])


@lru_cache(maxsize=2)
def loaded_text_ids(folder: Path) -> TextIds:
    """The ids of a data folder, loaded once in each process; nothing is ever added to these."""
    return load_text_ids(folder)
