"""Page ids of a judgments file that are text: the file has numbers of its own for them, so that it stands alone."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from evenrank.core.text_ids import ALL_OF_A_KIND, TextIds
from evenrank.errors import EvenrankError
from evenrank.trec.assessment.store import Store


def text_ids_of(store: Store) -> TextIds | None:
    """The ids of pages by the numbers that the file gives them; None where ids are numbers, or there are none yet."""
    rows = store.connection.execute("SELECT text FROM text_id ORDER BY number").fetchall()
    return TextIds(text for (text,) in rows) if rows else None


def shown_id(store: Store, page: int) -> int | str:
    """The id of one page as files have it: its number in the file, or text."""
    row = store.connection.execute("SELECT text FROM text_id WHERE number = ?", (page,)).fetchone()
    return page if row is None else str(row[0])


def has_pages(store: Store) -> bool:
    """Whether the file has a pooled page or a vote."""
    found = "SELECT EXISTS (SELECT 1 FROM item) OR EXISTS (SELECT 1 FROM vote)"
    return bool(store.connection.execute(found).fetchone()[0])


def keep_ids(store: Store, ids: TextIds | None, pages: Iterable[int]) -> dict[int, int]:
    """The number that the file has for each page, by its number in `ids`; new ones are kept.

    Where `ids` is None, numbers stay as they are. An error when the file's ids are of the other kind.
    """
    wanted = sorted(set(pages))
    with store.transaction() as connection:
        known = text_ids_of(store)
        if ids is None:
            if known is not None:
                raise EvenrankError(f"{store.path}: page ids are text, but those to add are numbers ({ALL_OF_A_KIND})")
            return {page: page for page in wanted}
        if known is None and has_pages(store):
            raise EvenrankError(f"{store.path}: page ids are numbers, but those to add are text ({ALL_OF_A_KIND})")
        known = known or TextIds()
        n_before = len(known)
        numbers = known.numbers(ids.texts(wanted)).tolist()
        new = range(n_before + 1, len(known) + 1)
        connection.executemany(
            "INSERT INTO text_id (number, text) VALUES (?, ?)", list(zip(new, known.texts(new), strict=True))
        )
        return dict(zip(wanted, numbers, strict=True))


def pages_in(store: Store, ids: TextIds | None) -> NDArray[np.int32] | None:
    """By number in the file, the number of the same page in `ids`, which gets those that it lacks.

    None where ids are numbers on both sides; an error when they are text on one side alone.
    """
    known = text_ids_of(store)
    if known is None and ids is not None and has_pages(store):
        raise EvenrankError(f"{store.path}: page ids are numbers, but those of the collection are text")
    if known is not None and ids is None:
        raise EvenrankError(f"{store.path}: page ids are text, but those of the collection are numbers")
    return None if known is None or ids is None else known.renumbered(ids)
