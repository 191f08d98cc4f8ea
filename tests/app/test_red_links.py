"""Red links by themselves: from the dumps by `annotate` and `collection import` to a list, no file of an operator."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

sys.path.insert(0, str(Path(__file__).parents[1] / "wikipedia/annotate"))

from wikidata_sample import entity, statement

from evenrank.app.articles.titles import FoundSubject
from evenrank.app.lists.red_links import find_red_links, wiki_address, wikipedia_language
from evenrank.app.lists.work_list import load_list
from evenrank.app.state import AppState, open_state
from evenrank.cli.main import cli
from evenrank.io.subjects import MissingSubject, read_missing_subjects, subjects_beside
from tests.app.conftest import UNLIMITED, client_of, posted

HUMAN, FEMALE, MALE = statement("P31", 5), statement("P21", 6581072), statement("P21", 6581097)
FRANCE, INDIA, KENYA = 142, 668, 114
CHEMISTS = {"title": "Chemists", "keywords": "chemist", "fairness": "3", "best": "FA", "goal": "world"}
N_EACH = 30


def subjects() -> list[dict[str, Any]]:
    """People with an article elsewhere and none here: most of them French men, whom most wikis have."""
    made = []
    for number in range(N_EACH):
        for place, (country, gender, n_wikis) in enumerate(((FRANCE, MALE, 9), (INDIA, FEMALE, 3), (KENYA, FEMALE, 2))):
            sites = ("dewiki", "frwiki", "eswiki", "ruwiki", "jawiki", "plwiki", "svwiki", "nowiki", "zh_yuewiki")
            label = f"Person {number:02} of {country}"
            one = entity(
                7000 + 10 * number + place,
                HUMAN,
                gender,
                statement("P27", country),
                title=None,
                others=sites[:n_wikis],
                label=label,
            )
            one["descriptions"]["en"]["value"] = "chemist"
            made.append(one)
    return made


def wikidata() -> bytes:
    countries = [entity(number, statement("P31", 3624078)) for number in (FRANCE, INDIA, KENYA)]
    here = [
        entity(100 + number, HUMAN, statement("P27", (FRANCE, INDIA, KENYA)[number % 3]), title=f"Chemist {number}")
        for number in range(1, 13)
    ]
    lines = [json.dumps(one, separators=(",", ":")).encode() for one in (*countries, *here, *subjects())]
    return b"[\n" + b",\n".join(lines) + b"\n]\n"


def dump() -> str:
    pages = "".join(
        f"<page><title>Chemist {n}</title><ns>0</ns><id>{n}</id><revision><id>{n}</id>"
        f"<text xml:space=\"preserve\">'''Chemist {n}''' was a chemist. [[Chemist]]</text></revision></page>\n"
        for n in range(1, 13)
    )
    head = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xml:lang="en">'
    site = (
        '<siteinfo><base>https://en.wikipedia.org/wiki/Main_Page</base><namespaces><namespace key="0" /></namespaces>'
    )
    return f"{head}\n{site}</siteinfo>\n{pages}</mediawiki>\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection of the dumps, by the commands that an operator gives."""
    made = tmp_path_factory.mktemp("red-links")
    (made / "pages.xml").write_text(dump())
    (made / "wikidata.json").write_bytes(wikidata())
    metadata, collection = made / "metadata.json.gz", made / "collection"
    for words in (
        ["annotate", metadata, "--dump", made / "pages.xml", "--wikidata", made / "wikidata.json", "--workers", 1],
        ["collection", "import", collection, "--metadata", metadata, "--corpus", made / "pages.xml"],
        ["index", collection],
    ):
        result = CliRunner().invoke(cli, [str(word) for word in words])
        assert result.exit_code == 0, (words, result.output, result.exception)
    return made


@pytest.fixture
def state(folder: Path, tmp_path: Path) -> Iterator[AppState]:
    opened = open_state(folder / "collection", replace(UNLIMITED, store=tmp_path / "desk.sqlite"))
    yield opened
    opened.close()


@pytest.fixture
def client(state: AppState) -> TestClient:
    return client_of(state)


def red_links(client: TestClient, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"{path}/missing.json").json()["subjects"]
    return found


def test_annotate_writes_groups_and_articles_of_subjects(folder: Path) -> None:
    found = read_missing_subjects(subjects_beside(folder / "metadata.json.gz"))
    assert len(found) == 3 * N_EACH
    [kenyan] = [one for one in found if one.label == "Person 00 of 114"]
    assert kenyan.articles == {"dewiki": "Person 00 of 114", "frwiki": "Person 00 of 114"}
    assert kenyan.fields["geographic_locations"] == ["Africa"]
    assert kenyan.fields["gender"] == ["female"]
    again = folder / "again.json.gz"
    words = ["annotate", again, "--dump", folder / "pages.xml", "--wikidata", folder / "wikidata.json"]
    assert CliRunner().invoke(cli, [str(word) for word in (*words, "--no-gender")]).exit_code == 0
    assert b"gender" not in gzip.decompress(subjects_beside(again).read_bytes())
    again.unlink()
    subjects_beside(again).unlink()
    assert CliRunner().invoke(cli, [str(word) for word in (*words, "--no-subjects")]).exit_code == 0
    assert not subjects_beside(again).exists()


def test_a_list_has_red_links_without_any_file_of_an_operator(state: AppState, client: TestClient) -> None:
    assert state.settings.subjects is None
    path = posted(client, "/lists", CHEMISTS)
    assert f'href="{path}/missing"' in client.get(path).text
    html = client.get(f"{path}/missing").text
    assert "https://de.wikipedia.org/wiki/Person_00_of_142" in html
    assert "https://zh-yue.wikipedia.org/wiki/Person_00_of_142" in html
    assert "https://www.wikidata.org/wiki/Q7000" in html
    assert 'data-label="Region">Europe' in html
    assert "of the goal; plain search" in html
    for word in ("female", "women", ">male", " men<"):
        assert word not in html.split("<table", 1)[1]
    first = red_links(client, path)[0]
    assert set(first) == {"rank", "item", "label", "description", "regions", "wikis", "matched_words", "articles"}


def test_red_links_are_fair_by_the_goal_of_their_list(state: AppState, client: TestClient) -> None:
    """By words and wikis alone, the first thirty are all French; a strong goal of the world brings the others up."""
    plain = posted(client, "/lists", {**CHEMISTS, "fairness": "0"})
    fair = posted(client, "/lists", CHEMISTS)

    def n_european(path: str) -> int:
        return sum(one["regions"] == ["Europe"] for one in red_links(client, path)[:N_EACH])

    assert n_european(plain) == N_EACH
    assert n_european(fair) < N_EACH / 2
    work_list = load_list(state.store, fair.rpartition("/")[2])
    assert work_list is not None
    found = find_red_links(state, work_list)
    assert found.closeness is not None
    assert found.plain is not None
    assert (found.closeness.value or 0) > (found.plain.value or 0)
    assert [one.rank for one in found.links] == list(range(1, 3 * N_EACH + 1))
    assert red_links(client, fair) == red_links(client_of(state), fair)


def test_only_subjects_in_the_groups_that_the_list_is_limited_to(client: TestClient) -> None:
    path = posted(client, "/lists", {**CHEMISTS, "within-geography": "Africa"})
    assert {tuple(one["regions"]) for one in red_links(client, path)} == {("Africa",)}


def test_exports(client: TestClient) -> None:
    path = posted(client, "/lists", CHEMISTS)
    links = red_links(client, path)
    rows = list(csv.DictReader(io.StringIO(client.get(f"{path}/missing.csv").text)))
    assert [row["item"] for row in rows] == [one["item"] for one in links]
    assert rows[0]["articles"].split() == [one["url"] for one in links[0]["articles"]]
    wikitext = client.get(f"{path}/missing.wiki").text
    assert wikitext.count("\n* ") == len(links) - 1
    title = links[0]["articles"][0]["title"]
    assert f"[[:de:{title}|de]]" in wikitext
    assert client.get(f"{path}/missing.exe").status_code == 404
    reader = client.get(f"{path}.json").json()["address"].removeprefix("http://localhost").removesuffix("/refresh")
    assert red_links(client, reader) == links


def test_hostile_titles_stay_text(state: AppState, tmp_path: Path) -> None:
    bad = {"articles": {"dewiki": "A]] {{x}} <b>", "frwiki": "Ok"}, "geographic_locations": ["Atlantis"], "gender": 7}
    line = MissingSubject("Q1", "=chemist <i>", "chemist", 2, json.dumps(bad).encode()).to_json()
    path = tmp_path / "subjects.jsonl"
    path.write_bytes(line)
    client = client_of(replace(state, settings=replace(state.settings, subjects=path)))
    made = posted(client, "/lists", CHEMISTS)
    html = client.get(f"{made}/missing").text
    assert "=chemist &lt;i&gt;" in html
    assert "https://de.wikipedia.org/wiki/A%5D%5D_%7B%7Bx%7D%7D_%3Cb%3E" in html
    assert "[[:fr:Ok|fr]]" in client.get(f"{made}/missing.wiki").text
    assert "{{x}}" not in client.get(f"{made}/missing.wiki").text
    assert "'=chemist" in client.get(f"{made}/missing.csv").text
    assert "The groups of these subjects are not known" in html


def test_languages_of_wikis() -> None:
    assert [wikipedia_language(site) for site in ("dewiki", "zh_min_nanwiki", "be_x_oldwiki")] == [
        "de",
        "zh-min-nan",
        "be-tarask",
    ]
    assert wiki_address("frwiki", "Été à Paris?") == "https://fr.wikipedia.org/wiki/%C3%89t%C3%A9_%C3%A0_Paris%3F"


def test_articles_of_subjects_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "subjects.jsonl"
    path.write_text('{"item": "Q1", "label": "One", "articles": ["de"]}\n{"item": "Q2", "label": "Two", "other": 1}\n')
    with pytest.raises(Exception, match="'articles' is no object of titles by wiki"):
        read_missing_subjects(path)
    path.write_text('{"item": "Q2", "label": "Two", "other": 1}\n')
    [found] = read_missing_subjects(path)
    assert found.fields == {"other": 1}
    assert json.loads(found.to_json()) == {"item": "Q2", "label": "Two", "description": "", "wikis": 0, "other": 1}


def test_found_subjects_are_few_at_a_time(state: AppState) -> None:
    assert state.subjects is not None
    found = state.subjects.find(load_topic(), state.title_index)
    assert isinstance(found[0], FoundSubject)
    assert len(found) == 3 * N_EACH
    assert np.all(np.diff([entry.subject.n_wikis for entry in found]) <= 0)


def load_topic() -> Any:
    from evenrank.core.records import Topic

    return Topic(0, "Chemists", ("chemist",))
