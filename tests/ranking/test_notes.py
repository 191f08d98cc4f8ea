"""Notes on rankings name topics as people would, by number or by their words, and propose what would help."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import evenrank
from evenrank.core.records import Task
from evenrank.ranking.record import _named


def test_one_topic_and_several() -> None:
    assert _named({58: "80"}) == "in topic 58 (80)"
    assert _named({58: "80", 60: "7"}) == "in topics 58 (80), 60 (7)"


def test_a_query_is_named_by_its_title() -> None:
    assert _named({109: "male 97%"}, {109: "storm rain"}) == 'for "storm rain" (male 97%)'


def test_many_topics_are_counted() -> None:
    text = _named(dict.fromkeys(range(11), "1"))
    assert text.endswith("7 (1) and 3 more")


AFRICAN = ["Northern Africa", "Western Africa", "Eastern Africa"]


def all_in_africa(folder: Path, regions: list[str]) -> tuple[evenrank.Collection, Path]:
    """Thirty pages of one topic, all in Africa, in these regions of it; and a run with all of them."""
    pages = []
    for number in range(1, 31):
        page = {"page_id": number, "quality_score_disc": "C", "geographic_locations": ["Africa"]}
        pages.append({**page, "page_subcont_regions": [regions[number % len(regions)]]} if regions else page)
    topics = [{"id": 1, "title": "Nigerian history", "keywords": [], "rel_docs": list(range(1, 31))}]
    for name, records in (("metadata", pages), ("topics", topics)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (folder / "run.tsv").write_text("id\tpage_id\n" + "".join(f"1\t{number}\n" for number in range(1, 31)))
    files = evenrank.ImportFiles(folder / "metadata.jsonl", eval_topics=(folder / "topics.jsonl",))
    return evenrank.import_collection(folder / "collection", files), folder / "run.tsv"


@pytest.mark.parametrize(
    ("regions", "information", "advised"),
    [
        ([], "geography,gender", "leave geography out of the target (--set information=gender --set scored=gender)"),
        (
            AFRICAN,
            "geography,gender",
            "leave geography out of the target (--set information=gender --set scored=gender), or refine it to "
            "sub-region (--set information=sub-region,gender --set scored=sub-region,gender)",
        ),
        (AFRICAN, "geography", "refine it to sub-region (--set information=sub-region --set scored=sub-region)"),
        (["Western Africa"], "geography", "use the candidates' own shares as the target (--target field)"),
        ([], "geography", "use the candidates' own shares as the target (--target field)"),
    ],
)
def test_only_what_would_help_is_proposed(tmp_path: Path, regions: list[str], information: str, advised: str) -> None:
    """A finer dimension helps if the collection has it, and the topic is in several of its groups."""
    collection, run = all_in_africa(tmp_path, regions)
    ranked = evenrank.rank(collection, 1, candidates=run, settings={"information": information}, workers=1)
    notes = [note for note in ranked.notes if "one group" in note]
    assert notes == [f"most articles whose geography is known are in one group in topic 1 (Africa 100%): {advised}"]


@pytest.mark.parametrize(("task", "measure"), [(1, "AWRF@50"), (2, "EE-L")])
def test_a_precision_that_cannot_be_reached_is_said_with_what_it_costs(
    golden_collection: evenrank.Collection, golden_runs: list[Path], task: Task, measure: str
) -> None:
    """In Task 2 the target was blamed, and keep_relevance=0 proposed, which changed nothing."""
    ranked = evenrank.rank(
        golden_collection,
        task,
        candidates=golden_runs[0],
        topics=[101],
        settings={"min_precision": 1.0, "fairness": 10.0},
        workers=1,
    )
    said = ranked.topics[0].certificate
    assert said["precision_asked"] == 1.0
    most, cost = said["precision_without_fairness"], said[f"{measure}_without_min_precision"]
    assert (
        f"min_precision=1 cannot be reached even without fairness in topic 101 (at most {most:.2f}): "
        "rankings keep at least 98% of what can be reached"
    ) in ranked.notes
    assert (
        f"min_precision made fairness weaker in topic 101 ({measure} {said[measure]:.2f} instead of {cost:.2f})"
        in ranked.notes
    )
    assert not any("the target asks for groups" in note for note in ranked.notes)
