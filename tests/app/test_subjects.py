"""Red links: subjects without an article here, found by the keywords of a list, from the files that people have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from evenrank.app.articles.titles import MissingSubject, read_subjects
from evenrank.app.state import AppState
from evenrank.core.records import Topic
from evenrank.errors import InputError
from tests.app.conftest import client_of, posted
from tests.desk_collections import QUESTION

TABLE = """item,itemLabel,description,sitelinks
http://www.wikidata.org/entity/Q11,Vera of Chess,Georgian chess grandmaster,12
Q12,Pawns of Lima,<b>chess club</b>,3
Q13,A river,river in Asia,40
Q14,{title},chess player,9
Q15,Tricky ]] [[Title,chess,1
"""


@pytest.fixture
def subjects(state: AppState, tmp_path: Path) -> Path:
    path = tmp_path / "subjects.csv"
    path.write_text(
        TABLE.format(title=f'"{state.collection.titles_of(state.collection.page_ids[:1].tolist())[0]}"'), "utf-8"
    )
    return path


def test_a_list_has_its_red_links(state: AppState, client: TestClient, subjects: Path, list_path: str) -> None:
    assert client.get(f"{list_path}/missing").status_code == 404
    assert "Missing articles" not in client.get(list_path).text
    knowing = client_of(replace(state, settings=replace(state.settings, subjects=subjects)))
    path = posted(knowing, "/lists", QUESTION)
    assert "Missing articles" in knowing.get(path).text
    html = knowing.get(f"{path}/missing").text
    assert html.index("Vera of Chess") < html.index("Pawns of Lima") < html.index("Tricky ]]")
    assert "A river" not in html
    assert "&lt;b&gt;chess club&lt;/b&gt;" in html
    assert "Q14" not in html  # it has an article here
    assert "* [[:Vera of Chess]] ([[d:Q11|Q11]])" in html
    assert "* Tricky &amp;#93;&amp;#93; &amp;#91;&amp;#91;Title ([[d:Q15|Q15]])" in html


def test_words_are_found_whatever_their_ending(subjects: Path, state: AppState) -> None:
    found = read_subjects(subjects).find(Topic(0, "Rivers", ("rivers",)), state.title_index)
    assert [entry.subject for entry in found] == [MissingSubject("Q13", "A river", "river in Asia", 40)]


def test_json_lines_and_tabs_are_read(tmp_path: Path) -> None:
    lines, tabs = tmp_path / "subjects.jsonl", tmp_path / "subjects.tsv"
    lines.write_text('{"item": "Q1", "label": "One", "wikis": ["de", "fr"]}\n\n')
    tabs.write_text("item\tlabel\twikis\nQ1\tOne\t2\n")
    assert read_subjects(lines).subjects == read_subjects(tabs).subjects == (MissingSubject("Q1", "One", "", 2),)


def test_every_fault_has_its_line(tmp_path: Path) -> None:
    path = tmp_path / "subjects.csv"
    path.write_text("item,label,wikis\nQ1,,1\nP31,Property,1\nQ2,Two,many\nQ3,Three,1\n")
    with pytest.raises(InputError) as caught:
        read_subjects(path)
    assert [(fault.line, fault.found.partition(":")[0]) for fault in caught.value.faults] == [
        (2, "no label under 'label'"),
        (3, "no item such as Q42 under 'item', but 'P31'"),
        (4, "'wikis' is neither a number nor a list"),
    ]
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="cannot be read"):
        read_subjects(path)
