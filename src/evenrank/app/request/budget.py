"""What one request may cost: characters of each field, words of a question, groups of its goal.

Every word of a title or keyword is looked up in several fields of the index, so words are counted as the index
counts them. Fields that hold whole lists are limited by the length of the request and by the number of articles.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from evenrank.app.pages.errors import BadRequestError
from evenrank.app.pages.i18n import Message
from evenrank.core.alignment import Alignment
from evenrank.core.groups import Dimension, GroupSpace
from evenrank.core.withheld import without_people
from evenrank.retrieval.query.topic_query import split_words

MAX_TITLE, MAX_KEYWORDS, MAX_KEYWORD, MAX_SCOPE = 200, 100, 100, 2000
MAX_WORDS = 200
"""Words of title and keywords together, about two a keyword: they take less than a second to look up."""
MAX_TEXT = 20_000
"""Characters of any other field: enough for all keywords with blanks around them, and for a weight of each rank."""
MAX_GROUPS = 1200
"""Groups of a goal: the product of those of its dimensions. Every kind of article takes a number for each."""
MAX_CELLS = 400_000
"""Those numbers together, for all kinds of articles that were found: with a million, a list takes twenty seconds."""
MAX_ITEMS = 1000
"""Items of a list in JSON."""
LISTS = ("text-", "file-", "never", "pool")
"""How the names of fields begin that hold lists of articles: they may be as long as the request."""
MAX_NAMED, MAX_NAME = 5, 50
"""Fields that one error names, and characters of each name."""
KEYWORDS_ALLOWED = Message(
    "At most %(n)s keywords of at most %(most)s characters are allowed.", n=MAX_KEYWORDS, most=MAX_KEYWORD
)


def check_fields(fields: Mapping[str, object]) -> None:
    """Nothing when every field of a form, an address or a JSON object is short enough to be read; else an error that
    names those that are not."""
    found = [name[:MAX_NAME] for name, value in fields.items() if not name.startswith(LISTS) and _is_too_long(value)]
    if found:
        text = "Too long: %(names)s. A text may have %(most)s characters, and a list %(items)s items."
        names = ", ".join(found[:MAX_NAMED])
        raise BadRequestError(Message(text, names=names, most=MAX_TEXT, items=MAX_ITEMS))


def _is_too_long(value: object) -> bool:
    if isinstance(value, str):
        return len(value) > MAX_TEXT
    return isinstance(value, list) and len(value) > MAX_ITEMS


def groups_fault(known: Iterable[Dimension]) -> str:
    """What is too much in the dimensions of a goal; empty when nothing is."""
    n_groups = math.prod(len(dimension.groups) for dimension in known)
    if n_groups <= MAX_GROUPS:
        return ""
    text = "The groups that you chose have %(n)s combinations; %(most)s are allowed. Choose fewer."
    return Message(text, n=n_groups, most=MAX_GROUPS)


def most_cells(alignment: Alignment, space: GroupSpace) -> int:
    """The most numbers that all kinds of articles may have together, one for each group, whoever is of which gender.

    Kinds are told apart by what is shown beside articles, such as regions, and by whether groups of people are known;
    each of them is counted as if its people were of as many groups as there are. If people's groups themselves were
    counted, a limit would tell them: a list that one person more brings above it has a new kind.
    """
    people = [dimension for dimension in space.dimensions if dimension.is_personal and dimension.has_unknown]
    public = without_people(alignment.rows, space)
    are_known = [space.margin(alignment.rows, dimension.name)[:, 1:].any(axis=1) for dimension in people]
    shown = np.column_stack([public, *are_known])
    kinds, kind = np.unique(shown, axis=0, return_inverse=True)
    n_articles = np.bincount(kind.reshape(-1)[alignment.page_type], minlength=len(kinds))
    n_groups = np.array([len(dimension.groups) - 1 for dimension in people], np.int64)
    n_kinds = np.where(kinds[:, public.shape[1] :].astype(bool), n_groups, 1).prod(axis=1)
    return int(np.minimum(n_kinds, n_articles).sum()) * alignment.n_groups


def kinds_fault(alignment: Alignment, space: GroupSpace) -> str:
    """What is too much where articles of many kinds are to be balanced over many groups; empty when nothing is."""
    if most_cells(alignment, space) <= MAX_CELLS:
        return ""
    return Message("The articles found are in too many combinations of these groups. Choose fewer groups.")


def question_faults(title: str, keywords: Sequence[str], scope: str, language: str) -> dict[str, str]:
    """What is too much in the words of a question, by field; `language` is that of the index."""
    faults: dict[str, str] = {}
    for name, text, most in (("title", title, MAX_TITLE), ("scope", scope, MAX_SCOPE)):
        if len(text) > most:
            faults[name] = Message("This has %(n)s characters; %(most)s are allowed.", n=len(text), most=most)
    if are_too_many(keywords):
        faults["keywords"] = KEYWORDS_ALLOWED
        return faults
    n_words = sum(len(split_words(text, language)) for text in (title, *keywords)) if "title" not in faults else 0
    if n_words > MAX_WORDS:
        text = "Title and keywords have %(n)s words together; %(most)s are allowed."
        faults["keywords"] = Message(text, n=n_words, most=MAX_WORDS)
    return faults


def are_too_many(keywords: Sequence[str]) -> bool:
    """Whether there are too many keywords, or one that is too long."""
    return len(keywords) > MAX_KEYWORDS or any(len(keyword) > MAX_KEYWORD for keyword in keywords)
