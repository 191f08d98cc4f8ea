"""NTCIR FairWeb-1: relevance (ERR, iRBU) and group fairness (GF) of ranked web pages, and their mean (GFR).

Groups may be ordinal, such as bands of citations, or nominal. A page may be in several of them by shares (Sakai, Kim
and Kang 2023, A versatile framework for evaluating ranked lists in terms of group fairness and relevance).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Literal

import numpy as np

from evenrank.core.allowed import Range
from evenrank.core.types import FilePath, Floats
from evenrank.errors import EvenrankError, UnknownNameError
from evenrank.io.faults import FaultLog
from evenrank.io.groupings import ORDINAL_SUFFIX
from evenrank.measures.cascade import (
    DIVERGENCES,
    expected_reciprocal_rank,
    group_fairness,
    irbu,
    running_shares,
    stop_chances,
)
from evenrank.measures.segments import Offsets, offsets_of
from evenrank.scoring.campaigns.campaign import (
    CampaignProtocol,
    CampaignRequest,
    CampaignScores,
    CampaignSettings,
    SystemColumns,
    measure_name,
    repeated_note,
    shared_faults,
)
from evenrank.scoring.campaigns.files import (
    MEMBERSHIPS,
    QRELS_FAIRWEB,
    RUN_TREC,
    TARGET_FAIRWEB,
    CampaignFile,
    is_comment,
    is_share,
    is_whole,
    shown,
)

DEPTH = 20
"""Ranks of a run that the task scores."""
OF_RELEVANCE = ("ERR", "iRBU")
OF_FAIRNESS = tuple(f"GF-{name}" for name in DIVERGENCES)
COMBINED = "GFR"
DIGITS = 6
"""Decimal places of the equal shares of a page without memberships, as the task's scorer writes them."""
SUM_TOLERANCE = 0.01
"""By how much the shares of a page may miss 1."""
MAX_DEPTH = 1_000_000


@dataclass(frozen=True)
class SettingsFairWeb(CampaignSettings):
    """Settings of the protocol, as the task chose them."""

    gains: tuple[float, ...] = (1.0, 3.0)
    """Gains of the relevance levels L1, L2, …; a reader stops with the chance gain / (largest gain + 1)."""
    persistence: Annotated[float, Range(above=0.0, most=1.0)] = 0.99
    """Decay by rank in iRBU."""
    relevance: Literal["ERR", "iRBU"] = "ERR"
    """Relevance measure in GFR."""
    ordinal: Literal["NMD", "RNOD"] = "NMD"
    """Divergence of ordinal groupings in GFR; that of nominal ones is JSD."""

    def faults(self) -> list[str]:
        if self.gains and min(self.gains) > 0.0 and list(self.gains) == sorted(self.gains):
            return []
        return [f"gains are {', '.join(map(str, self.gains)) or 'empty'}, but must be above 0 and not fall"]


@dataclass(frozen=True)
class WantedMeasure:
    """One measure to compute."""

    name: str
    """As it is called in the scores, without the grouping."""
    measure: str
    depth: int | None


@dataclass(frozen=True)
class AttributeSet:
    """Shares of the groups by page and the target of one attribute set."""

    name: str
    is_ordinal: bool
    target: Floats
    topics: frozenset[str]
    place: Mapping[tuple[str, str], int]
    """(topic, page) → row of `shares`."""
    shares: Floats
    """A row per listed page, and in the last row the equal shares of all others."""


@dataclass(frozen=True)
class CutRankings:
    """The rankings of a run on the topics that are scored, cut at the depth."""

    offsets: Offsets
    pages: list[tuple[str, str]]
    """Topic and page."""
    n_missing: int
    n_foreign: int
    n_repeated: int
    """Places of pages that their ranking has further up already."""
    n_disordered: int
    """Topics whose rank column does not rise, although the task takes pages in the order of the file."""


def score_fairweb(request: CampaignRequest, settings: SettingsFairWeb) -> CampaignScores:
    """The measures of each topic, for every run."""
    pairs = pair_groupings(request.groups, request.target)
    wanted = wanted_measures(request.measures, bool(pairs))
    faults = shared_faults()
    depth = DEPTH if request.k is None else request.k
    levels = read_levels(request.qrels, len(settings.gains), faults)
    groupings = [read_attribute_set(name, groups, target, faults) for name, (groups, target) in pairs.items()]
    ranked = {name: read_ranked(path, depth, faults) for name, path in request.runs.items()}
    faults.raise_if_any()
    topics = [topic for topic in levels if not groupings or any(topic in one.topics for one in groupings)]
    scored = [topic for topic in topics if any(levels[topic].values())]
    if not scored:
        fix = "give judgments and memberships of the same topics"
        raise EvenrankError(f"{request.qrels}: no topic has a relevant page and group memberships ({fix})")
    for name, (pages, _) in ranked.items():
        if not set(pages) & set(levels):
            faults.add(request.runs[name], 0, "no topic of the run is judged", "give judgments of the same topics")
    faults.raise_if_any()
    runs = {name: arrange(pages, scored, levels, falling) for name, (pages, falling) in ranked.items()}
    systems = [
        SystemColumns(name, tuple(scored), score_ranked(run, scored, levels, groupings, settings, wanted))
        for name, run in runs.items()
    ]
    notes = [*_topic_notes(levels, topics, scored), *(note for name, run in runs.items() for note in _notes(name, run))]
    return CampaignScores(tuple(systems), {**asdict(settings), "k": depth}, tuple(notes))


def pair_groupings(
    groups: Mapping[str, FilePath], targets: Mapping[str, FilePath]
) -> dict[str, tuple[FilePath, FilePath]]:
    """Attribute set → its membership and its target file; a single pair may come without names."""
    plain = {name.removesuffix(ORDINAL_SUFFIX): path for name, path in targets.items()}
    if len(groups) == len(plain) == 1 and ("" in groups or "" in plain):
        return {next(iter(groups)): (next(iter(groups.values())), next(iter(plain.values())))}
    bare = {name.removesuffix(ORDINAL_SUFFIX) for name in groups}
    faults = [_half_named("grouping", name, "--target") for name in sorted(bare - set(plain))]
    faults += [_half_named("target", name, "--groups") for name in sorted(set(plain) - bare)]
    if faults:
        raise EvenrankError("\n".join(faults))
    return {name: (path, plain[name.removesuffix(ORDINAL_SUFFIX)]) for name, path in groups.items()}


def _half_named(kind: str, name: str, option: str) -> str:
    """What is wrong with a grouping or target whose other file is missing."""
    if not name:
        return f"a {kind} without a name has no {option} (write {option} FILE)"
    return f"{kind} {name!r} has no {option} (write {option} {name}=FILE)"


def wanted_measures(names: tuple[str, ...], has_groups: bool) -> list[WantedMeasure]:
    """The measures that are named; by default all at the task's depth, and GFR."""
    known = [*OF_RELEVANCE, *(OF_FAIRNESS if has_groups else ()), *([COMBINED] if has_groups else ())]
    chosen = names or tuple(name if name == COMBINED else f"{name}@{DEPTH}" for name in known)
    found = []
    for name in dict.fromkeys(chosen):
        measure, at, depth = name.partition("@")
        if measure not in (*OF_RELEVANCE, *OF_FAIRNESS, COMBINED):
            raise UnknownNameError("measure", measure, (*OF_RELEVANCE, *OF_FAIRNESS, COMBINED), "with a depth: ERR@20")
        if measure not in known:
            raise EvenrankError(f"measure {measure} needs --groups and --target")
        if at and not (depth.isascii() and depth.isdigit() and 0 < int(depth) <= MAX_DEPTH):
            raise EvenrankError(f"measure {name!r}: the depth after @ is not a whole number from 1 to {MAX_DEPTH:,}")
        found.append(WantedMeasure(f"{measure}@{int(depth)}" if at else measure, measure, int(depth) if at else None))
    return found


def score_ranked(
    run: CutRankings,
    topics: list[str],
    levels: Mapping[str, Mapping[str, int]],
    groupings: list[AttributeSet],
    settings: SettingsFairWeb,
    wanted: list[WantedMeasure],
) -> dict[str, Floats]:
    """The measures by topic; NaN for a grouping that a topic has not."""
    gains = np.array([0.0, *settings.gains])
    level = np.array([levels[topic].get(page, 0) for topic, page in run.pages], np.intp)
    stop = stop_chances(gains[level], settings.gains[-1])
    by_name = {one.name: one for one in groupings}
    rows = {name: [one.place.get(page, -1) for page in run.pages] for name, one in by_name.items()}
    shares = {name: running_shares(one.shares[rows[name]], run.offsets) for name, one in by_name.items()}
    is_in = {name: np.array([topic in one.topics for topic in topics]) for name, one in by_name.items()}

    def relevance(measure: str, depth: int | None) -> Floats:
        if measure == "ERR":
            return expected_reciprocal_rank(stop, run.offsets, depth)
        return irbu(stop, run.offsets, settings.persistence, depth)

    def fairness(distance: str, name: str, depth: int | None) -> Floats:
        divergence = DIVERGENCES[distance](shares[name], by_name[name].target)
        return np.where(is_in[name], group_fairness(stop, divergence, run.offsets, depth), np.nan)

    columns: dict[str, Floats] = {}
    for one in wanted:
        if one.measure in OF_RELEVANCE:
            columns[one.name] = relevance(one.measure, one.depth)
        elif one.measure == COMBINED:
            distances = {name: settings.ordinal if own.is_ordinal else "JSD" for name, own in by_name.items()}
            parts = [fairness(distance, name, one.depth) for name, distance in distances.items()]
            columns[one.name] = np.nanmean([relevance(settings.relevance, one.depth), *parts], axis=0)
        else:
            for name in by_name:
                distance = one.measure.removeprefix("GF-")
                columns[measure_name(one.name, name, by_name)] = fairness(distance, name, one.depth)
    return columns


def _topic_notes(levels: Mapping[str, object], topics: list[str], scored: list[str]) -> Iterator[str]:
    if n_other := len(levels) - len(topics):
        yield f"{n_other:,} of {len(levels):,} judged topics have no group memberships, and are not scored"
    if n_irrelevant := len(topics) - len(scored):
        yield f"{n_irrelevant:,} topics without relevant pages are not scored"


def _notes(system: str, run: CutRankings) -> Iterator[str]:
    if run.n_missing:
        yield f"{system}: {run.n_missing:,} of {len(run.offsets) - 1:,} topics have no ranking, and get 0"
    if run.n_foreign:
        yield f"{system}: {run.n_foreign:,} topics are not judged, and do not count"
    if run.n_repeated:
        yield repeated_note(system, run.n_repeated)
    if run.n_disordered:
        yield f"{system}: the rank column of {run.n_disordered:,} topics does not rise; pages count in the file's order"


def read_levels(path: FilePath, n_levels: int, faults: FaultLog) -> dict[str, dict[str, int]]:
    """Relevance level by topic and page, from lines with topic, page and `L0`, `L1`, …"""
    file = CampaignFile(path, QRELS_FAIRWEB, faults)
    levels: dict[str, dict[str, int]] = {}
    for line, (topic, page, level) in file.rows(3):
        number = level.removeprefix("L")
        if not level.startswith("L") or not number.isascii() or not number.isdigit():
            file.fault(line, f"level {shown(level)}")
        elif int(number[:9]) > n_levels:
            file.fault(
                line, f"level {shown(level)} has no gain", f"levels go to L{n_levels} (--set gains=1,3 sets them)"
            )
        elif levels.setdefault(topic, {}).setdefault(page, int(number)) != int(number):
            file.fault(line, f"page {shown(page)} of topic {shown(topic)} has two levels", "keep one of them")
    return levels


def read_attribute_set(name: str, groups: FilePath, target: FilePath, faults: FaultLog) -> AttributeSet:
    """One attribute set from its two files; a first line `# ordinal` in either makes it ordinal."""
    marks: set[str] = set()
    wanted = _read_target(target, marks, faults)
    file = CampaignFile(groups, MEMBERSHIPS, faults)
    place: dict[tuple[str, str], int] = {}
    rows: list[list[float]] = []
    for line, text in file.lines():
        if is_comment(text):
            marks.add(text.lstrip("# ").strip().casefold())
            continue
        topic, page, *cells = [*text.split(), "", ""] if len(text.split()) < 2 else text.split()
        if fault := _share_fault(cells, len(wanted)):
            file.fault(line, fault)
            continue
        row = [float(cell) for cell in cells]
        known = place.setdefault((topic, page), len(rows))
        if known == len(rows):
            rows.append(row)
        elif rows[known] != row:
            file.fault(line, f"page {shown(page)} of topic {shown(topic)} has other shares further up", "keep one line")
    n_groups = max(len(wanted), 1)
    equal = [round(1.0 / n_groups, DIGITS)] * n_groups
    is_right = all(len(row) == n_groups for row in rows)
    return AttributeSet(
        name=name.removesuffix(ORDINAL_SUFFIX),
        is_ordinal=name.endswith(ORDINAL_SUFFIX) or "ordinal" in marks,
        target=np.array(wanted, np.float64),
        topics=frozenset(topic for topic, _ in place),
        place=place,
        shares=np.array([*rows, equal] if is_right else [equal], np.float64),
    )


def _share_fault(cells: list[str], n_groups: int) -> str:
    """What is wrong with the shares of a page; nothing when they are as they should be."""
    if wrong := next((cell for cell in cells if not is_share(cell)), None):
        return f"share {shown(wrong)} is not a number from 0 to 1"
    if n_groups and len(cells) != n_groups:
        return f"{len(cells)} shares, but the target has {n_groups}"
    total = sum(map(float, cells))
    return f"shares that sum to {total:g}, not to 1" if abs(total - 1.0) > SUM_TOLERANCE else ""


def _read_target(path: FilePath, marks: set[str], faults: FaultLog) -> list[float]:
    """Shares of the target as they are: they are not divided by their sum."""
    file = CampaignFile(path, TARGET_FAIRWEB, faults)
    shares = []
    for line, text in file.lines():
        if is_comment(text):
            marks.add(text.lstrip("# ").strip().casefold())
        elif not is_share(text.strip()):
            file.fault(line, f"{shown(text.strip())} is not a number from 0 to 1")
        else:
            shares.append(float(text.strip()))
    if file.is_whole and (len(shares) < 2 or not any(shares)):
        file.fault(
            0, f"{len(shares)} groups, of which {sum(share > 0 for share in shares)} have a share", "give two or more"
        )
    return shares


def read_ranked(path: FilePath, depth: int, faults: FaultLog) -> tuple[dict[str, list[str]], set[str]]:
    """The first pages of each topic in the order of the file, and the topics whose rank column does not rise with it.

    The task's scorer looks at neither rank nor score.
    """
    ranked: dict[str, list[str]] = {}
    last: dict[str, int] = {}
    falling: set[str] = set()
    for _, (topic, _, page, rank, *_) in CampaignFile(path, RUN_TREC, faults).rows(6):
        pages = ranked.setdefault(topic, [])
        if len(pages) < depth:
            pages.append(page)
        if is_whole(rank):
            if int(rank) <= last.get(topic, int(rank) - 1):
                falling.add(topic)
            last[topic] = int(rank)
    return ranked, falling


def arrange(
    ranked: Mapping[str, list[str]], topics: list[str], judged: Mapping[str, object], falling: set[str]
) -> CutRankings:
    """The rankings of the topics that are scored; empty ones for topics that a run does not answer."""
    lengths = np.array([len(ranked.get(topic, ())) for topic in topics], np.intp)
    pages = [(topic, page) for topic in topics for page in ranked.get(topic, ())]
    return CutRankings(
        offsets_of(lengths),
        pages,
        n_missing=int((lengths == 0).sum()),
        n_foreign=len(set(ranked) - set(judged)),
        n_repeated=len(pages) - len(set(pages)),
        n_disordered=len(falling & set(topics)),
    )


FAIRWEB_1 = CampaignProtocol(
    name="fairweb-1",
    summary="NTCIR-17 FairWeb-1: relevance and group fairness of ranked web pages, ordinal and nominal groups",
    citation="Sakai, Kim and Kang 2023, A versatile framework for evaluating ranked lists, ACM TOIS 41(1)",
    settings=SettingsFairWeb,
    score=score_fairweb,
    takes=frozenset({"groups", "target", "k"}),
)
