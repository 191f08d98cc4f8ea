"""`evenrank.score`: relevance and fairness of rankings of anything, from dicts, frames, arrays or files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from evenrank.core.exposure import Attention, Cascade, parse_attention
from evenrank.core.settings import Settings
from evenrank.core.types import FilePath, Floats
from evenrank.errors import EvenrankError, UnknownNameError, WrongTypeError
from evenrank.items.fairness import OF_FAIRNESS
from evenrank.items.faults import Faults, check_count
from evenrank.items.ranked_items import RankedItems
from evenrank.items.rankings import read_rankings, source_name
from evenrank.items.read_groups import read_groups
from evenrank.items.relevance import read_relevance
from evenrank.items.score_campaign import score_campaign
from evenrank.items.scored_rows import scored_rows
from evenrank.items.scores import ItemScores
from evenrank.items.scoring import Scoring
from evenrank.items.vocabulary import Vocabulary
from evenrank.items.wanted import targets_of

OF_RELEVANCE = ("nDCG", "P")
MEASURES = (*OF_RELEVANCE, "AWRF", "Score", "EE-L", "EE-D", "EE-R")
"""Measures that can be asked for, in the order of the table."""
MAX_DEPTH = 10_000_000
"""Ranks that are scored at most; the attention of each of them is held in memory."""


def score(
    rankings: object,
    groups: object | None = None,
    relevance: object | None = None,
    target: object | None = None,
    measures: str | Sequence[str] | None = None,
    attention: str | Sequence[float] | Floats | Attention | None = None,
    k: int | None = None,
    *,
    protocol: str | None = None,
    sequences: FilePath | None = None,
    settings: Settings | None = None,
) -> ItemScores:
    """How relevant and how fair rankings are, by query and in the mean.

    `rankings`: a dict of query → items (or lists of items, or item → score), of system → such a dict; a data frame with
    the columns query and item, and rank or score; an array; a TREC run file; a run of ranx, ir_measures or LensKit.
    `groups`: a dict of item → group, groups or group → share, or of grouping → such a dict; a data frame with the
    column item and one column per grouping, or with item, group and share; a CSV file. `relevance`: a dict of query →
    items or item → grade, a data frame, a qrels file. `target`: `relevant` (as the relevant items, the default with
    relevance), `population` (as all items with groups, the default without), `equal`, or shares by group, for all
    queries or for each query. `attention`: how people read, as a text (`log`, `dcg`, `rbp:0.8`, `reciprocal`,
    `uniform`, `table:FILE`) or a list of weights, rank 1 first; nDCG uses it as well. The default is `log`.

    Several groupings are measured over the intersections of their groups, and AWRF of each alone as well. The unknown
    group counts neither in exposure nor in the target. All faults of all inputs are reported at once, with their rows.

    `protocol` scores files of a campaign as its organisers do: `trec-2019`, `trec-2020` or `fairweb-1`. Rankings,
    relevance and, where the campaign has them, groups, targets and `sequences` are then paths of its files (groups and
    targets may be dicts of grouping → path); `settings` changes a choice of the protocol.
    """
    if protocol is not None:
        check_count("k", k, MAX_DEPTH)
        return score_campaign(
            protocol,
            rankings,
            relevance,
            groups=groups,
            target=target,
            sequences=sequences,
            measures=_names_of(measures) or (),
            attention=attention,
            k=k,
            settings=settings or {},
        )
    if sequences is not None or settings:
        raise EvenrankError("sequences and settings belong to a protocol of a campaign (name one with protocol)")
    if groups is None and relevance is None:
        raise EvenrankError("nothing to score by (give groups, relevance or both)")
    check_count("k", k, MAX_DEPTH)
    model = parse_attention("log" if attention is None else attention)
    if isinstance(model, Cascade):
        raise EvenrankError(f"attention {str(model)!r} depends on relevance (score takes models of the rank alone)")
    faults = Faults()
    items = Vocabulary.empty()
    ranked = read_rankings(rankings, items, faults)
    judged = None if relevance is None else read_relevance(relevance, ranked.queries, items, faults)
    grouped = None if groups is None else read_groups(groups, items, faults)
    wanted = None if grouped is None else targets_of(target, grouped, judged, ranked.queries, faults)
    faults.raise_if_any()
    if not len(ranked.items):
        raise EvenrankError(f"{source_name(rankings, 'rankings')}: nothing is ranked (give a row for each ranked item)")
    chosen = _chosen(_names_of(measures), judged is not None, grouped is not None, ranked)
    view = scored_rows(ranked, model, k)
    return Scoring(view, ranked, grouped, judged, wanted, chosen, len(items)).results()


def _names_of(measures: str | Sequence[str] | None) -> Sequence[str] | None:
    if measures is not None and not isinstance(measures, Iterable):
        raise WrongTypeError(measures, "measures", "a name, or a list of names")
    return [measures] if isinstance(measures, str) else measures


def _chosen(measures: Sequence[str] | None, has_relevance: bool, has_groups: bool, ranked: RankedItems) -> list[str]:
    """The measures to compute: those asked for, or all that the inputs allow."""
    possible = [*(OF_RELEVANCE if has_relevance else ()), *(OF_FAIRNESS if has_groups else ())]
    possible += ["Score"] if has_relevance and has_groups else []
    if measures is not None and not measures:
        raise EvenrankError("measures: none is named (leave it out for all that can be computed)")
    if measures is None:
        pairs = ranked.system * len(ranked.queries) + ranked.query
        has_sequences = len(np.unique(pairs)) < len(pairs)
        return [name for name in MEASURES if name in possible and (has_sequences or not name.startswith("EE"))]
    for name in measures:
        if name not in MEASURES:
            raise UnknownNameError("measure", name, MEASURES)
        if name not in possible:
            needed = "relevance" if name in OF_RELEVANCE else "groups" if name in OF_FAIRNESS else "both inputs"
            raise EvenrankError(f"measure {name} needs {needed}")
    return [name for name in MEASURES if name in measures]
