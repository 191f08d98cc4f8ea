"""What kind of thing a page is about (P31): the classes of its item, named as the wiki's pages about them are titled.

So the names are in the language of the wiki and no labels have to be read. For people, only "human" is kept: whatever
else a person is said to be an instance of is not written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import islice

PROPERTY = "P31"
HUMAN = 5
MAX_NAMES = 5
"""Most names written for a page: most items have one class, a few have dozens."""
_DISAMBIGUATION = re.compile(r"\s*\([^()]*\)$")

ClassTitle = Callable[[int], str | None]
"""Item → title of its page in the wiki; None when it has none."""


def kept_classes(classes: list[int]) -> list[int]:
    """Classes of an item that are kept: all of them, but of a person only "human"."""
    return [HUMAN] if HUMAN in classes else classes


def class_names(classes: Iterable[int], title_of: ClassTitle, namespaces: frozenset[str] = frozenset()) -> list[str]:
    """Names of the first classes that have an article, in the order stated; "human" is not among them."""
    titles = (title_of(number) for number in classes if number != HUMAN)
    names = (_name(title, namespaces) for title in titles if title)
    return list(islice(dict.fromkeys(filter(None, names)), MAX_NAMES))


def _name(title: str, namespaces: frozenset[str]) -> str:
    """The title of the article about a class, `Single` of `Single (music)`; empty for pages about the wiki itself.

    The capital letter stays, because wikis differ in which words begin with one, and searches do not.
    """
    namespace, colon, _ = title.partition(":")
    if colon and namespace in namespaces:
        return ""
    return _DISAMBIGUATION.sub("", title) or title
