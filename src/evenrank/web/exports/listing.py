"""What an export takes: a list with its name, its question, its links and its articles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evenrank.records import Task
from evenrank.web.articles.article import Article
from evenrank.web.settings import WebSettings


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
    """Where the list is."""
    edit_address: str
    """Where its question can be changed."""
    articles: Sequence[Article]
    settings: WebSettings
