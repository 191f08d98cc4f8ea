"""What is unusual about rankings, in words: short ones, and targets that do not fit a topic."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evenrank.errors import listed
from evenrank.policies.optimal import precision_floor as floor
from evenrank.policies.optimal.sequence import WITHOUT_FLOOR
from evenrank.ranking.job import RankingJob, TopicRankings


def ranking_notes(results: Sequence[TopicRankings], job: RankingJob) -> tuple[str, ...]:
    """Notes on rankings shorter than the task asks for, and on targets that do not fit a topic."""
    titles = {topic.id: topic.title for topic in job.extra_topics}
    kinds = (_short, _off_subject, _out_of_reach, _weakened, _off_topic, _concentrated)
    return tuple(note for notes in kinds for note in notes(results, job, titles))


def _named(details: Mapping[int, str], titles: Mapping[int, str] | None = None) -> str:
    """`in topic 101 (DETAIL)`, `in topics 101 (DETAIL), 102 (DETAIL)`, or `for "TITLE" (DETAIL)` for a query."""
    titles = titles or {}
    named = [
        f'"{titles[topic]}" ({detail})' if topic in titles else f"{topic} ({detail})"
        for topic, detail in details.items()
    ]
    counted = "in topic" if len(details) == 1 else "in topics"
    where = "for" if all(topic in titles for topic in details) else counted
    return f"{where} {listed(named)}"


def _short(results: Sequence[TopicRankings], job: RankingJob, titles: Mapping[int, str]) -> Iterator[str]:
    wanted = job.request.length
    lengths = {one.topic_id: str(one.page_ids.shape[1]) for one in results if one.page_ids.shape[1] < wanted}
    if not lengths:
        return
    if job.length == "relevant":
        where = _named(lengths, titles)
        yield f"rankings have as many pages as are expected to be relevant, fewer than {wanted}, {where}"
    else:
        yield f"fewer candidates than the {wanted} pages of a ranking {_named(lengths, titles)}"


def _off_subject(results: Sequence[TopicRankings], job: RankingJob, titles: Mapping[int, str]) -> Iterator[str]:
    """Queries with fewer pages about their subject than a ranking has."""
    for one in results:
        n, length, title = one.n_on_subject, one.page_ids.shape[1], titles.get(one.topic_id, "")
        if n == 0 and length:
            yield f'no article has "{title}" in its lead or matches it well: everything found was ranked'
        elif n is not None and one.n_candidates < length:
            yield (
                f'{n} of the {length} pages are on the subject "{title}"; the others follow below them, in the order '
                "by relevance (--length relevant leaves them out)"
            )


def _off_topic(results: Sequence[TopicRankings], job: RankingJob, titles: Mapping[int, str]) -> Iterator[str]:
    """Task 2: what it costs to leave out pages that the target asks for and that are hardly relevant."""
    costs = {
        one.topic_id: f"{one.certificate['EE-L']:.2f} instead of {one.certificate[WITHOUT_FLOOR]:.2f}"
        for one in results
        if job.request.task == 2 and WITHOUT_FLOOR in one.certificate
    }
    if costs:
        yield (
            f"the target asks for groups that hardly any relevant page is in, {_named(costs, titles)}: to stay on "
            "topic, candidates unlikely to be relevant were left out, which raises EE-L as shown (choose another "
            "--target, or --set keep_relevance=0 to use them)"
        )


def _out_of_reach(results: Sequence[TopicRankings], job: RankingJob, titles: Mapping[int, str]) -> Iterator[str]:
    """Topics in which no ranking has the precision that `min_precision` asks for."""
    missed = [one for one in results if one.certificate.get(floor.MET) == 0.0]
    if missed:
        most = {one.topic_id: f"at most {one.certificate[floor.WITHOUT_FAIRNESS]:.2f}" for one in missed}
        yield (
            f"min_precision={missed[0].certificate[floor.ASKED]:g} cannot be reached even without fairness "
            f"{_named(most, titles)}: rankings keep at least {floor.NEARLY_BEST:.0%} of what can be reached"
        )


def _weakened(results: Sequence[TopicRankings], job: RankingJob, titles: Mapping[int, str]) -> Iterator[str]:
    """What `min_precision` costs in fairness."""
    costs, suffix = {}, floor.WITHOUT_MIN_PRECISION
    for one in results:
        for name, free in one.certificate.items():
            measure = name.removesuffix(suffix)
            if name.endswith(suffix) and one.certificate[measure] != free:
                costs[one.topic_id] = f"{measure} {one.certificate[measure]:.2f} instead of {free:.2f}"
    if costs:
        yield f"min_precision made fairness weaker {_named(costs, titles)}"


def _concentrated(results: Sequence[TopicRankings], job: RankingJob, titles: Mapping[int, str]) -> Iterator[str]:
    """Dimensions in which nearly all of a topic's field is in one group."""
    unfit: dict[tuple[str, str], dict[int, str]] = {}
    for one in results:
        for found in one.concentrations:
            key = (found.dimension, found.finer)
            unfit.setdefault(key, {})[one.topic_id] = f"{found.group} {found.share:.0%}"
    for (dimension, finer), topics in unfit.items():
        them = "" if len(results) == 1 else " for it" if len(topics) == 1 else " for them"
        yield (
            f"nearly all of the field is in one group of {dimension} {_named(topics, titles)}: "
            f"{_way_out(dimension, finer, job.settings.information, them)}"
        )


def _way_out(dimension: str, finer: str, information: Sequence[str], them: str) -> str:
    """What can be done about a dimension that does not fit: leave it out, refine it, or take the field as it is."""
    others = ",".join(name for name in information if name != dimension)
    if not others and not finer:
        return f"take the field as it is{them} (--target field)"
    leave = f"leave {dimension} out of the target{them} (--set information={others} --set scored={others})"
    refined = ",".join(dict.fromkeys(finer if name == dimension else name for name in information))
    refine = f"refine it{'' if others else them} to {finer} (--set information={refined} --set scored={refined})"
    return ", or ".join([*([leave] if others else []), *([refine] if finer else [])])
