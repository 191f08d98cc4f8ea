"""Topics from three kinds of source: page lists, classes, scope, keywords, split; imported, indexed, ranked, scored."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import evenrank
from evenrank.cli.main import cli
from evenrank.core.records import Topic
from evenrank.errors import EvenrankError, InputError
from evenrank.io.topics import read_topics
from evenrank.wikipedia.topics.make import FILES, MadeTopics, TopicSettings, choose_projects, make_topics
from evenrank.wikipedia.topics.projects import PageList, Project, make_project
from tests.wikipedia.topics.small_wiki import THEMES, SmallWiki, write_wiki

LTGWIKI = Path(__file__).resolve().parents[4] / "shared/data/ltgwiki/ltgwiki-201709-pages-articles.xml.bz2"
SETTINGS = TopicSettings(recent=1.0)


@pytest.fixture(scope="module")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> SmallWiki:
    return write_wiki(tmp_path_factory.mktemp("wiki"))


def from_sql(wiki: SmallWiki, output: Path, settings: TopicSettings = SETTINGS) -> MadeTopics:
    return make_topics(
        output, corpus=wiki.dump, page_assessments=wiki.page_assessments, projects=wiki.projects, settings=settings
    )


def by_title(topics: tuple[Topic, ...]) -> dict[str, Topic]:
    return {topic.title: topic for topic in topics}


def test_page_assessments(wiki: SmallWiki, tmp_path: Path) -> None:
    made = from_sql(wiki, tmp_path / "topics")
    topics = by_title(made.topics)
    assert {title: topic.rel_docs.tolist() for title, topic in topics.items()} == wiki.pages_of
    assert topics["Chess"].scope == "This project covers chess of all kinds."
    assert topics["Chess"].homepage == "https://small.example.org/wiki/Wikipedia:WikiProject_Chess"
    for title, theme in THEMES.items():
        assert set(theme.split()) <= set(topics[title].keywords), title
    assert made.counts == {"projects": 9, "large": 8, "active": 8, "overlapping": 0, "chosen": 8}
    assert len(made.notes) == 1
    assert (
        "small-page_assessments.sql.gz:15: project 77, which small-page_assessments_projects.sql does not"
        in made.notes[0]
    )
    lists = [line.split("\t") for line in (tmp_path / "topics" / FILES[3]).read_text().splitlines()[1:]]
    first = next(line for line in lists if line[1] == str(wiki.pages_of["Chess"][1]))
    assert first[2:] == ["Start", "High"]


def test_banners_and_assessments_agree(wiki: SmallWiki, tmp_path: Path) -> None:
    by_sql = from_sql(wiki, tmp_path / "sql")
    by_banner = make_topics(tmp_path / "banners", corpus=wiki.dump, source="banners", settings=SETTINGS)
    assert by_title(by_banner.topics) == by_title(by_sql.topics)
    assert (tmp_path / "banners" / FILES[3]).read_bytes() == (tmp_path / "sql" / FILES[3]).read_bytes()


def test_categories(wiki: SmallWiki, tmp_path: Path) -> None:
    made = make_topics(tmp_path / "topics", corpus=wiki.dump, source="categories", settings=SETTINGS)
    topics = by_title(made.topics)
    assert {title: topic.rel_docs.tolist() for title, topic in topics.items()} == wiki.pages_of
    assert topics["Chess"].scope == "Articles about chess."
    assert topics["Chess"].homepage.endswith("/Category:Chess")


def test_files_are_the_official_ones(wiki: SmallWiki, tmp_path: Path) -> None:
    made = from_sql(wiki, tmp_path / "topics", replace(SETTINGS, held_out=0.25))
    training = read_topics(tmp_path / "topics" / FILES[0], "train")
    held = read_topics(tmp_path / "topics" / FILES[2], "eval")
    assert [topic.id for topic in training] == [1, 2, 3, 4, 5, 6]
    assert [topic.id for topic in held] == [101, 102]
    assert sorted([*training, *held], key=lambda t: t.id) == sorted(made.topics, key=lambda t: t.id)
    bare = read_topics(tmp_path / "topics" / FILES[1], "eval")
    assert all(not len(topic.rel_docs) and not topic.homepage and topic.keywords for topic in bare)
    record = json.loads((tmp_path / "topics" / FILES[4]).read_text())
    assert "Monroe" in record["keywords"]
    assert record["settings"]["held_out"] == 0.25
    assert [file["name"] for file in record["files"]] == [
        wiki.dump.name,
        wiki.page_assessments.name,
        wiki.projects.name,
    ]


def test_same_seed_same_bytes_other_seed_other_split(wiki: SmallWiki, tmp_path: Path) -> None:
    for name in ("one", "two"):
        from_sql(wiki, tmp_path / name)
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes(), name
    held = [
        frozenset(
            topic.title
            for topic in from_sql(wiki, tmp_path / "seed", replace(SETTINGS, seed=seed)).topics
            if topic.split == "eval"
        )
        for seed in range(4)
    ]
    assert all(len(titles) == 4 for titles in held)
    assert len(set(held)) > 1


def project(title: str, pages: range, newest: int = 0) -> Project:
    listed = PageList()
    for at, page in enumerate(pages):
        listed.add(page, 1000 + at if at < newest else at)
    return make_project(title, title, listed)


def test_active_projects_come_first_and_parts_of_others_are_left_out() -> None:
    projects = [
        project("quiet", range(1, 41)),
        project("active", range(101, 141), 8),
        project("busiest", range(201, 241), 12),
        project("part", range(201, 231), 4),
        project("small", range(301, 306), 5),
    ]
    kept, counts = choose_projects(projects, TopicSettings(recent=0.15))
    assert [one.title for one in kept] == ["busiest", "active"]
    assert counts == {"projects": 5, "large": 4, "active": 3, "overlapping": 1, "chosen": 2}
    kept, _ = choose_projects(projects, TopicSettings(recent=0.15, max_overlap=1.0, n_topics=3))
    assert [one.title for one in kept] == ["busiest", "active", "part"]
    with pytest.raises(EvenrankError, match="no topic: of 5 projects 0 have 500 pages"):
        choose_projects(projects, TopicSettings(min_pages=500))
    with pytest.raises(EvenrankError, match="no project of the title nothing"):
        choose_projects(projects, TopicSettings(only=("nothing",)))


def test_all_faults_of_both_tables_with_file_and_line(wiki: SmallWiki, tmp_path: Path) -> None:
    assessments, projects = tmp_path / "pa.sql", tmp_path / "pap.sql"
    assessments.write_text(
        "INSERT INTO `page_assessments` VALUES (1,1,'B','Top',5),(0,1,'B','Top',5);\n"
        "INSERT INTO `page_assessments` VALUES (2,7,'B','Top',5);\n"
        "INSERT INTO `page_assessments` VALUES (2,1,'B','Top',NULL);\n"
    )
    projects.write_text("INSERT INTO `page_assessments_projects` VALUES (1,'Chess',NULL),(2,'',NULL);\n")
    with pytest.raises(InputError) as error:
        make_topics(tmp_path / "out", corpus=wiki.dump, page_assessments=assessments, projects=projects)
    places = [(Path(fault.path).name, fault.line) for fault in error.value.faults]
    assert sorted(places) == [("pa.sql", 1), ("pa.sql", 2), ("pa.sql", 3), ("pap.sql", 1)]
    assert not (tmp_path / "out").exists()


def test_a_dump_that_is_cut_off_makes_nothing(wiki: SmallWiki, tmp_path: Path) -> None:
    import gzip

    packed = gzip.compress(wiki.dump.read_bytes())
    cut = tmp_path / "cut.xml.gz"
    cut.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match="cut"):
        make_topics(tmp_path / "out", corpus=cut, source="banners")
    assert not (tmp_path / "out").exists()


def test_a_folder_of_something_else_is_not_replaced(wiki: SmallWiki, tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "letter.txt").write_text("Dear …")
    with pytest.raises(InputError, match="holds something else"):
        from_sql(wiki, tmp_path / "letters")
    assert [path.name for path in (tmp_path / "letters").iterdir()] == ["letter.txt"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--banners", "--categories", "--corpus", "DUMP"], "choose one of"),
        (["--page-assessments", "SQL", "--corpus", "DUMP"], "belong together"),
        (["--banners"], "no corpus"),
        (["--corpus", "DUMP"], "no page_assessments"),
        (["--banners", "--corpus", "missing.xml"], "missing.xml: no such file"),
        (["--banners", "--corpus", "DUMP", "--min-pages", "99"], "no topic: of 8 projects 0 have 99 pages"),
        (["--api", "ftp://x"], "not the address of an api.php"),
        (["--api", "https://example.org/w/api.php"], "whom to write to"),
    ],
)
def test_requests_that_cannot_be_met(wiki: SmallWiki, tmp_path: Path, arguments: list[str], said: str) -> None:
    names = {"DUMP": str(wiki.dump), "SQL": str(wiki.page_assessments)}
    given = [names.get(argument, argument) for argument in arguments]
    result = CliRunner().invoke(cli, ["topics", "make", str(tmp_path / "out"), *given])
    assert result.exit_code != 0
    assert said in f"{result.output}{result.exception}"
    assert not (tmp_path / "out").exists()


def chain(folder: Path, dump: Path, made: MadeTopics) -> float:
    """Mean nDCG@10 of the order by relevance on the held-out topics, in a collection made for the topics."""
    metadata = folder / "metadata.json.gz"
    evenrank.annotate(metadata, dump)
    files = evenrank.ImportFiles(
        metadata=metadata, topics=made.path / FILES[0], eval_topics=(made.path / FILES[2],), corpus=dump
    )
    collection = evenrank.import_collection(folder / "collection", files)
    assert len(collection.topics) == len(made.topics)
    evenrank.build_index(collection)
    settings = {"information": "first-letter", "scored": "first-letter"}
    ranked = evenrank.rank(collection, 1, "relevance", settings=settings, target="field")
    scores = evenrank.evaluate(collection, ranked.run, groups="first-letter", measures="nDCG@10")
    assert len(scores.runs[0].topics) == sum(topic.split == "eval" for topic in made.topics)
    return float(np.mean([topic["nDCG@10"] for topic in scores.runs[0].topics.values()]))


@pytest.mark.parametrize("kind", ["assessments", "banners", "categories"])
def test_topics_are_imported_indexed_ranked_and_scored(wiki: SmallWiki, tmp_path: Path, kind: str) -> None:
    if kind == "categories":
        if not LTGWIKI.is_file():
            pytest.skip("the dump of the Latgalian Wikipedia is not here")
        settings = TopicSettings(depth=1, n_topics=10, min_pages=12)
        dump, made = LTGWIKI, make_topics(tmp_path / "topics", corpus=LTGWIKI, source="categories", settings=settings)
    elif kind == "banners":
        dump, made = wiki.dump, make_topics(tmp_path / "topics", corpus=wiki.dump, source="banners", settings=SETTINGS)
    else:
        dump, made = wiki.dump, from_sql(wiki, tmp_path / "topics")
    assert chain(tmp_path, dump, made) > 0.6
