"""Page ids that are text: the same numbers come out as with numbers for ids, and files have the text."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import evenrank
from evenrank.core.text_ids import TextIds, check_text_id
from evenrank.errors import EvenrankError, InputError
from evenrank.interop.ir_datasets_reader import CollectionDataset
from evenrank.scoring.run_check import check_run
from tests.own_data import import_news, story, write_news


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[evenrank.Collection, evenrank.Collection]:
    """The same news twice: with numbers and with text for ids."""
    made = []
    for name, page_id in (("numbers", int), ("text", story)):
        folder = tmp_path_factory.mktemp(name)
        write_news(folder, page_id, 200)
        made.append(import_news(folder))
    return made[0], made[1]


def pages_in(path: Path) -> list[str]:
    return [line.split("\t")[-1] for line in gzip.decompress(path.read_bytes()).decode().splitlines()]


@pytest.mark.parametrize("task", [1, 2])
def test_rankings_and_scores_are_those_of_numbers(
    task: int, both: tuple[evenrank.Collection, evenrank.Collection], tmp_path: Path
) -> None:
    written = []
    scores = []
    for name, collection in zip(("numbers", "text"), both, strict=True):
        ranked = evenrank.rank(collection, task, "optimal", workers=1, name="fair")
        path = ranked.write(tmp_path / f"{name}.gz")
        written.append(pages_in(path))
        scores.append(evenrank.evaluate(collection, path).runs[0].scores)
        assert check_run(collection, path).faults[0].found.startswith("topic 1")  # too short, nothing else
        assert not [fault for fault in check_run(collection, path).faults if "metadata" in fault.found]
    assert written[1] == [story(int(page)) for page in written[0]]
    assert scores[0] == scores[1]


def test_search_and_show_have_the_text(both: tuple[evenrank.Collection, evenrank.Collection]) -> None:
    numbers, text = both
    found = [evenrank.search(collection, "heat storm", k=5).page_ids for collection in both]
    assert found[1] == [story(int(page)) for page in found[0]]
    run = evenrank.oracle_run(text, 1, 0.5).run
    assert evenrank.show_run(text, run)[0].pages[0].page_id == text.shown_id(int(run.pages[0]))
    assert str(evenrank.show_run(numbers, evenrank.oracle_run(numbers, 1, 0.5).run)[0].pages[0].page_id).isdigit()


def test_a_run_of_strings_converts_and_comes_back(
    both: tuple[evenrank.Collection, evenrank.Collection], tmp_path: Path
) -> None:
    from click.testing import CliRunner

    from evenrank.cli.main import cli

    run = evenrank.oracle_run(both[1], 1, 0.5).run
    first, trec, again = (tmp_path / name for name in ("a.tsv", "a.trec", "b.tsv"))
    evenrank.write_run(run, first)
    for source, target in ((first, trec), (trec, again)):
        done = CliRunner().invoke(cli, ["run", "convert", str(source), str(target)])
        assert done.exit_code == 0, done.output
    assert again.read_bytes() == first.read_bytes()
    assert story(1) in trec.read_text("utf-8") or story(2) in trec.read_text("utf-8")


def test_runs_made_elsewhere_are_matched_by_their_text(
    both: tuple[evenrank.Collection, evenrank.Collection], tmp_path: Path
) -> None:
    numbers, text = both
    run = evenrank.oracle_run(text, 1, 0.5).run
    path = tmp_path / "run.tsv"
    evenrank.write_run(run, path)
    elsewhere = evenrank.read_run(path, TextIds(["another", "table"]))
    frame = evenrank.run_to_frame(run)
    from_frame = evenrank.run_from_frame(frame, run.name, text.text_ids)
    expected = evenrank.evaluate(text, run).runs[0].topics
    for other in (elsewhere, from_frame):
        assert evenrank.evaluate(text, other).runs[0].topics == expected
    with pytest.raises(EvenrankError, match=r"page ids are text, but those of .* are whole numbers"):
        evenrank.evaluate(numbers, run)
    with pytest.raises(EvenrankError, match=r"page ids are whole numbers, but those of .* are text"):
        evenrank.evaluate(text, evenrank.oracle_run(numbers, 1, 0.5).run)


def test_pages_that_the_collection_does_not_know(
    both: tuple[evenrank.Collection, evenrank.Collection], tmp_path: Path
) -> None:
    path = tmp_path / "run.tsv"
    path.write_text(f"1\t{story(1)}\n1\tnobody-knows-it\n1\t{story(1)}\n", "utf-8")
    faults = [str(fault) for fault in check_run(both[1], path).faults]
    assert any("run.tsv:2: page nobody-knows-it has no metadata" in fault for fault in faults)
    assert any(f"run.tsv:3: page {story(1)} appears twice" in fault for fault in faults)


def test_ir_datasets_and_qrels_have_the_text(both: tuple[evenrank.Collection, evenrank.Collection]) -> None:
    dataset = CollectionDataset(both[1])
    assert next(dataset.docs_iter()).doc_id == story(1)
    relevant = {story(page) for page in both[0].topics[0].rel_docs.tolist()}
    assert {qrel.doc_id for qrel in dataset.qrels_iter() if qrel.query_id == "1"} == relevant
    frame = evenrank.qrels_frame(both[1])
    assert set(frame[frame["qid"] == "1"]["docno"]) == relevant


def test_judged_pages_are_not_numbered_before_others(both: tuple[evenrank.Collection, evenrank.Collection]) -> None:
    """Equal scores are ranked by number, so numbers must not say what is relevant."""
    assert both[1].page_ids.tolist() == list(range(1, 201))
    np.testing.assert_array_equal(both[1].topics[0].rel_docs, both[0].topics[0].rel_docs)


def test_ids_keep_their_numbers_when_imported_anew(tmp_path: Path) -> None:
    """Saved lists know pages by number: another order of the file, or fewer stories, change none."""
    write_news(tmp_path, story, 20)
    before = import_news(tmp_path).text_ids
    path = tmp_path / "metadata.jsonl"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    new = '{"page_id": "the-new-one", "publisher": "public", "qual_cat": "Stub"}\n'
    path.write_text("".join([new, *reversed(lines[3:])]), "utf-8")
    after = import_news(tmp_path)
    assert before is not None
    assert after.text_ids is not None
    assert [after.text_ids.find(story(number)) for number in range(1, 21)] == list(range(1, 21))
    assert after.text_ids.find("the-new-one") == 21
    assert after.page_ids.tolist() == [*range(4, 22)]
    assert evenrank.search(after, "heat storm", k=3).page_ids[0] in [story(number) for number in range(4, 21)]


@pytest.mark.parametrize(
    ("name", "line", "record", "message"),
    [
        ("metadata", 4, {"page_id": 7}, "page_id is 7, a whole number, where others are text"),
        ("metadata", 2, {"page_id": "two words"}, "page_id 'two words' has a blank or a control character"),
        ("metadata", 3, {"page_id": ""}, "page_id is '', not text"),
        ("topics", 2, {"id": 9, "title": "x", "rel_docs": ["a", 7]}, "a page of rel_docs is 7, a whole number"),
    ],
)
def test_mixtures_are_refused_with_their_line(
    name: str, line: int, record: dict[str, object], message: str, tmp_path: Path
) -> None:
    write_news(tmp_path, story, 10)
    path = tmp_path / f"{name}.jsonl"
    lines = path.read_text("utf-8").splitlines()
    lines[line - 1] = json.dumps(record)
    path.write_text("\n".join(lines), "utf-8")
    with pytest.raises(InputError) as caught:
        import_news(tmp_path)
    assert f"{name}.jsonl:{line}: {message}" in str(caught.value)
    assert not (tmp_path / "news").exists()


def test_text_among_numbers_is_refused_with_its_line(tmp_path: Path) -> None:
    write_news(tmp_path, int, 10)
    path = tmp_path / "metadata.jsonl"
    path.write_text(path.read_text("utf-8") + '{"page_id": "a7"}\n', "utf-8")
    with pytest.raises(InputError, match=r"metadata.jsonl:11: page_id is 'a7', not a whole number"):
        import_news(tmp_path)


def test_qrels_of_text(tmp_path: Path) -> None:
    write_news(tmp_path, story, 20)
    qrels = tmp_path / "qrels.txt"
    qrels.write_text(f"1 0 {story(3)} 1\n1 0 not-in-metadata 1\n1 0 {story(4)} 0\n", "utf-8")
    files = evenrank.ImportFiles(tmp_path / "metadata.jsonl", qrels=(qrels,))
    collection = evenrank.import_collection(tmp_path / "news", files)
    (topic,) = evenrank.Collection.open(collection.path).topics
    assert [collection.shown_id(page) for page in topic.rel_docs.tolist()] == [story(3), "not-in-metadata"]
    assert collection.rows_of(topic.rel_docs).tolist() == [2, -1]


@pytest.mark.parametrize("value", [None, 1.5, True, ["a"], "a\tb", "a\u2028b", "x" * 1001])
def test_what_is_no_text_id(value: object) -> None:
    with pytest.raises(ValueError, match="page_id"):
        check_text_id(value)
