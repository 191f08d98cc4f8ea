"""One line scores any number of runs or run files: per topic, per run, with confidence intervals."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenrank.core.distinct import distinct
from evenrank.core.groups import GroupNames
from evenrank.core.problem import QueryBatch
from evenrank.core.protocol import DEFAULT_PROTOCOL, PROTOCOLS, Protocol
from evenrank.core.records import Run, Task
from evenrank.core.types import FilePath, Floats
from evenrank.errors import EvenrankError, listed
from evenrank.io.runs import read_runs
from evenrank.measures.measure import Measure
from evenrank.measures.registry import MAIN, Named, chosen_measures
from evenrank.scoring.intervals import Interval, intervals, read_unknown
from evenrank.scoring.protocol_settings import (
    ProtocolSettings,
    joined_groups,
    protocol_space,
    settle_protocol,
)
from evenrank.scoring.ranked_pages import RankedPages, count_repeats
from evenrank.scoring.results import Results, RunResult
from evenrank.scoring.scorer import defined, mean_of_defined, score_batches
from evenrank.scoring.topic_truth import DENSE_TARGET, CollectionProblem
from evenrank.trec.collection import Collection, GivenRun, as_collection, as_run, given_runs
from evenrank.trec.judged_pages import check_scope, judged_pages
from evenrank.trec.judged_pages import judged_only as without_unjudged

if TYPE_CHECKING:
    from evenrank.io.assumptions import Assumptions
    from evenrank.trec.published_target import PublishedLayout

Number = TypeVar("Number", bound=np.generic)
MOST_TOPICS_WITH_TIES = 14
"""Topics up to which a resample may be all of them in another order; with more, one set of 9,999 in fifty has any."""
COMPANY = "intervals depend on which other runs are scored in the same call, as in the published tables"
WITHOUT_EXPOSURE = {
    "uniform": "that of a uniform distribution",
    "zero": "0",
    "undefined": "undefined, left out of the means",
}
"""AWRF of a ranking that exposes no group, by the protocol's `no_exposure`, as notes say it."""
NOT_IN_COLLECTION = "topics not in the collection"
FEWEST_TOPICS = 5
"""With fewer topics a bootstrap interval says little."""
STRANGE_SHARE = 0.5
"""With more than this share of ranked pages outside the collection, the run is most likely one of another."""
OF_UNLISTED = {"no group": "they give no exposure", "unknown": "they count as unknown", "dropped": "they are left out"}
"""What a page without metadata does, by the protocol's `unlisted_page`."""


def evaluate(
    collection: Collection | str | os.PathLike[str],
    runs: GivenRun | Iterable[GivenRun],
    protocol: str | Protocol = DEFAULT_PROTOCOL,
    groups: GroupNames = "intersection",
    *,
    measures: Named | Iterable[Named] = (),
    uncertainty: str | Sequence[str] = (),
    assume: Assumptions = None,
    draws: int = 100,
    bounds: str | None = None,
    **settings: Any,
) -> Results:
    """The scores of runs (objects or files) on a collection (object or folder).

    `protocol`, `groups` and `measures` are names or objects: of the protocol, of the dimensions (`intersection` is all
    of the protocol's), and of the measures to compute in place of the usual ones (`nDCG@10`). Any setting of the
    protocol can be changed by name; `depth` and `rankings` set the scored depth of both tasks.

    Runs that the campaign of the judgments has withdrawn are left out, which the notes say.

    `uncertainty` names what intervals should carry: topics, missing, errors, judgments, target, or `all`. The results
    then have `.uncertainty`, by task, from so many `draws` of what is unknown by the model `assume` (a file, a dict, an
    `Uncertainty`).

    With `bounds` the results have the lowest and the highest possible score over all ways of filling unknown groups and
    unjudged pages: `ranked` for pages that a run ranks, `collection` for all of the collection, `none` for unknown
    groups alone.
    """
    unknown = read_unknown(uncertainty, assume)
    given, named = given_runs(runs), joined_groups(groups)
    opened = as_collection(collection)
    loaded = [as_run(opened, run) for run in given]
    loaded.sort(key=lambda run: run.name)
    _check_names(loaded)
    opened, loaded, about = without_withdrawn(opened, loaded)
    chosen = settle_protocol(protocol, **settings)
    wanted = {task: chosen_measures(measures, task) for task in sorted({run.task for run in loaded})}
    scope = None if bounds is None else check_scope(bounds)
    problem = CollectionProblem(opened, chosen, protocol_space(opened, chosen, named))
    results = _Evaluation(problem, named, wanted).results(loaded)
    results = replace(results, notes=(*about, *results.notes))
    if scope is not None:
        from evenrank.scoring.score_bounds import bounds_of_runs

        results = replace(results, bounds=bounds_of_runs(problem, loaded, results, scope))
    if unknown is None:
        return results
    from evenrank.scoring.uncertain_items import uncertain_results

    return replace(results, uncertainty=uncertain_results(problem, loaded, results, *unknown, draws))


def without_withdrawn(collection: Collection, runs: Sequence[Run]) -> tuple[Collection, list[Run], tuple[str, ...]]:
    """The runs that the campaign of the judgments has not withdrawn, with what readers of their scores should know.

    The collection that comes back asks no more: it scores whatever is made of these runs. An error when none is left.
    """
    if collection.campaign is None:
        return collection, list(runs), ()
    from evenrank.trec.assessment.pool import counted_runs

    counted, notes = counted_runs(collection.campaign, runs)
    if runs and not counted:
        raise EvenrankError(f"no run to score: {notes[0]}")
    return replace(collection, campaign=None), counted, notes


def _check_names(runs: Sequence[Run]) -> None:
    """EvenrankError when there is no run, or two have one name: results go by name."""
    if not runs:
        raise EvenrankError("no run to score (give at least one)")
    repeated = sorted({run.name for run, after in pairwise(runs) if run.name == after.name})
    if repeated:
        raise EvenrankError(f"runs of the same name: {', '.join(repeated)} (rename one of each)")


@dataclass
class _Evaluation:
    """One evaluation of several runs."""

    problem: CollectionProblem
    groups: str
    measures: dict[Task, tuple[Measure, ...]]
    """Measures to compute, by task."""

    def __post_init__(self) -> None:
        self.collection, self.protocol, self.space = self.problem.collection, self.problem.protocol, self.problem.space

    def results(self, runs: Sequence[Run]) -> Results:
        self.problem.layout = self._published_layout(runs)
        per_run = [self._scores(run) for run in runs]
        ends = self._intervals(runs, [scores for scores, _ in per_run])
        rows = [
            _run_result(run, scores, notes, end) for run, (scores, notes), end in zip(runs, per_run, ends, strict=True)
        ]
        return Results(self.protocol, self.groups, tuple(rows), self.measures, self._notes(runs))

    def _published_layout(self, runs: Sequence[Run]) -> PublishedLayout | None:
        """The layout of the published code, where the last bit of a score can decide an interval."""
        is_whole = tuple(dimension.name for dimension in self.space.dimensions) == self.protocol.dimensions
        n_topics = max(len(distinct(run.topic_ids)) for run in runs)
        if (
            self.protocol.operation_order != "published"
            or self.protocol.blend != 0.5
            or not is_whole
            or n_topics > MOST_TOPICS_WITH_TIES
        ):
            return None
        if self.space.n_groups <= DENSE_TARGET:
            return None
        from evenrank.trec.published_target import published_layout

        return published_layout(self.collection, self.space)

    def _notes(self, runs: Sequence[Run]) -> tuple[str, ...]:
        """Notes on all runs together."""
        has_company = any(sum(run.task == task for run in runs) > 1 for task in MAIN)
        return (COMPANY,) if has_company and self.protocol.interval_stream == "sequential" else ()

    def _intervals(self, runs: Sequence[Run], scores_of: Sequence[dict[int, dict[str, float]]]) -> list[Interval]:
        """Intervals of the runs' main measures; each task has a stream of resamples of its own."""
        ends: dict[str, Interval] = {}
        for task, main in MAIN.items():
            of_task = {r.name: s for r, s in zip(runs, scores_of, strict=True) if r.task == task}
            values = [defined(_column(scores, main.name)) for scores in of_task.values()]
            ends |= zip(of_task, intervals(values, self.protocol), strict=True)
        return [ends[run.name] for run in runs]

    def _scores(self, run: Run) -> tuple[dict[int, dict[str, float]], list[str]]:
        """Scores by topic, and notes on what was left out."""
        rows_of_pages = self.collection.rows_of(run.pages)
        ranked = self.problem.ranked(run, rows_of_pages)
        notes: list[str] = []
        unknown = sorted(topic for topic in ranked if topic not in self.collection.topic_by_id)
        notes += [
            f'the query "{run.titles[topic]}" has no judgments, left out' for topic in unknown if topic in run.titles
        ]
        if others := [topic for topic in unknown if topic not in run.titles]:
            notes.append(f"{NOT_IN_COLLECTION}, left out: {listed(others)}")
        topics, measures = self._topics(run, ranked, notes), self.measures[run.task]
        bare: list[int] = []
        columns = score_batches(self._batches(run, ranked, topics, bare), measures)
        rows = zip(*(columns[measure.key].tolist() for measure in measures), strict=True)
        names = [measure.key for measure in measures]
        scores = {topic: dict(zip(names, row, strict=True)) for topic, row in zip(topics, rows, strict=True)}
        if bare and run.task == 1:
            how = WITHOUT_EXPOSURE[self.protocol.no_exposure]
            notes.append(f"topics whose ranking exposes no known group, AWRF is {how}: {listed(bare)}")
        elif bare:
            shown = "relevant page of a group" if self.protocol.relevant_exposure else "page of a group"
            notes.append(f"topics whose rankings show no {shown}, EE-D and EE-R are 0: {listed(bare)}")
        notes += run_notes(run, rows_of_pages, self.protocol, list(scores))
        notes += value_notes(scores, self.measures[run.task])
        return scores, notes

    def _batches(
        self, run: Run, ranked: dict[int, RankedPages], topics: Sequence[int], bare: list[int]
    ) -> Iterator[QueryBatch]:
        """A batch per topic, summed in the published order; `bare` gets the topics whose rankings expose no group."""
        for topic in topics:
            view = self.problem.view(run.task, ranked.get(topic), topic)
            yield view.batch
            if topic in ranked and view.exposes_nothing:
                bare.append(topic)

    def _topics(self, run: Run, ranked: dict[int, RankedPages], notes: list[str]) -> list[int]:
        """The topics that are scored, ascending."""
        answered = {topic for topic in ranked if topic in self.collection.topic_by_id}
        splits = {self.collection.topic_by_id[topic].split for topic in answered}
        wanted = {t.id for t in self.collection.topics if t.split in splits and len(t.rel_docs)}
        self.collection.look_up_relevant(self.collection.topic_by_id[topic] for topic in sorted(wanted))
        missing = sorted(topic for topic in wanted - answered if self._is_judged(topic, run))
        if missing:
            how = "left out of the means" if self.protocol.missing_topic == "skipped" else "scored as empty"
            notes.append(f"topics without a ranking, {how}: {listed(missing)}")
        scored = answered | set(missing if self.protocol.missing_topic == "empty" else ())
        unjudged = sorted(topic for topic in scored if topic not in wanted)
        if unjudged:
            notes.append(f"topics without a relevant page, left out: {listed(unjudged)}")
        if run.task == 2:
            notes += self._notes_of_task2(sorted(scored & wanted))
        return sorted(topic for topic in scored if topic in wanted and self._is_judged(topic, run))

    def _notes_of_task2(self, topics: list[int]) -> list[str]:
        """Notes on topics with relevant pages that Task 2 leaves out nevertheless."""
        shallow = [topic for topic in topics if not self._is_deep(topic)]
        unknown = [topic for topic in topics if self._is_deep(topic) and not self.problem.truth(topic).has_task2_target]
        reasons = {
            f"not judged down to tier {self.protocol.min_tier}": shallow,
            "without a relevant page of known quality and group": unknown,
        }
        unsaid = [topic for topic in topics if self.protocol.min_tier and self._is_of_unknown_depth(topic)]
        notes = [f"topics {reason}, left out: {listed(left)}" for reason, left in reasons.items() if left]
        if unsaid:
            how = f"so all count, where {self.protocol.name} counts those judged down to tier {self.protocol.min_tier}"
            change = "means and the order of runs may be others (score with the judgments file or its topics export)"
            notes.append(f"topics whose judgments do not say their tier, {how}; {change}: {listed(unsaid)}")
        return notes

    def _is_of_unknown_depth(self, topic: int) -> bool:
        """Whether the topic was judged from a pool, and nothing says how deep."""
        record = self.collection.topic_by_id[topic]
        return record.max_tier is None and record.assessed_docs is not None

    def _is_deep(self, topic: int) -> bool:
        """Whether the topic's pool was judged as far down as the protocol asks."""
        tier = self.collection.topic_by_id[topic].max_tier
        return tier is None or tier >= self.protocol.min_tier

    def _is_judged(self, topic: int, run: Run) -> bool:
        """Whether the topic counts in the run's task."""
        return run.task == 1 or (self._is_deep(topic) and self.problem.truth(topic).has_task2_target)


def _run_result(run: Run, scores: dict[int, dict[str, float]], notes: list[str], ends: Interval) -> RunResult:
    if not scores:
        reason = "; ".join(notes) or "no topic of the run can be scored"
        fix = " (`evenrank run check` says what is wrong with a run file, such as columns in another order)"
        raise EvenrankError(f"{run.name}: nothing to score: {reason}{fix if NOT_IN_COLLECTION in reason else ''}")
    names = next(iter(scores.values()))
    means = {name: mean_of_defined(_column(scores, name)) for name in names}
    return RunResult(run.name, run.task, means, ends, scores, tuple(notes))


def _column(scores: dict[int, dict[str, float]], name: str) -> Floats:
    return np.array([row[name] for row in scores.values()], np.float64)


def score_files(
    collection: Collection | FilePath,
    paths: Sequence[FilePath],
    protocol: str | Protocol = DEFAULT_PROTOCOL,
    groups: str = "intersection",
    settings: ProtocolSettings | None = None,
    *,
    judged_only: bool = False,
    **options: Any,
) -> Results:
    """The scores of run files; with `judged_only` after pages that nobody judged are taken out.

    Topics whose judgments do not say what was judged keep all their pages. `options` are further ones of `evaluate`.
    """
    opened = as_collection(collection)
    opened, runs, about = without_withdrawn(opened, read_runs(paths, opened.text_ids))
    if judged_only:
        runs = [judged_part(run, opened) for run in runs]
    results = evaluate(opened, runs, protocol, groups, **options, **(settings or {}))
    return replace(results, notes=(*about, *results.notes))


def judged_part(run: Run, collection: Collection) -> Run:
    """The run without the pages that nobody judged, on the topics that say what was judged."""
    judged = judged_pages(collection.topics)
    topic_of_page = np.repeat(run.topic_ids, np.diff(run.starts))
    unsaid = [topic for topic in dict.fromkeys(run.topic_ids.tolist()) if topic not in judged]
    return without_unjudged(run, judged | {topic: run.pages[topic_of_page == topic] for topic in unsaid})


def run_notes(run: Run, rows_of_pages: NDArray[np.intp], protocol: Protocol, topics: Sequence[int]) -> list[str]:
    """Notes on the rankings of the topics that are scored; pages outside the collection have the row −1."""
    is_scored = np.isin(run.topic_ids, np.array(topics, np.int64))
    return [
        *(_missing_rankings(run, protocol, topics) if run.task == 2 else ()),
        *_short_rankings(run, protocol, is_scored),
        *_strange_pages(run, rows_of_pages, protocol, is_scored),
        *(_repeated_pages(run, is_scored) if protocol.repeated_page == "counted" else ()),
        *_other_protocol(run, protocol),
    ]


def value_notes(scores: Mapping[int, Mapping[str, float]], measures: Sequence[Measure]) -> list[str]:
    """Notes on values that are undefined, infinite, or outside the range of their measure, as repeats can make them."""
    nowhere = [m.key for m in measures if scores and all(np.isnan(row[m.key]) for row in scores.values())]
    notes = [f"undefined on every topic, so that there is no mean: {', '.join(nowhere)}"] if nowhere else []
    for measure in measures:
        values = {topic: row[measure.key] for topic, row in scores.items()}
        undefined = [topic for topic, value in values.items() if np.isnan(value)]
        low, high = measure.low - 1e-9, measure.high + 1e-6
        outside = [topic for topic, value in values.items() if not (np.isnan(value) or low <= value <= high)]
        if undefined and measure.key not in nowhere:
            notes.append(f"{measure.key} is undefined and left out of the mean on {_topics(undefined)}")
        infinite = [topic for topic, value in values.items() if np.isinf(value)]
        if infinite:
            notes.append(f"{measure.key} is infinite on {_topics(infinite)}, {measure.infinite_mean}")
        if outside:
            notes.append(
                f"{measure.key} is outside its range ({measure.low:g} to {measure.high:g}) on {_topics(outside)}"
            )
    if 0 < len(scores) < FEWEST_TOPICS:
        n_topics = f"{len(scores)} topic{'s' * (len(scores) != 1)}"
        notes.append(f"only {n_topics}: an interval needs at least {FEWEST_TOPICS} to say much")
    return notes


def _missing_rankings(run: Run, protocol: Protocol, topics: Sequence[int]) -> Iterator[str]:
    wanted = protocol.task2_rankings or protocol.sequence_length
    has = {topic: int(((run.topic_ids == topic) & (run.repeats <= wanted)).sum()) for topic in topics}
    lacking = {topic: wanted - n for topic, n in has.items() if 0 < n < wanted}
    if lacking:
        how = "the mean is over those present" if protocol.missing_ranking == "skipped" else "they count as empty"
        total = f"{sum(lacking.values()):,} of {wanted * len(has):,}"
        yield f"rankings missing: {total}, in {_topics(list(lacking))}; {how}"


def _short_rankings(run: Run, protocol: Protocol, is_scored: NDArray[np.bool_]) -> Iterator[str]:
    lengths = np.diff(run.starts)[is_scored]
    depth = protocol.depth(run.task)
    if n_short := int((lengths < depth).sum()):
        counts = f"{n_short:,} of {len(lengths):,} (mean {lengths[lengths < depth].mean():.0f})"
        yield f"rankings with fewer than the {depth} pages that are scored: {counts}"


def _strange_pages(
    run: Run, rows_of_pages: NDArray[np.intp], protocol: Protocol, is_scored: NDArray[np.bool_]
) -> Iterator[str]:
    rows = _of_rankings(rows_of_pages, run, is_scored)
    if n_strange := int((rows < 0).sum()):
        note = f"ranked pages that are not in the collection: {n_strange:,} of {len(rows):,}; "
        note += OF_UNLISTED[protocol.unlisted_page]
        yield note + (" (is this a run of another collection?)" if n_strange > STRANGE_SHARE * len(rows) else "")


def _repeated_pages(run: Run, is_scored: NDArray[np.bool_]) -> Iterator[str]:
    pages = _of_rankings(run.pages, run, is_scored)
    if n_repeated := count_repeats(pages, np.diff(run.starts)[is_scored]):
        yield f"pages that appear again in the same ranking: {n_repeated:,} of {len(pages):,}; each counts every time"


def _of_rankings(values: NDArray[Number], run: Run, is_chosen: NDArray[np.bool_]) -> NDArray[Number]:
    """What runs beside the pages of a run, for the chosen rankings alone."""
    return values if is_chosen.all() else values[np.repeat(is_chosen, np.diff(run.starts))]


def _other_protocol(run: Run, protocol: Protocol) -> Iterator[str]:
    """A note when the run's record, or the length of all its rankings, says that it was made for another protocol."""
    if run.made_for is not None:
        if run.made_for != protocol.name:
            yield f"made for {run.made_for}, as its record says, and scored with {protocol.name}"
        return
    lengths = distinct(np.diff(run.starts))
    if len(lengths) != 1 or int(lengths[0]) == protocol.length(run.task):
        return
    others = [other.name for other in PROTOCOLS.builtin.values() if other.length(run.task) == int(lengths[0])]
    if others:
        asked = f"{protocol.name} asks for {protocol.length(run.task)}"
        yield f"every ranking has {lengths[0]} pages, as runs for {' and '.join(others)} have; {asked}"


def _topics(topics: Sequence[int]) -> str:
    return f"{len(topics)} topic{'s' * (len(topics) != 1)}: {listed(topics)}"
