"""What an export takes: a list with its name, its question, its links and its articles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evenrank.app.articles.article import ListedArticle
from evenrank.core.records import Task


@dataclass(frozen=True)
class Listing:
    """One list, or one draw, on its way out."""

    title: str
    task: Task
    topic: int
    """Number in run files."""
    repeat: int
    """Number of the draw; 1 for a work list."""
    updated: str
    """When it was made, UTC."""
    address: str
    """Where the list is; empty for one that no server shows."""
    edit_address: str
    """Where its question can be changed; empty when it cannot."""
    articles: Sequence[ListedArticle]
    wiki_url: str
    """What addresses of articles begin with; empty when they are on no wiki."""
    statuses: Mapping[int, str] | None = None
    """Page id → how far the work on an article is, in words; None for a list without this column."""
    importances: Mapping[int, str] = field(default_factory=dict)
    """Page id → importance that the project's banner gives; empty when it is not known."""
