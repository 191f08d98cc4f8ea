"""TREC Fair Ranking 2019: utility and amortised unfairness of sequences of re-ranked queries.

A sequence of requests arrives, in which a query occurs many times; each time a system ranks the query's few candidates
again. Utility is the mean over the requests, unfairness is that of the exposure which groups of authors get over all
of them: no single ranking can be fair to everybody (Biega, Gummadi and Weikum 2018). The track compares the groups'
shares of exposure with their shares of relevance (Biega, Diaz, Ekstrand and Kohlmeier 2020).
"""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.allowed import Range, Share
from evenrank.core.groups import GroupShare
from evenrank.core.types import FilePath, Floats
from evenrank.errors import EvenrankError
from evenrank.io.faults import FaultLog
from evenrank.io.runs import run_name
from evenrank.measures.cascade import expected_utility, stopping_with_patience
from evenrank.measures.segments import Offsets, offsets_of, owners, sums, sums_at
from evenrank.scoring.campaigns.campaign import (
    CampaignProtocol,
    CampaignRequest,
    CampaignScores,
    CampaignSettings,
    Numbering,
    SystemColumns,
    check_names,
    choose_measures,
    find_pairs,
    measure_name,
    repeated_note,
    shared_faults,
)
from evenrank.scoring.campaigns.files import (
    GROUPS_2019,
    QRELS_2019,
    RUN_2019,
    SEQUENCES_2019,
    CampaignFile,
    is_request,
    shown,
)

MEASURES = ("utility", "unfairness")


@dataclass(frozen=True)
class Settings2019(CampaignSettings):
    """Settings of the protocol, as the track chose them."""

    patience: Annotated[float, Range(above=0.0, most=1.0)] = 0.5
    """The chance that a reader continues to the next document, γ."""
    stop: Share = 0.7
    """The chance that a reader stops at a relevant document."""


@dataclass(frozen=True)
class Requests:
    """The requests of all sequences: sequences by number, their requests in order."""

    sequences: tuple[int, ...]
    offsets: Offsets
    """Where the requests of each sequence start."""
    places: dict[tuple[int, int], int]
    """(sequence, number of the request) → its place among all."""
    query: NDArray[np.intp]
    """The query of each request."""


@dataclass(frozen=True)
class JudgedCandidates:
    """Relevance of the candidates of each query, and the numbers of queries and documents."""

    queries: Numbering
    documents: Numbering
    pairs: NDArray[np.int64]
    """query · 2³¹ + document of each candidate."""
    relevance: Floats


@dataclass(frozen=True)
class AuthorGroups:
    """Groups of the authors of documents; a group that two authors have appears twice."""

    label: str
    names: list[str]
    document: NDArray[np.intp]
    """The documents that are listed."""
    offsets: Offsets
    """Where the groups of each listed document start."""
    group: NDArray[np.intp]


@dataclass(frozen=True)
class SequenceRankings:
    """The rankings of a run, one for each request of the sequences; those that the run lacks are empty."""

    offsets: Offsets
    document: NDArray[np.intp]
    n_missing: int
    n_foreign: int
    """Rankings for requests that are in no sequence."""
    n_repeated: int
    """Places of documents that their ranking has further up already."""


@dataclass(frozen=True)
class SequenceTask:
    """What runs are scored by."""

    requests: Requests
    judged: JudgedCandidates
    groupings: dict[str, AuthorGroups]
    settings: Settings2019


def score_2019(request: CampaignRequest, settings: Settings2019) -> CampaignScores:
    """Utility and unfairness of each sequence, for every run and every grouping."""
    check_names(request.groups)
    measures = choose_measures(request.measures, MEASURES)
    if "unfairness" in request.measures and not request.groups:
        raise EvenrankError("measure unfairness needs --groups")
    faults = shared_faults()
    judged = read_candidates(request.qrels, faults)
    assert request.sequences is not None
    requests = read_sequences(request.sequences, judged.queries, faults)
    groupings = {
        name: read_author_groups(name or run_name(path), path, judged.documents, faults)
        for name, path in request.groups.items()
    }
    runs = {
        name: read_sequence_rankings(path, requests, judged.documents, faults) for name, path in request.runs.items()
    }
    faults.raise_if_any()
    task = SequenceTask(requests, judged, groupings, settings)
    notes: list[str] = []
    systems = tuple(score_run(name, run, task, measures, notes) for name, run in runs.items())
    return CampaignScores(systems, asdict(settings), tuple(notes))


def score_run(
    system: str, run: SequenceRankings, task: SequenceTask, measures: list[str], notes: list[str]
) -> SystemColumns:
    """The measures of one run by sequence; what it lacks is added to `notes`."""
    ranking = owners(run.offsets)
    query = task.requests.query[ranking].astype(np.int64)
    found = find_pairs(query << 31 | run.document, task.judged.pairs)
    relevance = np.append(task.judged.relevance, 0.0)[found]  # −1 is the 0 at the end
    stop = relevance * task.settings.stop
    notes += _notes(system, run, int((found < 0).sum()))
    columns: dict[str, Floats] = {}
    if "utility" in measures:
        offsets = task.requests.offsets
        utility = expected_utility(stop, run.offsets, task.settings.patience)
        columns["utility"] = sums(utility, offsets) / np.diff(offsets)
    shares: list[GroupShare] = []
    sequence = owners(task.requests.offsets)[ranking]
    for name, groups in task.groupings.items() if "unfairness" in measures else ():
        given, deserved = _group_distributions(run, stop, sequence, groups, task)
        columns[measure_name("unfairness", name, task.groupings)] = l2_unfairness(given, deserved)
        shares += _mean_shares(system, groups, given, deserved)
        if n_undefined := int(np.isnan(given[:, 0]).sum()):
            notes.append(f"{system}: {n_undefined:,} sequences expose no group, and have no unfairness")
    return SystemColumns(system, tuple(map(str, task.requests.sequences)), columns, tuple(shares))


def group_shares(
    weights: Floats, sequence: NDArray[np.intp], group: NDArray[np.intp], n_sequences: int, n_groups: int
) -> Floats:
    """Share of each group in the weights of each sequence; a row per sequence, NaN where nothing has a weight.

    Each row of the input is a group of a ranked document: a group that a document has twice counts twice.
    """
    cells = sums_at(weights, sequence * n_groups + group, n_sequences * n_groups).reshape(n_sequences, n_groups)
    whole = cells.sum(axis=1, keepdims=True)
    shares = np.full_like(cells, np.nan)
    np.divide(cells, whole, out=shares, where=whole > 0.0)
    return shares


def l2_unfairness(exposure: Floats, relevance: Floats) -> Floats:
    """‖exposure − relevance‖₂ of each row: 0 where groups get the exposure that their relevance deserves."""
    return np.asarray(np.linalg.norm(exposure - relevance, axis=-1), np.float64)


def _group_distributions(
    run: SequenceRankings, stop: Floats, sequence: NDArray[np.intp], groups: AuthorGroups, task: SequenceTask
) -> tuple[Floats, Floats]:
    """Shares of exposure and of relevance of the groups, a row per sequence.

    A reader passes documents that are not listed as if nobody could stop there, as in the published evaluator.
    """
    found = find_pairs(run.document.astype(np.int64), groups.document.astype(np.int64))
    listed_stop = np.where(found >= 0, stop, 0.0)
    exposure = stopping_with_patience(listed_stop, run.offsets, task.settings.patience)
    rows = np.flatnonzero(found >= 0)
    n_groups = np.diff(groups.offsets)[found[rows]]
    row = np.repeat(rows, n_groups)
    entry = np.repeat(groups.offsets[found[rows]] - offsets_of(n_groups)[:-1], n_groups) + np.arange(n_groups.sum())
    group = groups.group[entry]

    def shares(weights: Floats) -> Floats:
        return group_shares(weights[row], sequence[row], group, len(task.requests.sequences), len(groups.names))

    return shares(exposure), shares(listed_stop)


def _mean_shares(system: str, groups: AuthorGroups, exposure: Floats, relevance: Floats) -> list[GroupShare]:
    is_defined = ~np.isnan(exposure[:, 0])
    if not is_defined.any():
        return []
    means = zip(groups.names, exposure[is_defined].mean(axis=0), relevance[is_defined].mean(axis=0), strict=True)
    return [GroupShare(system, groups.label, name, float(given), float(wanted)) for name, given, wanted in means]


def _notes(system: str, run: SequenceRankings, n_unjudged: int) -> Iterable[str]:
    if run.n_missing:
        yield f"{system}: {run.n_missing:,} of {len(run.offsets) - 1:,} requests have no ranking, and count as empty"
    if run.n_foreign:
        yield f"{system}: {run.n_foreign:,} rankings are for requests of no sequence, and do not count"
    if n_unjudged:
        yield f"{system}: {n_unjudged:,} ranked documents are not judged for their query, and count as not relevant"
    if run.n_repeated:
        yield repeated_note(system, run.n_repeated)


def read_candidates(path: FilePath, faults: FaultLog) -> JudgedCandidates:
    """Relevance from JSON lines with `qid` and `documents`."""
    file = CampaignFile(path, QRELS_2019, faults)
    queries, documents = Numbering(), Numbering()
    relevance: dict[int, float] = {}
    for line, record in file.records():
        qid, listed = record.get("qid"), record.get("documents")
        if not _is_id(qid):
            file.fault(line, f"qid is {shown(qid)}")
        elif not isinstance(listed, list):
            file.fault(line, f"documents are {shown(listed)}")
        else:
            query = queries(str(qid))
            for place, entry in enumerate(listed, 1):
                if found := _judgment_fault(entry):
                    file.fault(line, f"document {place} of query {qid}: {found}")
                    continue
                pair = query << 31 | documents(entry["doc_id"])
                if relevance.setdefault(pair, float(entry["relevance"])) != entry["relevance"]:
                    file.fault(line, f"document {shown(entry['doc_id'])} of query {qid} has two relevances", "keep one")
    return JudgedCandidates(
        queries, documents, np.array(list(relevance), np.int64), np.array(list(relevance.values()), np.float64)
    )


def _judgment_fault(entry: Any) -> str:
    """What is wrong with a candidate; nothing when it is as it should be."""
    if not isinstance(entry, dict) or not isinstance(entry.get("doc_id"), str) or not entry["doc_id"]:
        return f"no doc_id in {shown(entry)}"
    value = entry.get("relevance")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0.0 <= value <= 1.0:
        return f"relevance is {shown(value)}, not a number from 0 to 1" if "relevance" in entry else "no relevance"
    return ""


def _is_id(value: object) -> bool:
    return (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, str) and bool(value.strip()))


def read_sequences(path: FilePath, queries: Numbering, faults: FaultLog) -> Requests:
    """Requests from `SEQUENCE.NUMBER,qid` lines; each query has to be judged."""
    file = CampaignFile(path, SEQUENCES_2019, faults)
    found: dict[tuple[int, int], int] = {}
    for line, text in file.lines():
        number, comma, qid = (part.strip() for part in text.partition(","))
        if not comma or not qid or not is_request(number):
            file.fault(line, shown(text))
        elif qid not in queries:
            if len(queries):
                file.fault(line, f"query {shown(qid)} is not judged", "give judgments of the same queries")
        elif (request := _request(number)) in found:
            file.fault(line, f"request {number} appears twice", "keep one of them")
        else:
            found[request] = queries(qid)
    requests = sorted(found)
    sequences = tuple(sorted({sequence for sequence, _ in requests}))
    lengths = np.unique(np.array([sequence for sequence, _ in requests], np.intp), return_counts=True)[1]
    places = {request: place for place, request in enumerate(requests)}
    return Requests(sequences, offsets_of(lengths), places, np.array([found[one] for one in requests], np.intp))


def _request(number: str) -> tuple[int, int]:
    sequence, _, place = number.partition(".")
    return int(sequence), int(place)


def read_author_groups(label: str, path: FilePath, documents: Numbering, faults: FaultLog) -> AuthorGroups:
    """Groups from lines with a document and one column per author; an empty text is a group like any other."""
    file = CampaignFile(path, GROUPS_2019, faults)
    names = Numbering()
    seen: dict[int, int] = {}
    lengths, group = array("q"), array("q")
    for line, text in file.lines():
        try:
            document, *groups = next(csv.reader([text], strict=True))
        except csv.Error as error:
            file.fault(line, f"cannot be read as CSV: {error}")
            continue
        first = seen.setdefault(documents(document), line)
        if not document:
            file.fault(line, "no document before the first comma")
        elif first != line:
            file.fault(line, f"document {shown(document)} is listed in line {first} already", "keep one of them")
        else:
            lengths.append(len(groups))
            group.extend(map(names, groups))
    if not names and file.is_whole:
        file.fault(0, "no document has a group")
    offsets = offsets_of(np.array(lengths, np.intp))
    listed = np.array(list(seen)[: len(lengths)], np.intp)
    return AuthorGroups(label, list(names), listed, offsets, np.array(group, np.intp))


def read_sequence_rankings(
    path: FilePath, requests: Requests, documents: Numbering, faults: FaultLog
) -> SequenceRankings:
    """Rankings from JSON lines; their `qid` is not looked at, the sequences say which query a request is."""
    file = CampaignFile(path, RUN_2019, faults)
    n_requests = len(requests.query)
    seen: dict[tuple[int, int], int] = {}
    place, lengths, document = array("q"), array("q"), array("q")
    n_repeated = 0
    for line, record in file.records():
        number, ranking = record.get("q_num"), record.get("ranking")
        if not isinstance(number, str) or not is_request(number):
            file.fault(line, f"q_num is {shown(number)}", 'give it as text, "SEQUENCE.NUMBER"')
        elif not isinstance(ranking, list) or not all(isinstance(one, str) and one for one in ranking):
            file.fault(line, f"the ranking of {number} is {shown(ranking)}")
        elif (first := seen.setdefault(_request(number), line)) != line:
            file.fault(line, f"request {number} is ranked in line {first} already", "keep one of them")
        elif (request := requests.places.get(_request(number))) is not None:  # no HTTP # nosec B113
            place.append(request)
            lengths.append(len(ranking))
            n_repeated += len(ranking) - len(set(ranking))
            document.extend(map(documents, ranking))
    if file.is_whole and n_requests and not place:
        file.fault(0, "no request of the sequences is ranked", "give a run and sequences of the same requests")
    starts = offsets_of(np.array(lengths, np.intp))[:-1]
    order = np.argsort(np.array(place, np.intp), kind="stable")
    n_documents = np.zeros(n_requests, np.intp)
    n_documents[np.array(place, np.intp)] = lengths
    counts = np.array(lengths, np.intp)[order]
    rows = np.repeat(starts[order] - offsets_of(counts)[:-1], counts) + np.arange(counts.sum())
    return SequenceRankings(
        offsets_of(n_documents),
        np.array(document, np.intp)[rows],
        n_missing=n_requests - len(place),
        n_foreign=len(seen) - len(place),
        n_repeated=n_repeated,
    )


TREC_2019 = CampaignProtocol(
    name="trec-2019",
    summary="TREC 2019 Fair Ranking Track: utility and amortised unfairness of sequences of scholarly searches",
    citation="Biega, Diaz, Ekstrand and Kohlmeier 2020, Overview of the TREC 2019 Fair Ranking Track",
    settings=Settings2019,
    score=score_2019,
    needs=frozenset({"sequences"}),
    takes=frozenset({"groups"}),
)
