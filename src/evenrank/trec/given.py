"""What a function of Python is given: a collection or its folder, and topics by split or id."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from evenrank.core.records import Run
from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError, UnknownNameError, WrongTypeError
from evenrank.io.runs import read_run
from evenrank.trec.collection import Collection

TopicChoice = str | int | Iterable[str | int]
"""`train`, `eval`, `all`, an id, ids joined by commas, or several of these."""
SPLITS = ("train", "eval", "all")


def given_collection(collection: Collection | FilePath) -> Collection:
    """The collection itself, or the one in a folder."""
    if isinstance(collection, Collection):
        return collection
    if not isinstance(collection, (str, os.PathLike)):
        raise WrongTypeError(collection, "collection", "a Collection, or the path of its folder")
    return Collection.open(collection)


def given_run(collection: Collection, run: Run | FilePath) -> Run:
    """A run, or the one in a file, whose pages have the numbers that the collection gives them."""
    ids = collection.text_ids
    if not isinstance(run, Run):
        return read_run(run, ids)
    if run.ids is ids:
        return run
    if run.ids is None or ids is None:
        kinds = ("whole numbers", "text")
        found, wanted = kinds if run.ids is None else kinds[::-1]
        raise EvenrankError(f"{run.name}: page ids are {found}, but those of {collection.path} are {wanted}")
    return replace(run, pages=run.ids.renumbered(ids)[run.pages], ids=ids)


def choose_topics(collection: Collection, wanted: TopicChoice) -> list[int]:
    """Ids of the chosen topics, ascending; several choices add up."""
    chosen: set[int] = set()
    for part in _parts(wanted):
        if part in SPLITS:
            chosen |= {topic.id for topic in collection.topics if part in (topic.split, "all")}
        elif part.isdecimal() and int(part) in collection.topic_by_id:
            chosen.add(int(part))
        else:
            ids = ", ".join(map(str, sorted(collection.topic_by_id)[:4]))
            raise UnknownNameError("topic", part, SPLITS, f"or an id of {collection.path}, such as {ids}")
    if not chosen:
        has = ", ".join(sorted({topic.split for topic in collection.topics})) or "none at all"
        names = ", ".join(_parts(wanted))
        raise EvenrankError(f"{collection.path}: no topics of {names!r} (choose others with --topics; it has: {has})")
    return sorted(chosen)


def _parts(wanted: TopicChoice) -> list[str]:
    if isinstance(wanted, str):
        return [part.strip() for part in wanted.split(",")]
    if not isinstance(wanted, Iterable):
        return [str(wanted)]
    return [part for one in wanted for part in _parts(one)]
