"""A subject that is in no file: its record names it, and what is made of its run has that name."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import evenrank
from evenrank.cli.main import cli
from evenrank.trec.collection import choose_topics
from tests.own_data import import_news, write_news


@pytest.fixture(scope="module")
def news(tmp_path_factory: pytest.TempPathFactory) -> evenrank.Collection:
    folder = tmp_path_factory.mktemp("news")
    write_news(folder, int, 60)
    return import_news(folder)


@pytest.mark.parametrize(("words", "title"), [([], "storm rain"), (["--title", "Bad weather"], "Bad weather")])
def test_the_title_of_a_query_is_that_of_its_list(
    words: list[str], title: str, news: evenrank.Collection, tmp_path: Path
) -> None:
    def run(*given: object) -> str:
        done = CliRunner().invoke(cli, [str(word) for word in given])
        assert done.exit_code == 0, done.output
        return done.output

    path = tmp_path / "a-file-name.gz"
    said = run("rank", news.path, "--task", 1, "--query", "storm rain", *words, "-o", path)
    assert f'a-file-name.gz: optimal on "{title}", which is topic 6 of the run' in said
    assert f'fewer candidates than the 1000 pages of a ranking for "{title}" (' in said
    assert run("run", "show", news.path, path).startswith(f"{title}: ")
    unjudged = CliRunner().invoke(cli, ["evaluate", str(news.path), str(path)])
    assert f'nothing to score: the query "{title}" has no judgments' in str(unjudged.exception)
    printed = run("publish", news.path, path, "--print", "--rows", 3)
    assert f"'''{title}'''" in printed
    assert "a-file-name" not in printed
    assert evenrank.read_run(path).titles == {6: title}


def test_a_query_that_finds_nothing_writes_nothing(news: evenrank.Collection, tmp_path: Path) -> None:
    done = CliRunner().invoke(
        cli, ["rank", str(news.path), "--task", "1", "--query", "zzzz", "-o", str(tmp_path / "x.gz")]
    )
    assert "nothing found for 'zzzz'" in str(done.exception)
    assert list(tmp_path.iterdir()) == []


def test_a_record_that_makes_no_sense_gives_no_titles(tmp_path: Path) -> None:
    path = tmp_path / "run.tsv"
    path.write_text("1\t5\n")
    for content in ("[]", "{", '{"subjects": 3}', '{"subjects": [1, {"topic": "x", "title": 4}]}', '{"protocol": 3}'):
        (tmp_path / "run.tsv.json").write_text(content)
        run = evenrank.read_run(path)
        assert (run.titles, run.made_for) == ({}, None)


def test_topics_that_a_collection_lacks_are_named_with_those_it_has(news: evenrank.Collection) -> None:
    with pytest.raises(
        evenrank.EvenrankError, match=r"no topics of 'train' \(choose others with --topics; it has: eval\)"
    ):
        choose_topics(news, ("train",))
