"""Rankings as runs of the package ranx, for its measures, fusion and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenrank.core.records import Run
from evenrank.errors import load_extra

if TYPE_CHECKING:
    from evenrank.ranking.reranked import Reranked


def to_ranx(rankings: Reranked | Run, name: str = "") -> Any:
    """A ranx `Run` of fair rankings; of several rankings of a query, the first one.

    ranx orders documents by score, so each gets the number of documents from its rank on. In the other direction
    `evenrank.score` and `evenrank.rerank` take runs and qrels of ranx as they are.
    """
    ranx = load_extra("ranx", "a run of ranx", "ranx")
    lists = _run_lists(rankings) if isinstance(rankings, Run) else _first_lists(rankings)
    scored = {
        query: {item: float(len(items) - place) for place, item in enumerate(items)} for query, items in lists.items()
    }
    return ranx.Run(scored, name=name or (rankings.name if isinstance(rankings, Run) else rankings.policy))


def _first_lists(rankings: Reranked) -> dict[str, list[str]]:
    return {str(query): list(map(str, lists[0])) for query, lists in rankings.rankings.items()}


def _run_lists(run: Run) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for topic, _, pages in run.rankings():
        found.setdefault(str(topic), list(map(str, run.shown_ids(pages))))
    return found
