"""Pools and judgments of pages whose ids are text: files have the text, whatever numbers a collection gives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import evenrank
from evenrank.cli.main import cli
from evenrank.errors import EvenrankError, InputError
from evenrank.trec.assessment.assessors import add_assessor, assign_pages, load_pool
from evenrank.trec.assessment.files import (
    IMPORTS,
    export_qrels,
    export_topics,
    export_votes,
    import_qrels,
    judged_topics,
)
from evenrank.trec.assessment.queues import queue
from evenrank.trec.assessment.votes import Store, Vote, cast_vote, create_store, text_ids_of
from tests.own_data import import_news, story, write_news

TIERS = ("1:3",)


@pytest.fixture(scope="module")
def news(tmp_path_factory: pytest.TempPathFactory) -> evenrank.Collection:
    folder = tmp_path_factory.mktemp("news")
    write_news(folder, story, 60)
    return import_news(folder)


@pytest.fixture(scope="module")
def pool(news: evenrank.Collection) -> evenrank.Pool:
    return evenrank.pool(news, evenrank.oracle_run(news, 1, 0.5).run, tiers=TIERS)


def judged(store: Store, pool: evenrank.Pool) -> Store:
    """The store with the pool in it, every page judged: 1 for stories with an even number."""
    load_pool(store, pool, {1: "climate"})
    add_assessor(store, "Ada")
    assign_pages(store, ["Ada"])
    ids = text_ids_of(store)
    assert ids is not None
    for entry in queue(store, "Ada"):
        grade = int(ids.text(entry.page).endswith(tuple("02468")))
        cast_vote(store, Vote(f"{entry.topic}-{entry.page}", entry.topic, entry.page, "Ada", "graded", grade))
    return store


def test_a_pool_file_has_the_text_and_is_read_again(pool: evenrank.Pool, tmp_path: Path) -> None:
    evenrank.write_pool(tmp_path / "pool.jsonl", pool)
    records = [json.loads(line) for line in (tmp_path / "pool.jsonl").read_text("utf-8").splitlines()]
    assert len(records) == 16
    assert all(record["page_id"].startswith("https://news.example/") for record in records[1:])
    again = evenrank.read_pool(tmp_path / "pool.jsonl")
    assert pool.ids is not None
    assert again.with_ids(pool.ids) == pool
    evenrank.write_pool(tmp_path / "again.jsonl", again)
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "pool.jsonl").read_bytes()


def test_later_runs_are_added_to_a_pool_that_was_read(
    news: evenrank.Collection, pool: evenrank.Pool, tmp_path: Path
) -> None:
    evenrank.write_pool(tmp_path / "pool.jsonl", pool)
    other = evenrank.oracle_run(news, 1, 0.9, seed=3, name="other").run
    grown = evenrank.pool(news, other, start=evenrank.read_pool(tmp_path / "pool.jsonl"))
    assert {(entry.topic, entry.page) for entry in pool.pages} < {(entry.topic, entry.page) for entry in grown.pages}
    assert [run.name for run in grown.runs] == sorted([pool.runs[0].name, "other"])


def test_a_mixture_in_a_pool_is_refused_with_its_line(pool: evenrank.Pool, tmp_path: Path) -> None:
    path = tmp_path / "pool.jsonl"
    evenrank.write_pool(path, pool)
    lines = path.read_text("utf-8").splitlines()
    lines[2] = json.dumps({**json.loads(lines[2]), "page_id": 7})
    path.write_text("\n".join(lines), "utf-8")
    with pytest.raises(InputError, match=r"pool.jsonl:3: page_id is 7, a whole number, where others are text"):
        evenrank.read_pool(path)


def test_exports_have_the_text_and_come_back(pool: evenrank.Pool, location: Path | str, tmp_path: Path) -> None:
    with create_store(location) as store:
        judged(store, pool)
        for name, export in (("qrels", export_qrels), ("topics", export_topics), ("votes", export_votes)):
            export(store, tmp_path / name)
    rows = [line.split() for line in (tmp_path / "qrels").read_text("utf-8").splitlines()]
    assert pool.ids is not None
    assert {(int(topic), page) for topic, _, page, _ in rows} == {(e.topic, pool.ids.text(e.page)) for e in pool.pages}
    assert all((page[-1] in "02468") == (grade == "1") for _, _, page, grade in rows)
    assert rows == sorted(rows, key=lambda row: (int(row[0]), row[2]))
    for name in ("qrels", "topics", "votes"):
        with create_store(tmp_path / f"{name}.sqlite") as other:
            assert IMPORTS[name](other, tmp_path / name, "Ada") == len(rows)
            assert IMPORTS[name](other, tmp_path / name, "Ada") == 0
            export_qrels(other, tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == (tmp_path / "qrels").read_bytes(), name


def test_judgments_meet_a_collection_by_text(news: evenrank.Collection, pool: evenrank.Pool, tmp_path: Path) -> None:
    with create_store(tmp_path / "judgments.sqlite") as store:
        import_first = tmp_path / "first"
        import_first.write_text("9 0 elsewhere 1\n", "utf-8")  # the file's numbers are now not the collection's
        import_qrels(store, import_first, "Ben")
        judged(store, pool)
        topics = {topic.id: topic for topic in judged_topics(store, news.text_ids)}
    for topic, found in topics.items():
        pages = {entry.page for entry in pool.pages if entry.topic == topic} or {len(news.page_ids) + 1}
        assert found.assessed_docs is not None
        assert set(found.assessed_docs.tolist()) == pages


def test_ids_of_a_judgments_file_are_of_one_kind(pool: evenrank.Pool, tmp_path: Path) -> None:
    (tmp_path / "numbers").write_text("1 0 5 1\n", "utf-8")
    (tmp_path / "text").write_text("1 0 five 1\n", "utf-8")
    (tmp_path / "mixed").write_text("1 0 five 1\n1 0 6 1\n", "utf-8")
    with create_store(tmp_path / "judgments.sqlite") as store:
        with pytest.raises(InputError, match=r"mixed:1: topic '1' or page 'five' is not a whole number"):
            import_qrels(store, tmp_path / "mixed", "Ada")
        import_qrels(store, tmp_path / "numbers", "Ada")
        with pytest.raises(EvenrankError, match="page ids are numbers, but those to add are text"):
            import_qrels(store, tmp_path / "text", "Ada")
        with pytest.raises(EvenrankError, match="page ids are numbers, but those to add are text"):
            load_pool(store, pool, {})
        with pytest.raises(EvenrankError, match="page ids are numbers, but those of the collection are text"):
            judged_topics(store, pool.ids)


def test_commands_from_runs_to_qrels(news: evenrank.Collection, tmp_path: Path) -> None:
    def run(*words: object) -> str:
        done = CliRunner().invoke(cli, [str(word) for word in words])
        assert done.exit_code == 0, done.output
        return done.output

    runs = [tmp_path / "a.tsv", tmp_path / "b.tsv"]
    for seed, path in enumerate(runs):
        evenrank.write_run(evenrank.oracle_run(news, 1, 0.5, seed=seed).run, path)
    pool, store, qrels = tmp_path / "pool.jsonl", tmp_path / "judgments.sqlite", tmp_path / "qrels"
    run("pool", "build", news.path, *runs, "-o", pool, "--tier", "1:4", "--despite", "short")
    assert "hours" in run("pool", "stats", pool)
    run("judgments", "create", store, "--pool", pool)
    lines = [f"1 0 {story(number)} {number % 2}" for number in range(1, 7)]
    (tmp_path / "ada").write_text("\n".join(lines), "utf-8")
    (tmp_path / "ben").write_text("\n".join(f"1 0 {story(number)} 1" for number in range(1, 7)), "utf-8")
    for name in ("ada", "ben"):
        run("judgments", "import", store, tmp_path / name, "--assessor", name)
    assert f"{story(2)}  open" in run("judgments", "agreement", store)
    shown = json.loads(run("judgments", "agreement", store, "--format", "json"))
    assert {entry["page"] for entry in shown["disagreements"]} == {story(number) for number in (2, 4, 6)}
    assert shown["disagreements"][0]["votes"][0]["page"] in {story(number) for number in (2, 4, 6)}
    run("judgments", "export", store, "-o", qrels)
    assert qrels.read_text("utf-8").splitlines() == sorted(f"1 0 {story(number)} 1" for number in (1, 3, 5))
    assert "judged@5" in run("pool", "judged", news.path, *runs, "--judgments", store)
    assert "rank without" in run("pool", "leave-one-out", news.path, pool, *runs, "--groups", "outlet")
