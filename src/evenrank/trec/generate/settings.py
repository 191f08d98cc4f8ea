"""What a generated collection shall be like."""

from __future__ import annotations

from dataclasses import dataclass

from evenrank.errors import EvenrankError

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

    def __post_init__(self) -> None:
        faults = list(self._faults())
        if faults:
            raise EvenrankError("a collection cannot be generated:\n" + "\n".join(faults))

    def _faults(self) -> list[str]:
        shares = (self.tagged_share, self.multi_continent_share, self.unlisted_share)
        counts = (self.n_train_topics, self.n_eval_topics, self.train_judgments or 0, self.eval_judgments or 0)
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
        ]
        return [message for good, message in checks if not good]

    @property
    def n_topics(self) -> int:
        """Training and evaluation topics together."""
        return self.n_train_topics + self.n_eval_topics

    @property
    def topic_ids(self) -> list[int]:
        """Numbers of all topics, training topics first."""
        eval_ids = (n for n in range(101, 10**9) if n not in self.skipped_eval_ids)
        return [*range(1, self.n_train_topics + 1), *(next(eval_ids) for _ in range(self.n_eval_topics))]


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
