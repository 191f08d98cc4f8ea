"""What a generated collection is like: its size and seed, and the world it is drawn from."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from evenrank.core.records import CONTINENTS
from evenrank.errors import EvenrankError, UnknownNameError
from evenrank.trec.dimensions import GENDERS

GroupValues = tuple[tuple[str, float], ...]
"""(group, value) pairs."""
ALL_GROUPS = "all"
"""Stands for every group that has no value of its own."""
NAMED_GROUPS = (*CONTINENTS, *GENDERS[1:])
MAX_LOGITS = 20.0
"""Largest bias or noise; a tenth of it already moves most pages."""

MAX_PAGES = 100_000_000
"""Pages of a generated collection; all of Wikipedia's languages together have fewer articles."""
MAX_TRAIN_TOPICS = 100
"""Training topics are numbered from 1, evaluation topics from 101."""


@dataclass(frozen=True, slots=True)
class GenerateSettings:
    """Size, seed and mixture of a generated collection; equal settings give equal bytes."""

    n_pages: int = 20_000
    """Pages in the metadata file."""
    n_train_topics: int = 24
    """Training topics, numbered from 1."""
    n_eval_topics: int = 24
    """Evaluation topics, numbered from 101."""
    seed: int = 0
    """Everything random is derived from it."""
    with_text: bool = True
    """Whether to write the corpus, the articles themselves."""
    train_judgments: int | None = None
    """Relevant pages over all training topics, exactly; None: in proportion to the pages."""
    eval_judgments: int | None = None
    """Relevant pages over all evaluation topics, exactly; None: a few hundred a topic, or fewer in a small one."""
    tagged_share: float = 0.85
    """Part of the truly relevant pages that a training topic lists (WikiProjects are incomplete)."""
    multi_continent_share: float = 0.02
    """Part of the pages with a geography that have a second continent."""
    unlisted_share: float = 0.0
    """Pages in corpus and judgments but not in the metadata, as a part of n_pages."""
    skipped_eval_ids: tuple[int, ...] = ()
    """Evaluation topic numbers left out (the track has no 133)."""
    train_relevant: float | None = None
    """Relevant pages that a training topic lists, on average; None: as `train_judgments` says."""
    eval_relevant: float | None = None
    """Relevant pages that an evaluation topic lists, on average; None: as `eval_judgments` says."""
    retrieval_bias: GroupValues = ()
    """(group, logits): how much more (or less, below 0) of a group's articles shows their themes than assessors see."""
    noise: float = 0.0
    """Standard deviation, in logits, of what articles show of their themes around what assessors see."""
    unknown: GroupValues = ()
    """(group or "all", share): pages of the group whose metadata lack it; different shares: missing not at random."""

    def __post_init__(self) -> None:
        faults = list(self._faults())
        if faults:
            raise EvenrankError("a collection cannot be generated:\n" + "\n".join(faults))

    def _faults(self) -> list[str]:
        shares = (self.tagged_share, self.multi_continent_share, self.unlisted_share)
        counts = (self.n_train_topics, self.n_eval_topics, self.train_judgments or 0, self.eval_judgments or 0)
        means = {"training": self.train_relevant, "evaluation": self.eval_relevant}
        totals = {"training": self.train_judgments, "evaluation": self.eval_judgments}
        checks = [
            (self.n_pages >= 100, f"{self.n_pages:,} pages are too few (at least 100)"),
            (self.n_pages <= MAX_PAGES, f"{self.n_pages:,} pages are too many (at most {MAX_PAGES:,})"),
            (min(counts) >= 0, "counts of topics and judgments must not be negative"),
            (self.n_train_topics + self.n_eval_topics > 0, "no topic is asked for (at least one)"),
            (
                self.n_train_topics <= MAX_TRAIN_TOPICS,
                f"{self.n_train_topics} training topics (at most {MAX_TRAIN_TOPICS}: evaluation starts at 101)",
            ),
            (self.tagged_share > 0 and all(0 <= s <= 1 for s in shares), "shares must lie between 0 and 1"),
            (0 <= self.noise <= MAX_LOGITS, f"noise is {self.noise:g}, but must be from 0 to {MAX_LOGITS:g} logits"),
            *(
                (
                    mean is None or 1 <= mean <= self.n_pages,
                    f"{mean} relevant pages of {split} topics (from 1 to the number of pages, {self.n_pages:,})",
                )
                for split, mean in means.items()
            ),
            *(
                (mean is None or totals[split] is None, f"both mean and total of relevant pages in {split} (give one)")
                for split, mean in means.items()
            ),
        ]
        return [message for good, message in checks if not good] + [*self._group_faults()]

    def _group_faults(self) -> Iterator[str]:
        limits = {"retrieval_bias": (-MAX_LOGITS, MAX_LOGITS), "unknown": (0.0, 1.0)}
        for name, (least, most) in limits.items():
            known = NAMED_GROUPS if name == "retrieval_bias" else (*NAMED_GROUPS, ALL_GROUPS)
            given = getattr(self, name)
            for group, value in given:
                if group not in known:
                    yield f"{name}: {UnknownNameError('group', group, known)}"
                if not least <= value <= most:
                    yield f"{name} of {group} is {value:g}, but must be from {least:g} to {most:g}"
            if len(dict(given)) < len(given):
                yield f"{name}: a group is given twice"

    @property
    def train_total(self) -> int | None:
        """Relevant pages over all training topics; None: in proportion to the pages."""
        return _total(self.train_judgments, self.train_relevant, self.n_train_topics)

    @property
    def eval_total(self) -> int | None:
        """Relevant pages over all evaluation topics; None: a few hundred a topic, or fewer in a small collection."""
        return _total(self.eval_judgments, self.eval_relevant, self.n_eval_topics)

    def record(self) -> dict[str, Any]:
        """The settings as plain data; of the world only what differs from the usual one."""
        return {name: value for name, value in asdict(self).items() if WORLD_FIELDS.get(name, ...) != value}

    @property
    def n_topics(self) -> int:
        """Training and evaluation topics together."""
        return self.n_train_topics + self.n_eval_topics

    @property
    def topic_ids(self) -> list[int]:
        """Numbers of all topics, training topics first."""
        eval_ids = (n for n in range(101, 10**9) if n not in self.skipped_eval_ids)
        return [*range(1, self.n_train_topics + 1), *(next(eval_ids) for _ in range(self.n_eval_topics))]


WORLD_FIELDS = {"train_relevant": None, "eval_relevant": None, "retrieval_bias": (), "noise": 0.0, "unknown": ()}
"""What a world decides, and what it is in the usual one."""


def _total(judgments: int | None, mean: float | None, n_topics: int) -> int | None:
    return judgments if mean is None else round(mean * n_topics)


def split_topics(n_topics: int) -> tuple[int, int]:
    """Training and evaluation topics of `n_topics`: half and half, the odd one for evaluation."""
    n_train = min(n_topics // 2, MAX_TRAIN_TOPICS)
    return n_train, n_topics - n_train


def official_shape(seed: int = 0, n_pages: int = 6_023_415) -> GenerateSettings:
    """Settings with the counts of the 2021 track: metadata, 57 and 49 topics and their judgments, no text.

    With fewer pages the training judgments shrink in proportion; the evaluation judgments, as long as they can.
    """
    part = n_pages / 6_023_415
    return GenerateSettings(
        n_pages=n_pages,
        n_train_topics=57,
        n_eval_topics=49,
        seed=seed,
        with_text=False,
        train_judgments=round(2_185_446 * part),
        eval_judgments=min(13_757, round(n_pages * 0.2)),
        unlisted_share=0.0001,
        skipped_eval_ids=(133,),
    )


USUAL_WORLD = "usual"


def _track_2021(n_pages: int, n_train: int, n_eval: int) -> dict[str, Any]:
    """Many relevant pages in training and few in evaluation, and a search that finds the large groups more easily.

    The track had 38,341 and 281 relevant pages a topic. A small collection keeps their ratio as far as its pages, of
    which each may belong to one training topic on average, and topics of at least ten relevant pages allow. The bias
    makes the official AWRF of the order by relevance about .65, where .656 and .641 were published.
    """
    train = min(38_341.0, MEMBERSHIPS * n_pages / max(n_train, 1), LARGEST_TOPIC * n_pages)
    return {
        "train_relevant": float(math.floor(train)),
        "eval_relevant": float(max(10, min(281, round(train * 281 / 38_341)))),
        "retrieval_bias": TRACK_BIAS,
    }


MEMBERSHIPS = 0.8
"""Training topics that a page is listed in, on average, where a world has as many relevant pages as fit."""
LARGEST_TOPIC = 0.1
"""Part of all pages that is relevant to a training topic there, at most."""
TRACK_BIAS = (
    *((group, -5.0) for group in ("Africa", "Asia", "Latin America and the Caribbean", "Oceania", "female")),
    ("Europe", -4.0),
)
"""Chosen so that the official AWRF of the order by relevance is about .65: with 12,000 pages and 40 topics, from .615
to .672 over six seeds (501, 502 and 511 to 514), .648 on average."""

WORLDS: dict[str, Callable[[int, int, int], dict[str, Any]]] = {
    USUAL_WORLD: lambda n_pages, n_train, n_eval: {},
    "track-2021": _track_2021,
}
"""Named worlds: the settings that follow from the number of pages and of topics of each split."""


def read_group_values(texts: Iterable[str], option: str, *, for_all: bool = False) -> GroupValues:
    """(group, value) pairs from GROUP=VALUE; with `for_all` a value alone is that of all groups."""
    form = re.compile(r"(?:(?P<group>.+)=)?\s*(?P<value>[-+]?[\d.]+)\s*", re.ASCII)
    found = [(text, form.fullmatch(text)) for text in texts]
    wrong = [text for text, parts in found if parts is None or not (parts["group"] or for_all)]
    if wrong:
        raise EvenrankError(f"{option} {', '.join(wrong)}: write {'[GROUP=]SHARE' if for_all else 'GROUP=LOGITS'}")
    return tuple(((parts["group"] or ALL_GROUPS).strip(), float(parts["value"])) for _, parts in found if parts)


def world_settings(
    world: str = USUAL_WORLD, *, n_pages: int = 20_000, n_topics: int = 48, seed: int = 0, **others: Any
) -> GenerateSettings:
    """Settings of a collection in a named world, half of its topics for training; `others` change the world."""
    if world not in WORLDS:
        raise UnknownNameError("world", world, WORLDS)
    n_train, n_eval = split_topics(n_topics)
    given = {"n_pages": n_pages, "n_train_topics": n_train, "n_eval_topics": n_eval, "seed": seed}
    return GenerateSettings(**{**WORLDS[world](n_pages, n_train, n_eval), **given, **others})
