"""Topics small enough to be worked by hand, as measures see them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from evenrank.core.alignment import Alignment
from evenrank.core.problem import QueryBatch, QueryView
from evenrank.core.protocol import PAPER_2021, Protocol

ViewMaker = Callable[..., QueryView]


@dataclass(frozen=True)
class Relevant:
    """Relevant pages with an ideal exposure each, page n in group `groups[n]`."""

    page_ids: np.ndarray
    ideal_exposure: np.ndarray
    alignment: Alignment


@pytest.fixture
def make_view() -> ViewMaker:
    """A maker of views: rankings of group numbers (0 is unknown), with their relevance and the target of the groups."""

    def make(
        *rankings: list[int],
        relevant: list[list[bool]] | None = None,
        target: list[float],
        task: int = 1,
        n_relevant: int = 5,
        protocol: Protocol = PAPER_2021,
        depth: int = 4,
        pages: list[int] | None = None,
        ideal: dict[int, float] | None = None,
        ideal_groups: list[int] | None = None,
        is_ordered: bool = False,
    ) -> QueryView:
        groups = [group for ranking in rankings for group in ranking]
        marks = relevant if relevant is not None else [[True] * len(ranking) for ranking in rankings]
        return QueryView(
            QueryBatch(
                attention_model=protocol.attention_model,
                protocol=protocol,
                items=np.array(pages or range(1, len(groups) + 1), np.int32),
                pairs=np.zeros(len(groups), np.intp),
                ranks=np.array([rank for ranking in rankings for rank in range(len(ranking))], np.intp),
                rankings=np.array([number for number, ranking in enumerate(rankings) for _ in ranking], np.intp),
                n_rankings=np.array([len(rankings)]),
                depth=np.array([depth]),
                ideal_depth=np.array([depth]),
                gains=np.array([mark for ranking in marks for mark in ranking], bool),
                n_relevant=np.array([n_relevant]),
                alignment=Alignment(np.eye(len(target)), np.array(groups, np.intp)),
                full_target=np.array(target)[None],
                relevant_items=Relevant(
                    np.array(sorted(ideal or {}), np.int32),
                    np.array([value for _, value in sorted((ideal or {}).items())], float),
                    Alignment(np.eye(len(target)), np.array(ideal_groups or [1] * len(ideal or {}), np.intp)),
                ),
                drops_unknown=task == 1,
                is_share=task == 1,
                relevant_only=task == 2 and protocol.relevant_exposure,
                is_ordered=is_ordered,
                is_exact=True,
            )
        )

    return make
