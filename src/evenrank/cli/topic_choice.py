"""The option --topics: a split, all, or ids joined by commas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from evenrank.collection.collection import Collection


def chosen_topics(collection: Collection, wanted: str) -> set[int]:
    """Ids of the topics of a split, of all, or of those listed."""
    if wanted in ("train", "eval", "all"):
        return {topic.id for topic in collection.topics if wanted in (topic.split, "all")}
    ids = [part.strip() for part in wanted.split(",")]
    unknown = [part for part in ids if not part.isdecimal() or int(part) not in collection.topic_by_id]
    if unknown:
        raise click.BadParameter(f"not in the collection: {', '.join(unknown)}", param_hint="--topics")
    return {int(part) for part in ids}
