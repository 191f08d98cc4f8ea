"""TREC Fair Ranking 2020: expected exposure of documents or groups over the rankings that a query is answered with.

A system answers each query with many rankings, and is compared with the exposure that documents of equal grades would
get in an ideal system, which treats them equally (Diaz, Mitra, Ekstrand, Biega and Carterette 2020).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenrank.core.exposure import Cascade, Geometric, page_attention, parse_attention
from evenrank.core.types import FilePath, Floats
from evenrank.errors import EvenrankError
from evenrank.io.faults import FaultLog
from evenrank.measures.normalised_exposure import (
    DEFAULTS,
    Bounds,
    Browsing,
    compare_exposure,
    group_bounds,
    item_bounds,
    normalise,
    target_exposure,
    unranked_exposure,
)
from evenrank.measures.segments import Offsets, offsets_of, sums_at
from evenrank.scoring.campaigns.campaign import (
    CampaignProtocol,
    CampaignRequest,
    CampaignScores,
    CampaignSettings,
    Numbering,
    SystemColumns,
    choose_measures,
    find_pairs,
    repeated_note,
    shared_faults,
)
from evenrank.scoring.campaigns.files import QRELS_2020, RUN_TREC, CampaignFile, is_whole, shown

MEASURES = tuple(DEFAULTS)
TRACK_PARAMETER = 0.5
"""Patience and satisfaction of the track's evaluator, where `gerr` and `rbp` come without parameters."""
MAX_RANK_FAULTS = 10_000
"""Rows with a wrong rank that are counted."""
NO_GROUP = "-1"
"""Group of documents of which none is known; it counts as a group, as in the published evaluator."""


@dataclass(frozen=True)
class Settings2020(CampaignSettings):
    """Settings of the protocol: the options of the track's evaluator."""

    complete: bool = False
    """Whether every document that can be ranked is judged, so that grade 0 counts; else only relevant documents do."""
    by: Literal["documents", "groups"] = "documents"
    """Whose exposure is compared."""
    normalised: bool = True
    """Whether values are divided by the distance of their bounds."""


@dataclass(frozen=True)
class JudgedDocuments:
    """Judged documents, query after query."""

    queries: Numbering
    documents: Numbering
    pairs: NDArray[np.int64]
    """query · 2³¹ + document, ascending by query."""
    grade: NDArray[np.int64]
    offsets: Offsets
    """Where the documents of each query start."""
    entry: NDArray[np.intp]
    """Judged document of each entry: one for each of its groups."""
    group: NDArray[np.intp]
    n_left_out: int
    """Queries without relevant documents, which are not scored unless judgments are complete."""


@dataclass(frozen=True)
class Samples:
    """The rankings of a run, ranking after ranking, by rank."""

    query: NDArray[np.intp]
    document: NDArray[np.intp]
    ranking: NDArray[np.intp]
    rank: NDArray[np.intp]
    """From 0."""
    n_rankings: NDArray[np.intp]
    """Rankings of each query."""
    n_foreign: int
    """Queries that are not scored."""
    n_repeated: int
    """Places of documents that their ranking has further up already."""


def score_2020(request: CampaignRequest, settings: Settings2020) -> CampaignScores:
    """Disparity, relevance and difference of each judged query, for every run."""
    measures = choose_measures(request.measures, MEASURES)
    browsing = track_browsing(request.attention)
    faults = shared_faults()
    judged = read_judged_documents(request.qrels, settings.complete, faults)
    runs = {name: read_samples(path, judged, faults) for name, path in request.runs.items()}
    faults.raise_if_any()
    notes = [
        *([f"{judged.n_left_out:,} queries without relevant documents are not scored"] if judged.n_left_out else []),
        *(note for name, run in runs.items() for note in _notes(name, run)),
    ]
    systems = []
    for name, run in runs.items():
        columns = score_samples(run, judged, browsing, settings)
        kept = {measure: columns[measure] for measure in measures}
        systems.append(SystemColumns(name, tuple(judged.queries), kept))
    return CampaignScores(tuple(systems), {**asdict(settings), "attention": str(browsing)}, tuple(notes))


def track_browsing(given: Any) -> Browsing:
    """How people read: `gerr`, the default, and `rbp` have the track's parameters unless they come with others."""
    if given is None or given == "gerr":
        return Cascade(TRACK_PARAMETER, TRACK_PARAMETER)
    model = Geometric(TRACK_PARAMETER) if given == "rbp" else parse_attention(given)
    if not isinstance(model, Cascade | Geometric):
        raise EvenrankError(f"attention {str(model)[:60]!r}: trec-2020 has gerr and rbp (write gerr, rbp or rbp:0.8)")
    return model


def score_samples(
    run: Samples, judged: JudgedDocuments, browsing: Browsing, settings: Settings2020
) -> dict[str, Floats]:
    """The three measures by query."""
    found = find_pairs(run.query.astype(np.int64) << 31 | run.document, judged.pairs)
    is_relevant = np.append(judged.grade, 0)[found] > 0  # −1 is the 0 at the end
    attention = page_attention(browsing, run.rank, run.ranking, is_relevant).astype(np.float64)
    weights = attention / run.n_rankings[run.query]
    target = target_exposure(judged.grade, judged.offsets, browsing)
    if settings.by == "groups":
        values, bounds = _compare_groups(found, weights, target, judged, browsing)
    else:
        values = _compare_documents(run, weights, target, judged)
        bounds = item_bounds(target, judged.grade, judged.offsets, browsing, settings.complete)
    unranked = unranked_exposure(bounds)
    values = {name: np.where(run.n_rankings > 0, values[name], unranked[name]) for name in MEASURES}
    return {name: normalise(name, values[name], bounds[name]) for name in MEASURES} if settings.normalised else values


def _compare_documents(run: Samples, weights: Floats, target: Floats, judged: JudgedDocuments) -> dict[str, Floats]:
    """The measures over all documents that are judged or ranked."""
    ranked = run.query.astype(np.int64) << 31 | run.document
    cells, place = np.unique(np.concatenate([judged.pairs, ranked]), return_inverse=True)
    wanted = np.zeros(len(cells))
    wanted[place[: len(target)]] = target
    given = sums_at(weights, place[len(target) :], len(cells))
    return compare_exposure(given, wanted, _query_offsets(cells >> 31, len(judged.queries)))


def _compare_groups(
    found: NDArray[np.intp], weights: Floats, target: Floats, judged: JudgedDocuments, browsing: Browsing
) -> tuple[dict[str, Floats], dict[str, Bounds]]:
    """The measures over the groups of judged documents, and their bounds."""
    exposure = sums_at(weights[found >= 0], found[found >= 0], len(target))
    query = judged.pairs[judged.entry] >> 31
    cells, place = np.unique(query << 31 | judged.group, return_inverse=True)
    given = sums_at(exposure[judged.entry], place, len(cells))
    wanted = sums_at(target[judged.entry], place, len(cells))
    n_queries = len(judged.queries)
    offsets = _query_offsets(cells >> 31, n_queries)
    n_relevant = np.bincount(judged.pairs[judged.grade > 0] >> 31, minlength=n_queries)
    return compare_exposure(given, wanted, offsets), group_bounds(wanted, offsets, n_relevant, browsing)


def _query_offsets(query: NDArray[np.int64], n_queries: int) -> Offsets:
    return offsets_of(np.bincount(query, minlength=n_queries))


def _notes(system: str, run: Samples) -> Iterator[str]:
    if n_missing := int((run.n_rankings == 0).sum()):
        yield f"{system}: {n_missing:,} of {len(run.n_rankings):,} queries have no ranking, and get bounds as values"
    if run.n_foreign:
        yield f"{system}: {run.n_foreign:,} queries are not judged, and do not count"
    if run.n_repeated:
        yield repeated_note(system, run.n_repeated)


def read_judged_documents(path: FilePath, is_complete: bool, faults: FaultLog) -> JudgedDocuments:
    """Judgments from lines with query, groups, document and grade; without groups, three columns."""
    file = CampaignFile(path, QRELS_2020, faults)
    rows: dict[tuple[str, str], tuple[int, dict[str, None]]] = {}
    for line, cells in file.rows(3, 4):
        query, groups, document, grade = cells if len(cells) == 4 else (cells[0], NO_GROUP, *cells[1:])
        if not is_whole(grade):
            file.fault(line, f"grade {shown(grade)} is not a whole number")
            continue
        known, names = rows.setdefault((query, document), (int(grade), {}))
        names.update(dict.fromkeys(groups.split("|")))
        if known != int(grade):
            file.fault(line, f"document {shown(document)} of query {shown(query)} has two grades", "keep one of them")
    kept = [(key, *row) for key, row in rows.items() if is_complete or row[0] > 0]
    if rows and not kept and file.is_whole:
        file.fault(0, "no document is relevant", "score complete judgments: --set complete=true")
    queries, documents, group_names = Numbering(), Numbering(), Numbering()
    pairs = np.array([queries(query) << 31 | documents(document) for (query, document), _, _ in kept], np.int64)
    order = np.argsort(pairs >> 31, kind="stable")
    listed = [kept[at] for at in order.tolist()]
    return JudgedDocuments(
        queries=queries,
        documents=documents,
        pairs=pairs[order],
        grade=np.array([grade for _, grade, _ in listed], np.int64),
        offsets=_query_offsets(pairs >> 31, len(queries)),
        entry=np.repeat(np.arange(len(listed)), [len(names) for _, _, names in listed]).astype(np.intp),
        group=np.array([group_names(name) for _, _, names in listed for name in names], np.intp),
        n_left_out=len({query for query, _ in rows}) - len(queries),
    )


def read_samples(path: FilePath, judged: JudgedDocuments, faults: FaultLog) -> Samples:
    """Rankings from a six-column run, whose second column names the sample; the rank column decides the order."""
    file = CampaignFile(path, RUN_TREC, faults)
    foreign: set[str] = set()
    rankings: dict[tuple[int, str], int] = {}
    numbers = array("q")
    for line, (query, sample, document, rank, *_) in file.rows(6):
        if not is_whole(rank) or int(rank) < 1:
            file.fault(line, f"rank {shown(rank)} is not a whole number from 1 on")
        elif query not in judged.queries:
            foreign.add(query)
        else:
            place = judged.queries(query)
            ranking = rankings.setdefault((place, sample), len(rankings))
            numbers.extend((place, ranking, int(rank), judged.documents(document), line))
    table = np.frombuffer(numbers, np.int64).reshape(-1, 5)
    of_query, of_ranking, ranks, documents, lines = table[np.lexsort((table[:, 2], table[:, 1]))].T.astype(np.intp)
    expected = np.arange(len(ranks)) - np.searchsorted(of_ranking, of_ranking) + 1
    if file.is_whole:
        names, queries = list(rankings), list(judged.queries)
        for row in np.flatnonzero(ranks != expected)[:MAX_RANK_FAULTS].tolist():
            where = f"ranking {shown(names[of_ranking[row]][1])} of query {queries[of_query[row]]}"
            fix = "rank the documents of each ranking from 1 without gaps"
            file.fault(int(lines[row]), f"rank {ranks[row]} where {where} has {expected[row]}", fix)
        if len(judged.queries) and not rankings:
            file.fault(0, "no query of the run is judged", "give judgments of the same queries")
    n_rankings = np.bincount([place for place, _ in rankings], minlength=len(judged.queries))
    n_repeated = len(ranks) - len(np.unique(of_ranking << 31 | documents))
    return Samples(of_query, documents, of_ranking, ranks - 1, n_rankings.astype(np.intp), len(foreign), n_repeated)


TREC_2020 = CampaignProtocol(
    name="trec-2020",
    summary="TREC 2020 Fair Ranking Track: expected exposure of documents or groups, in relation to its bounds",
    citation="Diaz, Mitra, Ekstrand, Biega and Carterette 2020, Evaluating stochastic rankings with expected exposure",
    settings=Settings2020,
    score=score_2020,
    takes=frozenset({"attention"}),
)
