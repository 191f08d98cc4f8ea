"""From the pages a source found to what a policy takes: candidates with groups and work, and an estimated target.

Training topics teach two things about estimated targets: how far to trust small probabilities, and which groups search
brings up more often than they are relevant. One rule for the second: over many training topics, the mean estimated
target is the mean wanted target. A bias that all topics share would otherwise be most of what any policy misses, and a
policy that misses its target by chance could come out nearer to the truth than one that meets it. The odds of groups go
into the estimated target alone, which is a total, and never into the relevance of a page: no page is more or less
relevant for the group it is in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Literal
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import align
from evenrank.core.allowed import MOST_PAGES, PageCount, Range
from evenrank.core.concentration import FINER, Concentration, concentrations
from evenrank.core.exposure import Attention, parse_attention
from evenrank.core.groups import UNKNOWN_MASK, GroupSpace
from evenrank.core.records import NO_CLASS, Task
from evenrank.core.target import EstimatedTarget
from evenrank.errors import EvenrankError
from evenrank.policies.policy import Beliefs, Candidates, TrainingTopic
from evenrank.ranking.groups import beliefs_about, cells_within, is_within, masks_within, restricted_dimensions
from evenrank.ranking.sources import Found
from evenrank.ranking.undisclosed import expected_groups, parse_assumed, parse_undisclosed
from evenrank.retrieval.engine.engines import index_folder, open_index
from evenrank.retrieval.learn.calibration import shift_to_sum
from evenrank.trec.collection import Collection
from evenrank.trec.target_choice import TRACK_TARGET, TargetChoice, estimated_target, group_mass, page_mass

FIELD_PAGES = 100
"""Pages, the most relevant ones, that say what a topic's field is: at least these, and twice as many as are expected
to be relevant. Thousands of pages that are hardly relevant would hide that a field is all in one place."""

MOST_SHARPNESS = 20.0
"""Power above which nothing but the surest pages would count in a target; what is learned is 5 at most."""


@dataclass(frozen=True)
class BuildSettings:
    """What a system knows about pages, and how many of them it looks at."""

    information: tuple[str, ...] = ("geography", "gender")
    """Dimensions known to the system: geography,gender, or geography alone as the track's participants had it."""
    n_candidates: PageCount = 2000
    """Pages of the plain search, never fewer than a ranking is long; pages of each group come on top, and a run is
    taken whole."""
    keep_unknown: bool = False
    """Task 1: let fully unknown pages take part in the target (the track of 2022 did)."""
    sharpness: Annotated[float, Range(least=0.0, most=MOST_SHARPNESS)] = 0.0
    """Power of the probabilities of relevance in the estimated target: above 1 trusts small ones less, because
    thousands of pages that are a little too probable outweigh the good ones; 0 learns it on the training topics (1
    without any)."""
    group_odds: Literal["learned", "none"] = "learned"
    """Whether the estimated target is corrected for groups that search brings up more often than they are relevant."""
    odds: tuple[float, ...] = ()
    """That correction, a factor on the total of each group; empty until it is learned on the training topics."""
    divided: tuple[str, ...] = ()
    """Dimensions in which a page is shared between its groups; in the others it counts fully in each, as in 2021."""
    scored: tuple[str, ...] = ("geography", "gender")
    """Dimensions that the scorer looks at. What the system does not know of them (those that `information` lacks) is
    inferred from totals of the collection; `optimal` uses that in Task 2, and `inferred` lends it to other policies.
    Nothing is taken away: to leave a dimension out of the target, leave it out of `information`."""
    undisclosed: tuple[str, ...] = ()
    """Share of the pages of a dimension whose group exists and is not in the data, such as gender:0.3. What unknown
    pages are is then believed from those whose group is known, and used as what is believed of `scored` dimensions."""
    assume: tuple[str, ...] = ()
    """How groups came to be missing, such as geography.odds.Africa=2 or geography.rate=0.3: unknown pages are then a
    mixture of groups, in the target, and in Task 2 in the exposure too."""
    within: tuple[str, ...] = ()
    """Only rank pages of these groups, such as geography=Africa or gender=known (biographies)."""
    keep_to_subject: bool = True
    """Of a query: only pages that are about its subject are ranked fairly, as in the web app, and a list that must be
    longer has the others below them, in the order by relevance; false ranks everything found."""
    n_relevant: Annotated[float, Range(least=0.0, most=MOST_PAGES)] = 0.0
    """About how many pages of a topic are relevant: the probabilities are shifted until they sum to it, for the order
    alone, because a target needs the mean over all pages that may be relevant; 0 leaves them as they are estimated."""
    target: TargetChoice = TRACK_TARGET
    """Where the target comes from: track, field, equal, world, or a table."""
    attention: str = "log"
    """How people read: log, dcg, reciprocal, uniform, rbp:PERSISTENCE, gerr:PERSISTENCE,SATISFACTION (a cascade; as it
    is expected where pages are relevant with their estimated chances), or table:FILE, a weight per line."""

    @cached_property
    def attention_model(self) -> Attention:
        """What gives the weights of ranks."""
        return parse_attention(self.attention)

    @property
    def is_open(self) -> bool:
        """Whether something is still to be learned."""
        return self.sharpness <= 0.0 or (self.group_odds == "learned" and not self.odds)


def build_candidates(
    collection: Collection,
    topic_id: int,
    task: Task,
    found: Found,
    settings: BuildSettings,
    *,
    with_text: bool = False,
    with_beliefs: bool = False,
) -> tuple[Candidates, EstimatedTarget]:
    """Candidates and estimated target of a topic, from pages found; no judgment is looked at.

    What is believed of groups that the system does not know is worked out in Task 2, and in Task 1 `with_beliefs`.
    """
    space = GroupSpace.of(settings.information, collection.known_dimensions)
    found = within_groups(collection, found, settings)
    candidates = make_candidates(
        collection, topic_id, found, space, settings.divided, settings.within, with_text=with_text
    )
    target = target_of(candidates, task, space, settings)
    relevance = candidates.relevance ** (settings.sharpness or 1.0)
    assumed = parse_assumed(settings.assume, space)
    if len(candidates) and (assumed or task == 2 or with_beliefs):
        rows = collection.rows_of(candidates.page_ids)
        rates = assumed or parse_undisclosed(settings.undisclosed, settings.information, settings.scored)
        if rates:
            masks = collection.masks_of(rows, space, UNKNOWN_MASK)
            groups = expected_groups(masks, relevance, space, rates, _is_divided(space, settings.divided))
            believed = target_of(replace(candidates, alignment=groups[0]), task, space, settings)
        if task == 1 and assumed:
            # Of the target alone: in a single list the solver would lean on pages whose expected groups look balanced.
            target = believed
        elif rates:
            candidates = replace(candidates, beliefs=Beliefs(*groups, believed))
        else:
            mass = page_mass(task, relevance, candidates.quality_class, settings.attention_model)
            beliefs = beliefs_about(collection, rows, space, settings.scored, target, mass)
            candidates = replace(candidates, beliefs=beliefs)
    if settings.n_relevant > 0.0 and len(candidates):
        relevance = shift_to_sum(candidates.relevance, settings.n_relevant)
        candidates = replace(candidates, relevance=relevance, n_relevant=None)
    return candidates, target


def within_groups(collection: Collection, found: Found, settings: BuildSettings) -> Found:
    """The pages found that are of the groups asked for."""
    if not settings.within:
        return found
    return found.take(np.flatnonzero(is_within(collection, collection.rows_of(found.page_ids), settings.within)))


def _is_divided(space: GroupSpace, divided: Sequence[str]) -> list[bool]:
    return [dimension.name in divided for dimension in space.dimensions]


def target_of(candidates: Candidates, task: Task, space: GroupSpace, settings: BuildSettings) -> EstimatedTarget:
    """The estimated target that candidates give under these settings."""
    return estimated_target(
        candidates.topic_id,
        task,
        candidates.relevance ** (settings.sharpness or 1.0),
        candidates.quality_class,
        candidates.alignment,
        space,
        keep_unknown=settings.keep_unknown or task == 2,
        group_odds=np.array(settings.odds) if settings.odds else None,
        choice=settings.target,
        within=cells_within(space, settings.within),
        attention=settings.attention_model,
    )


def field_concentrations(
    collection: Collection, candidates: Candidates, space: GroupSpace, settings: BuildSettings
) -> tuple[Concentration, ...]:
    """Dimensions that no restriction concerns, in which nearly all that is probably relevant is in one group."""
    relevance = candidates.relevance ** (settings.sharpness or 1.0)
    n_counted = max(FIELD_PAGES, int(np.ceil(2.0 * candidates.relevance.sum())))
    relevance[np.argsort(-relevance, kind="stable")[n_counted:]] = 0.0
    restricted = restricted_dimensions(settings.within)
    found = concentrations(candidates.alignment, relevance, space)
    return tuple(
        replace(one, finer=_finer(collection, candidates, relevance, FINER.get(one.dimension, "")))
        for one in found
        if one.dimension not in restricted
    )


def _finer(collection: Collection, candidates: Candidates, weights: NDArray[np.float64], name: str) -> str:
    """The dimension of that name if the collection has it and the pages are in several of its groups; else nothing."""
    if not collection.has_groups(name):
        return ""
    space = collection.space(name)
    masks = collection.masks_of(collection.rows_of(candidates.page_ids), space, UNKNOWN_MASK)
    return "" if concentrations(align(masks, space, [False]), weights, space) else name


def make_candidates(
    collection: Collection,
    topic_id: int,
    found: Found,
    space: GroupSpace,
    divided: Sequence[str] = (),
    within: Sequence[str] = (),
    *,
    with_text: bool = False,
) -> Candidates:
    """Pages found, with what the collection says of them; a page without metadata is unknown in every dimension.

    Of groups that `within` restricts, a page is only in those that are left.
    """
    missing = [dimension.name for dimension in space.dimensions if dimension.name not in collection.masks]
    if missing:
        raise EvenrankError(f"{collection.path}: pages have no {', '.join(missing)} (set information to another list)")
    rows = collection.rows_of(found.page_ids)
    masks = masks_within(collection.masks_of(rows, space, UNKNOWN_MASK), space, within)
    return Candidates(
        topic_id=topic_id,
        page_ids=found.page_ids,
        relevance=found.relevance,
        scores=found.scores,
        work_needed=_work_needed(collection, rows),
        quality_class=np.where(rows >= 0, collection.quality_class[rows], NO_CLASS).astype(np.uint8),
        alignment=align(masks, space, _is_divided(space, divided)),
        vectors=page_vectors(collection, rows) if with_text else None,
        n_relevant=found.n_relevant,
    )


def _work_needed(collection: Collection, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    """1 − quality score; the mean of the other candidates where no score is known."""
    work = np.where(rows >= 0, 1.0 - collection.quality_score[rows].astype(np.float64), np.nan)
    known = np.isfinite(work)
    return np.where(known, work, work[known].mean() if known.any() else 0.5)


N_CELLS = 256
"""Length of a vector."""
_WORD = re.compile(r"\w+")


def page_vectors(collection: Collection, rows: NDArray[np.intp]) -> NDArray[np.float32] | None:
    """Vectors of the pages' titles and of what the index keeps of their text; None when neither is there."""
    titles = collection.titles
    if titles is None:
        return None
    texts = [titles[int(row)] if row >= 0 else "" for row in rows]
    if index_folder(collection).exists():
        page_ids = collection.page_ids[np.maximum(rows, 0)].tolist()
        stored = open_index(collection).stored(page_ids)
        texts = [
            f"{text} {page.opening}" if page is not None and row >= 0 else text
            for text, page, row in zip(texts, stored, rows, strict=True)
        ]
    return text_vectors(texts)


def text_vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """One vector of length 1 for each text: hashed words, rare ones among these texts weighing more.

    A text without words gets a vector of zeros, which is similar to nothing.
    """
    words = [sorted({crc32(word.encode()) for word in _WORD.findall(text.casefold())}) for text in texts]
    page = np.repeat(np.arange(len(texts)), [len(of_text) for of_text in words])
    codes = np.array([code for of_text in words for code in of_text], np.int64)
    _, inverse, counts = np.unique(codes, return_inverse=True, return_counts=True)
    rarity = np.log((1.0 + len(texts)) / counts)[inverse] if len(codes) else np.empty(0)
    signs = np.where(codes >> 16 & 1, 1.0, -1.0)
    cells = np.bincount(page * N_CELLS + codes % N_CELLS, signs * rarity, minlength=len(texts) * N_CELLS)
    vectors = cells.reshape(len(texts), N_CELLS)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0.0, lengths, 1.0), np.float32)


SHARPNESS = tuple(round(0.5 + 0.1 * step, 1) for step in range(46))
"""Powers of the probabilities that are tried: 0.5 to 5."""
PRIOR_TOPICS = 0.25
"""Weight of "as search brings it up" in the odds of a group, in topics that are all about it: odds of rare groups stay
near 1, and no group is ruled out because a few topics happen to have no relevant page of it."""
N_ROUNDS = 4
"""Rounds of matching; the odds hardly move after the third."""


def learn_target(training: Sequence[TrainingTopic], task: Task, settings: BuildSettings) -> BuildSettings:
    """The settings with sharpness and odds filled in for which estimated targets are nearest to the wanted ones.

    What the settings fix already stays as it is; without topics nothing is corrected.
    """
    if not training:
        return replace(settings, sharpness=settings.sharpness or 1.0)
    powers = (settings.sharpness,) if settings.sharpness > 0.0 else SHARPNESS
    tried = [_with_odds(training, task, replace(settings, sharpness=power)) for power in powers]
    return min(tried, key=lambda chosen: _target_loss(training, task, chosen))


def _with_odds(training: Sequence[TrainingTopic], task: Task, settings: BuildSettings) -> BuildSettings:
    if settings.group_odds == "none" or settings.odds:
        return settings
    counted = np.ones(training[0].wanted.space.n_groups)
    counted[0] = settings.keep_unknown or task == 2
    wanted = np.array([topic.relevant_mass * counted for topic in training])
    believed = np.array([_believed_mass(topic, task, settings) * counted for topic in training])
    return replace(settings, odds=tuple(group_odds(believed, wanted).tolist()))


def _believed_mass(topic: TrainingTopic, task: Task, settings: BuildSettings) -> NDArray[np.float64]:
    candidates = topic.candidates
    relevance = candidates.relevance**settings.sharpness
    return group_mass(task, relevance, candidates.quality_class, candidates.alignment, settings.attention_model)


def group_odds(believed: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """A factor for each group by which the mean shares of the believed masses become those of the wanted ones, as far
    as the topics say enough about the group.

    Both are topic by group. Shares are of a topic's total, so a factor moves all groups, and matching takes rounds.
    """
    odds, true = np.ones(believed.shape[1]), _shares(wanted).sum(axis=0)
    for _ in range(N_ROUNDS):
        found = _shares(believed * odds).sum(axis=0)
        matched = odds * (true + PRIOR_TOPICS) / (found + PRIOR_TOPICS * odds)
        odds = np.where(found > 0.0, matched, 1.0)
    return odds


def _shares(masses: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each row as parts of its total; rows without mass stay zero."""
    totals = masses.sum(axis=1, keepdims=True)
    return masses / np.where(totals > 0.0, totals, 1.0)


def _target_loss(training: Sequence[TrainingTopic], task: Task, settings: BuildSettings) -> float:
    """Mean squared distance of the estimated targets from the wanted ones."""
    misses = [
        target_of(topic.candidates, task, topic.wanted.space, settings).values - topic.wanted.values
        for topic in training
    ]
    return float(np.mean([miss @ miss for miss in misses]))
