"""Protocols: frozen sets of scoring choices, each setting explained and open to change."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenrank.core.exposure import Attention, parse_attention
from evenrank.core.records import Task
from evenrank.plugins import Registry, instances


@dataclass(frozen=True, slots=True)
class Protocol:
    """Every choice that changes a score. Saved with each result."""

    name: str
    summary: str
    """One line about where the choices come from."""
    dimensions: tuple[str, ...]
    """Dimensions whose product is scored; a collection that lacks one is refused."""
    sets: tuple[tuple[str, tuple[str, ...]], ...]
    """Sets of dimensions by name, which `evaluate --attributes` scores beside each one alone and all together."""
    discount_type: Literal["float32", "float64"]
    """Arithmetic of the position discounts."""
    log_base: float
    """Base of the logarithm in the Jensen–Shannon divergence."""
    normalised: tuple[str, ...] | Literal["all"]
    """Dimensions in which a page is shared between its groups, so that its row sums to 1; in the others a page counts
    fully in each of its groups."""
    unlisted_page: Literal["no group", "unknown", "dropped"]
    """A ranked page without metadata: in no group, so that it gives no exposure; fully unknown; or dropped together
    with its discount, which is the same as no group, because AWRF compares shares of exposure."""
    keeps_unknown_task1: bool
    """Whether the fully unknown cell counts in Task 1; in Task 2 it always does."""
    no_exposure: Literal["uniform", "zero", "undefined"]
    """AWRF of a ranking that exposes no group: that of a uniform distribution, 0, or undefined and left out of means;
    always with a note."""
    target_sum: Literal["one", "pages"]
    """What a target is divided by: its own sum, or the number of relevant pages (Task 2: their total work exposure), so
    that a page in two groups counts twice. A single dimension in Task 2 is divided by its own sum in either case."""
    set_target: Literal["own", "margin"]
    """Target of several dimensions that are not all of the protocol's: one of their own, or the margin of the full
    target."""
    task1_depth: int
    """Pages of a Task 1 ranking that are scored."""
    ideal_depth: int | None
    """Longest ideal ranking in nDCG of Task 1; None for the scored depth."""
    task2_depth: int | None
    """Pages of each Task 2 ranking that are scored; None for all."""
    task2_rankings: int | None
    """Rankings of a sequence that are scored: those with a repeat number up to this; None for all."""
    target_depth: int | None
    """Depth whose discounts scale the Task 2 target; None for the scored depth."""
    longer_ranking: Literal["cut", "rejected"]
    """A Task 1 ranking that is longer than a valid one: cut, or refused with an error."""
    relevant_exposure: bool
    """Whether only relevant pages count as exposure in Task 2."""
    min_tier: int
    """Task 2 scores evaluation topics whose pools were judged down to this tier; 0 for all topics."""
    repeated_page: Literal["counted", "rejected"]
    """A page that appears twice in a ranking: counted every time, or refused with an error."""
    missing_ranking: Literal["skipped", "empty"]
    """A sequence with too few rankings: mean over those present, or the missing ones count as empty."""
    missing_topic: Literal["skipped", "empty"]
    """A topic that the run does not answer: left out of the mean, or scored as an empty ranking."""
    task1_length: int
    """Pages that a Task 1 ranking of a valid run has."""
    task2_length: int
    """Pages that each Task 2 ranking of a valid run has."""
    sequence_length: int
    """Rankings that a Task 2 sequence of a valid run has."""
    interval_stream: Literal["sequential", "shared"]
    """Bootstrap resamples: drawn on from run to run (runs sorted by name), or the same for every run."""
    attention: str = "log"
    """How people read, which decides exposure and the Task 2 target: log, dcg, reciprocal, uniform, rbp:PERSISTENCE,
    gerr:PERSISTENCE,SATISFACTION (a cascade), or table:FILE with a weight per line, rank 1 first, which is saved as its
    weights. nDCG keeps the log discount."""
    interval_seed: int = 20220101
    """Seed of the bootstrap."""
    n_resamples: int = 9999
    """Resamples of the bootstrap."""
    confidence: float = 0.95
    """Coverage of the interval."""
    blend: float = 0.5
    """Share of the world in a target, from 0 to 1; the rest is that of the relevant pages."""
    operation_order: Literal["any", "published"] = "any"
    """Order of floating-point operations over very many groups: any, or that of the published code wherever the topics
    are so few that the last bit of a score decides an interval."""

    def __post_init__(self) -> None:
        # The model itself, never the name of a file: what is saved with results does not change with the file.
        object.__setattr__(self, "attention", str(parse_attention(self.attention)))

    @property
    def attention_model(self) -> Attention:
        """What gives the weights of ranks in exposure."""
        return parse_attention(self.attention)

    def depth(self, task: Task) -> int:
        """Ranks of a full ranking that are scored; where all pages are, those of a valid run."""
        return self.task1_depth if task == 1 else (self.task2_depth or self.task2_length)

    def length(self, task: Task) -> int:
        """Pages in each ranking of a valid run."""
        return self.task1_length if task == 1 else self.task2_length

    def n_rankings(self, task: Task) -> int:
        """Rankings of each topic in a valid run."""
        return 1 if task == 1 else self.sequence_length

    def ideal_length(self, task: Task) -> int:
        """Longest ideal ranking in nDCG."""
        return (self.ideal_depth or self.task1_depth) if task == 1 else self.depth(2)

    def counted_rankings(self, task: Task, present: NDArray[np.intp]) -> NDArray[np.intp]:
        """Rankings over which means are taken, by topic: those present, or all that were asked for."""
        if task == 2 and self.missing_ranking == "skipped":
            return present
        return np.full_like(present, 1 if task == 1 else self.task2_rankings or self.sequence_length)

    def keeps_unknown(self, task: Task) -> bool:
        """Whether the fully unknown cell counts."""
        return task == 2 or self.keeps_unknown_task1

    def normalises(self, dimension: str) -> bool:
        return self.normalised == "all" or dimension in self.normalised

    def settings(self) -> dict[str, Any]:
        """Every setting by name, as saved with results."""
        return asdict(self)


PAPER_2021 = Protocol(
    name="paper-2021",
    summary="what the paper says, at full depth",
    dimensions=("geography", "gender"),
    sets=(),
    discount_type="float64",
    log_base=2.0,
    normalised=(),
    unlisted_page="unknown",
    keeps_unknown_task1=False,
    no_exposure="zero",
    target_sum="one",
    set_target="own",
    task1_depth=1000,
    ideal_depth=None,
    task2_depth=50,
    task2_rankings=100,
    target_depth=None,
    relevant_exposure=False,
    min_tier=0,
    longer_ranking="cut",
    repeated_page="rejected",
    missing_ranking="empty",
    missing_topic="empty",
    task1_length=1000,
    task2_length=50,
    sequence_length=100,
    interval_stream="shared",
)
OFFICIAL_2021 = replace(
    PAPER_2021,
    name="official-2021",
    summary="what the organisers' published code does",
    discount_type="float32",
    log_base=math.e,
    unlisted_page="no group",
    no_exposure="uniform",
    task1_depth=20,
    ideal_depth=1000,
    task2_depth=6,
    task2_rankings=25,
    target_depth=50,
    min_tier=2,
    repeated_page="counted",
    missing_ranking="skipped",
    missing_topic="skipped",
    interval_stream="sequential",
)
OFFICIAL_2022 = Protocol(
    name="official-2022",
    summary="what the organisers' code of 14 November 2022 does",
    dimensions=(
        "sub-region",
        "source-region",
        "gender",
        "occupation",
        "first-letter",
        "creation-date",
        "popularity",
        "languages",
    ),
    sets=(
        ("2021", ("sub-region", "gender")),
        ("Internal", ("first-letter", "creation-date", "popularity", "languages")),
        ("Demographic", ("sub-region", "source-region", "gender", "occupation")),
    ),
    discount_type="float32",
    log_base=math.e,
    normalised=("sub-region", "source-region", "occupation"),
    unlisted_page="dropped",
    keeps_unknown_task1=True,
    no_exposure="undefined",
    target_sum="pages",
    set_target="margin",
    task1_depth=500,
    ideal_depth=None,
    task2_depth=None,
    task2_rankings=None,
    target_depth=20,
    relevant_exposure=True,
    min_tier=0,
    longer_ranking="rejected",
    repeated_page="rejected",
    missing_ranking="skipped",
    missing_topic="skipped",
    task1_length=500,
    task2_length=20,
    sequence_length=100,
    interval_stream="sequential",
    operation_order="published",
)
DEFAULT_PROTOCOL = "paper-2021"
"""Protocol that rankings are made for and scored by, unless another is named."""
PROTOCOLS: Registry[Protocol] = Registry(
    "protocols",
    {protocol.name: protocol for protocol in (OFFICIAL_2021, PAPER_2021, OFFICIAL_2022)},
    instances(Protocol, lambda protocol: protocol.name),
)
"""Protocols by name, those of plug-ins included."""
