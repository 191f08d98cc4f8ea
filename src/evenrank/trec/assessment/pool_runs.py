"""`evenrank.pool`: the pages of run files that are to be judged, for the topics of a collection."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from evenrank.core.records import Run
from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError, WrongTypeError
from evenrank.io.runs import read_runs
from evenrank.trec.assessment.pool import Pool, build_pool
from evenrank.trec.assessment.tiers import TRACK_TIERS, Tier, parse_tier
from evenrank.trec.collection import Collection
from evenrank.trec.given import TopicChoice, choose_topics, given_collection, given_run


def pool(
    collection: Collection | FilePath,
    runs: Run | FilePath | Iterable[Run | FilePath],
    *,
    tiers: Sequence[Tier | str] = (),
    budget: int | None = None,
    topics: TopicChoice = "eval",
    start: Pool | None = None,
) -> Pool:
    """The heads of runs, in tiers such as `1:20` (Task 1, depth 20) and `2:5x25` (Task 2, depth 5, 25 rankings).

    `start` is a pool to add to: its pages keep their tier, and its tiers and budget are the default. Without it, the
    tiers are those of the 2021 track.
    """
    opened = given_collection(collection)
    listed = [runs] if isinstance(runs, (Run, str, os.PathLike)) else list(runs)
    for run in listed:
        if not isinstance(run, (Run, str, os.PathLike)):
            raise WrongTypeError(run, "run", "a Run, the path of its file, or a list of these")
    loaded = [given_run(opened, run) for run in listed if isinstance(run, Run)]
    loaded += read_runs([run for run in listed if not isinstance(run, Run)], opened.text_ids)
    default = start.tiers if start else TRACK_TIERS
    chosen = tuple(tier if isinstance(tier, Tier) else parse_tier(tier) for tier in tiers) or default
    limit = budget if budget is not None or start is None else start.budget
    found = build_pool(loaded, chosen, limit, set(choose_topics(opened, topics)), start)
    if not found.pages:
        raise EvenrankError(
            f"nothing to pool: no run of the tasks of tiers {', '.join(map(str, chosen))} ranks a page for "
            f"the topics {topics!r} of {opened.path} (choose other tiers or topics)"
        )
    return found
