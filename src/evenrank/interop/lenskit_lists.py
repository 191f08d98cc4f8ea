"""Rankings as item lists of the package LensKit, for its measures and pipelines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenrank.errors import load_extra
from evenrank.ranking.rerank import rerank

if TYPE_CHECKING:
    from evenrank.ranking.reranked import Reranked


def to_lenskit(rankings: Reranked) -> Any:
    """A LensKit `ItemListCollection` of fair rankings, with `user_id` for the query; of several rankings, the first.

    In the other direction `evenrank.score` and `evenrank.rerank` take an `ItemListCollection` as it is.
    """
    data = load_extra("lenskit.data", "item lists of LensKit", "lenskit")
    lists = {query: data.ItemList(items[0], ordered=True) for query, items in rankings.rankings.items()}
    return data.ItemListCollection.from_dict(lists, "user_id")


def rerank_list(items: Any, groups: object, target: object | None = None, k: int | None = None, **options: Any) -> Any:
    """One scored LensKit `ItemList`, ranked fairly by `evenrank.rerank`: an ordered list with the same scores."""
    data = load_extra("lenskit.data", "item lists of LensKit", "lenskit")
    scores = dict(zip(items.ids().tolist(), items.scores().tolist(), strict=True))
    fair = rerank({"all": scores}, groups, target, k=k, **options)
    chosen = fair.rankings["all"][0]
    return data.ItemList(chosen, scores=[scores[item] for item in chosen], ordered=True)
