"""What kinds of thing the pages of a collection are about, by Wikidata: a number per page and a table of names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.io.name_lists import PageNames

FIELD = "instance_of"
"""Field of the metadata."""
CLASS_FILES = (f"{FIELD}.npy", f"{FIELD}.json")
"""Files of a data folder: the number of each page's list of names, and the lists."""


def save_classes(folder: Path, classes: PageNames) -> None:
    """Write the classes of all pages."""
    np.save(folder / CLASS_FILES[0], classes.numbers)
    (folder / CLASS_FILES[1]).write_bytes(orjson.dumps(classes.lists))


def load_classes(folder: Path, n_pages: int) -> PageNames:
    """What `save_classes` wrote; ValueError when it does not belong to these pages."""
    numbers: NDArray[np.unsignedinteger] = np.load(folder / CLASS_FILES[0], mmap_mode="r")
    lists = tuple(map(tuple, orjson.loads((folder / CLASS_FILES[1]).read_bytes())))
    if numbers.shape != (n_pages,) or int(numbers.max(initial=0)) >= len(lists):
        raise ValueError(f"{CLASS_FILES[0]} does not belong to these pages")
    return PageNames(numbers, lists)


def names_at(classes: PageNames | None, rows: NDArray[np.intp]) -> list[tuple[str, ...]]:
    """The names of each row; none for a row of −1, nor where classes are not known."""
    if classes is None:
        return [()] * len(rows)
    numbers = np.where(rows >= 0, classes.numbers[rows], 0)
    return [classes.lists[number] for number in numbers.tolist()]
