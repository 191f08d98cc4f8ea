"""Nothing is scored in silence: notes with counts on what is odd about a run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import evenrank
from evenrank.core.records import Run
from evenrank.errors import EvenrankError, InputError
from evenrank.measures.awrf import KL
from evenrank.scoring.evaluate import evaluate, value_notes
from evenrank.scoring.oracle import oracle_run
from evenrank.trec.collection import Collection


def notes_of(collection: Collection, run: Run, protocol: str = "paper-2021", **settings: object) -> tuple[str, ...]:
    return evaluate(collection, run, protocol, "geography,gender", n_resamples=9, **settings).runs[0].notes


def changed(run: Run, change: Callable[[int, int, np.ndarray], np.ndarray | None]) -> Run:
    kept = [(topic, repeat, change(topic, repeat, pages)) for topic, repeat, pages in run.rankings()]
    return Run.from_rankings(run.name, run.task, iter([row for row in kept if row[2] is not None]))


def test_a_valid_run_has_no_notes(golden_collection: Collection) -> None:
    for task in (1, 2):
        assert notes_of(golden_collection, oracle_run(golden_collection, task, 0.5).run) == ()


def test_missing_rankings(golden_collection: Collection) -> None:
    full = oracle_run(golden_collection, 2, 0.5).run
    run = changed(full, lambda topic, repeat, pages: None if topic == 101 and repeat > 30 else pages)
    assert notes_of(golden_collection, run) == ("rankings missing: 70 of 500, in 1 topic: 101; they count as empty",)
    [note] = notes_of(golden_collection, run, missing_ranking="skipped")
    assert note.endswith("the mean is over those present")


def test_infinite_values_say_why() -> None:
    """A page of a group that should get nothing makes KL infinite, and AWRF not; with and without a collection."""
    rankings = {"one": ["a", "b"], "two": ["a"]}
    scores = evenrank.score(rankings, {"a": "x", "b": "y"}, target={"x": 1.0, "y": 0.0}, measures=["KL", "AWRF"])
    reason = "and so is the mean (a group with a target of 0 is shown; AWRF, AWRF-H and AWRF-TV stay finite)"
    assert scores.notes == (f"KL is infinite, {reason}: one",)
    assert 0.0 < scores.systems[0].scores["AWRF"] < 1.0
    found = value_notes({number: {"KL": value} for number, value in enumerate([np.inf, *[1.0] * 9])}, [KL])
    assert found == [f"KL is infinite on 1 topic: 0, {reason}"]


def test_short_rankings(golden_collection: Collection) -> None:
    full = oracle_run(golden_collection, 1, 0.5).run
    run = changed(full, lambda topic, _, pages: pages[:10] if topic == 101 else pages)
    notes = notes_of(golden_collection, run)
    assert notes == ("rankings with fewer than the 1000 pages that are scored: 1 of 5 (mean 10)",)


def test_pages_of_another_collection(golden_collection: Collection) -> None:
    strange = int(golden_collection.page_ids.max()) + 1
    some = changed(
        oracle_run(golden_collection, 1, 0.5).run, lambda t, r, pages: np.append(pages[:-1], strange).astype(np.int32)
    )
    [note] = notes_of(golden_collection, some)
    assert note == "ranked pages that are not in the collection: 5 of 5,000; they count as unknown"
    other = changed(some, lambda t, r, pages: np.arange(strange, strange + 1000, dtype=np.int32))
    assert any("is this a run of another collection?" in note for note in notes_of(golden_collection, other))


def test_repeated_pages_are_counted_and_values_outside_the_range_flagged(golden_collection: Collection) -> None:
    relevant = {topic.id: topic.rel_docs[0] for topic in golden_collection.topics if len(topic.rel_docs)}
    run = changed(
        oracle_run(golden_collection, 1, 0.5).run, lambda topic, _, pages: np.full(1000, relevant[topic], np.int32)
    )
    notes = notes_of(golden_collection, run, "official-2021", ideal_depth=1)
    assert "pages that appear again in the same ranking: 4,995 of 5,000; each counts every time" in notes
    assert any(note.startswith("nDCG is outside its range (0 to 1) on 5 topics: 101") for note in notes)
    for protocol in ("paper-2021", "official-2022"):
        with pytest.raises(InputError):
            notes_of(golden_collection, run, protocol, longer_ranking="cut")


def test_a_run_for_another_protocol(golden_collection: Collection) -> None:
    run = oracle_run(golden_collection, 1, 0.5, protocol="official-2022").run
    assert "every ranking has 500 pages, as runs for official-2022 have; paper-2021 asks for 1000" in notes_of(
        golden_collection, run
    )


def test_few_topics_and_company(golden_collection: Collection, golden_runs) -> None:
    full = oracle_run(golden_collection, 1, 0.5).run
    run = changed(full, lambda topic, _, pages: pages if topic == 101 else None)
    notes = notes_of(golden_collection, run, missing_topic="skipped")
    assert "only 1 topic: an interval needs at least 5 to say much" in notes
    both = evaluate(golden_collection, golden_runs[:2], "official-2021", n_resamples=9)
    assert both.notes == (
        "intervals depend on which other runs are scored in the same call, as in the published tables",
    )
    assert evaluate(golden_collection, golden_runs[:2], "paper-2021", n_resamples=9).notes == ()


def test_a_run_made_for_another_protocol_is_named_as_such(golden_collection, golden_runs, tmp_path) -> None:
    path = tmp_path / golden_runs[0].name
    path.write_bytes(golden_runs[0].read_bytes())
    path.with_name(f"{path.name}.json").write_text('{"protocol": "paper-2021"}')
    (result,) = evaluate(golden_collection, path, "official-2021").runs
    assert "made for paper-2021, as its record says, and scored with official-2021" in result.notes
    path.with_name(f"{path.name}.json").write_text('{"protocol": "official-2021"}')
    (result,) = evaluate(golden_collection, path, "official-2021").runs
    assert not [note for note in result.notes if "made for" in note]


def test_a_policy_that_serves_no_protocol_is_made_for_none(golden_collection, golden_runs, tmp_path) -> None:
    path = tmp_path / golden_runs[0].name
    path.write_bytes(golden_runs[0].read_bytes())
    path.with_name(f"{path.name}.json").write_text('{"protocol": "paper-2021", "policy": "relevance"}')
    (result,) = evaluate(golden_collection, path, "official-2021").runs
    assert not [note for note in result.notes if "made for" in note]


def test_measures_without_any_value_are_named_together(golden_collection: Collection) -> None:
    """AWRF-OD, GF-NMD and GF-RNOD need ordered groups, DTR and DIR at most ten; a mean of nothing is said."""
    run = oracle_run(golden_collection, 1, 0.5).run
    results = evaluate(golden_collection, run, "paper-2021", measures="all", n_resamples=9)
    [note] = [note for note in results.runs[0].notes if "undefined" in note]
    assert note == "undefined on every topic, so that there is no mean: DTR, DIR, AWRF-OD, GF-NMD, GF-RNOD"
    assert np.isnan(results.runs[0].scores["AWRF-OD"])


def test_a_run_without_a_topic_that_can_be_scored_says_why_and_what_to_do(golden_collection: Collection) -> None:
    run = Run.from_rankings("other", 1, iter([(999, 1, np.array([1, 2, 3], np.int32))]))
    with pytest.raises(
        EvenrankError,
        match=r"^other: nothing to score: topics not in the collection, left out: 999 \(.evenrank run check. says",
    ):
        evaluate(golden_collection, run)
