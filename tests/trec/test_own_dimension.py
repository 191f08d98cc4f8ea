"""Dimensions of the user's own: from a metadata field to targets, rankings, scores, searches and the report."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

import evenrank
from evenrank.app.app import create_app
from evenrank.app.settings import WebSettings
from evenrank.errors import EvenrankError, InputError
from evenrank.scoring.exposure_by_group import exposure_by_group
from evenrank.scoring.topic_truth import CollectionProblem
from evenrank.trec.describe import describe_collection, table_text
from evenrank.trec.dimensions import own_dimension, own_record, read_dimension
from tests.own_data import SHARES, write_news


@pytest.fixture(scope="module")
def news(tmp_path_factory: pytest.TempPathFactory) -> evenrank.Collection:
    folder = tmp_path_factory.mktemp("news")
    write_news(folder, int)
    files = evenrank.ImportFiles(
        folder / "metadata.jsonl",
        eval_topics=(folder / "topics.jsonl",),
        corpus=folder / "corpus.jsonl",
        dimensions=(read_dimension(f"outlet=publisher:{folder / 'shares.toml'}"),),
    )
    collection = evenrank.import_collection(folder / "news", files)
    evenrank.build_index(collection)
    return collection


def test_opened_again_it_has_the_dimension(news: evenrank.Collection) -> None:
    dimension = evenrank.Collection.open(news.path).known_dimensions["outlet"]
    assert dimension.groups == ("Unknown", "public", "commercial", "community")
    assert dimension.background == (0.4, 0.4, 0.2)
    assert dimension.heading == "Outlet"
    assert dimension.source == "audience survey"


def test_target_is_half_the_relevant_pages_and_half_the_shares(news: evenrank.Collection) -> None:
    """Worked by hand: counts of the relevant stories of known outlets, averaged with the shares of the file."""
    records = map(json.loads, Path(news.manifest.sources["metadata"].path).read_text("utf-8").splitlines())
    outlet_of = {record["page_id"]: record["publisher"] for record in records}
    topic = news.topics[0]
    outlets = [outlet_of[page] for page in topic.rel_docs.tolist() if outlet_of[page]]
    targets = evenrank.targets(news, 1).to_pandas()
    target = targets.loc[topic.id]
    for group, share in (("public", 0.4), ("commercial", 0.4), ("community", 0.2)):
        expected = (outlets.count(group) / len(outlets) + share) / 2
        assert target[group] == pytest.approx(expected)


def test_a_fair_run_is_fairer_than_plain_search(news: evenrank.Collection) -> None:
    scores = {}
    for policy in ("relevance", "optimal"):
        run = evenrank.rank(news, 1, policy, topics="all", target="world", workers=1).run
        (scored,) = evenrank.evaluate(news, run, groups="outlet", depth=20).runs
        scores[policy] = scored.scores["AWRF"]
    assert scores["optimal"] > scores["relevance"] + 0.01


def test_it_is_scored_by_default_and_by_attribute(news: evenrank.Collection) -> None:
    run = evenrank.oracle_run(news, 1, 0.5).run
    (default,) = evenrank.evaluate(news, run).runs
    (named,) = evenrank.evaluate(news, run, groups="outlet").runs
    assert default.scores == named.scores
    assert list(evenrank.evaluate_attributes(news, run).parts) == ["outlet"]


def test_task_2_and_a_restriction(news: evenrank.Collection) -> None:
    run = evenrank.rank(news, 2, "optimal", settings={"within": "outlet=community"}, workers=1).run
    masks = news.masks["outlet"][news.rows_of(np.unique(run.pages))]
    assert (masks == news.known_dimensions["outlet"].mask_of("community")).all()
    assert evenrank.evaluate(news, run).runs[0].scores["EE-L"] > 0


def test_a_target_table_names_its_groups(news: evenrank.Collection, tmp_path: Path) -> None:
    table = tmp_path / "target.tsv"
    table.write_text("public\t0.1\ncommercial\t0.1\ncommunity\t0.8\n", "utf-8")
    ranked = evenrank.rank(news, 1, "optimal", target=table, length="relevant", workers=1)
    shown = evenrank.show_run(news, ranked.run)[0].groups["outlet"]
    plain = evenrank.show_run(news, evenrank.rank(news, 1, "relevance", length="relevant", workers=1).run)[0].groups
    assert shown["community"] > plain["outlet"]["community"]
    assert set(shown) == {"Unknown", "public", "commercial", "community"}


def test_search_is_restricted_to_a_group(news: evenrank.Collection) -> None:
    found = evenrank.search(news, "heat storm", k=5, groups={"outlet": "community"})
    rows = news.rows_of(np.array(found.page_ids))
    assert len(found) == 5
    assert (news.masks["outlet"][rows] == news.known_dimensions["outlet"].mask_of("community")).all()
    with pytest.raises(EvenrankError, match=r"unknown group of outlet 'comunity'.*did you mean 'community'"):
        evenrank.search(news, "heat", groups={"outlet": "comunity"})


def test_description_shows_it(news: evenrank.Collection) -> None:
    assert sum(describe_collection(news)["groups"]["outlet"].values()) == len(news)
    assert "outlet: Unknown 17   public" in table_text(news)
    assert "Gender" not in table_text(news)


def test_exposure_by_its_groups_is_what_the_report_draws(news: evenrank.Collection) -> None:
    run = evenrank.oracle_run(news, 1, 0.5).run
    shown = exposure_by_group(CollectionProblem.of(news, "paper-2021", "outlet"), run, [1, 2])
    groups, exposure, target = shown.margin("outlet")
    assert groups == ("Unknown", "public", "commercial", "community")
    assert exposure.sum() == pytest.approx(1)
    assert target[0] == 0


@pytest.mark.long
def test_report_shows_it(news: evenrank.Collection, tmp_path: Path) -> None:
    evenrank.report(news, evenrank.oracle_run(news, 1, 0.5).run, tmp_path / "report")
    page = (tmp_path / "report" / "index.html").read_text("utf-8")
    assert "community" in page
    assert "Wikidata" not in page, "the groups are not those of the track"


def test_web_app_makes_lists_about_it(news: evenrank.Collection, tmp_path: Path) -> None:
    app = create_app(news.path, WebSettings(store=tmp_path / "desk.sqlite"))
    with TestClient(app, base_url="http://localhost") as client:
        asked = {"title": "climate", "keywords": ["rain"], "dimensions": ["outlet"], "within": ["outlet=known"]}
        made = client.post("/api/lists", json=asked)
        assert made.status_code == 201, made.text
        page = client.get(f"/lists/{made.json()['token']}")
        assert page.status_code == 200
        assert "community" in page.text
        schemas = client.get("/api/openapi.json").text
        assert "outlet=community" in schemas


def test_record_keeps_everything(tmp_path: Path) -> None:
    (tmp_path / "shares.toml").write_text(SHARES + "\n", "utf-8")
    dimension = read_dimension(f"outlet=publisher:{tmp_path / 'shares.toml'}")
    again = own_dimension("outlet", json.loads(json.dumps(own_record(dimension))))
    kept = ("name", "field", "groups", "background", "source", "label", "is_personal")
    assert [getattr(again, name) for name in kept] == [getattr(dimension, name) for name in kept]
    assert again.encode(["public", "community"]) == 0b1010


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("outlet", "give NAME=FIELD:SHARES.toml"),
        ("outlet=publisher", "give NAME=FIELD:SHARES.toml"),
        ("gender=sex:{}", "has a dimension of that name"),
        ("Outlet Type=x:{}", "small letters"),
        ("all=x:{}", "small letters"),
        ("outlet=publisher:missing.toml", "No such file"),
    ],
)
def test_options_that_cannot_be_used(option: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "shares.toml").write_text(SHARES, "utf-8")
    with pytest.raises(EvenrankError, match=message):
        read_dimension(option.format(tmp_path / "shares.toml"))


def test_all_faults_of_a_shares_file_come_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "shares.toml"
    path.write_text('colour = "red"\npersonal = "no"\n[shares]\npublic = -1\n"a|b" = 0.5\nUnknown = "x"\n', "utf-8")
    with pytest.raises(InputError) as caught:
        read_dimension(f"outlet=publisher:{path}")
    assert sorted({fault.line for fault in caught.value.faults}) == [1, 2, 4, 5, 6]
    path.write_text("[shares]\npublic = 0.5\ncommercial = 0.3\n", "utf-8")
    with pytest.raises(InputError, match=r"the shares sum to 0\.8"):
        read_dimension(f"outlet=publisher:{path}")


def test_unknown_values_and_missing_fields_are_refused(tmp_path: Path) -> None:
    write_news(tmp_path, int, 20)
    metadata = tmp_path / "metadata.jsonl"
    lines = metadata.read_text("utf-8").splitlines()
    lines[4] = json.dumps({"page_id": 5, "publisher": "pirate"})
    metadata.write_text("\n".join(lines), "utf-8")
    outlet = read_dimension(f"outlet=publisher:{tmp_path / 'shares.toml'}")
    with pytest.raises(InputError, match=r"metadata.jsonl:5: publisher 'pirate' is not one of: Unknown, public"):
        evenrank.import_collection(tmp_path / "c", evenrank.ImportFiles(metadata, dimensions=(outlet,)))
    owner = read_dimension(f"owner=proprietor:{tmp_path / 'shares.toml'}")
    write_news(tmp_path, int, 20)
    with pytest.raises(InputError, match="no record has the field 'proprietor' of the dimension owner"):
        evenrank.import_collection(tmp_path / "c", evenrank.ImportFiles(metadata, dimensions=(owner,)))
    assert not (tmp_path / "c").exists()


def test_pages_in_no_group_are_shown_where_unknown_is_none(tmp_path: Path) -> None:
    """Dimensions of 2022 have no group for pages of which nothing is known; showing a run counts the others."""
    lines = [
        {"page_id": 1, "relative_pageviews_category": "High"},
        {"page_id": 2, "relative_pageviews_category": "Low"},
    ]
    (tmp_path / "metadata.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    (tmp_path / "run.tsv").write_text("1\t2\n1\t1\n1\t9\n", "utf-8")
    collection = evenrank.import_collection(tmp_path / "c", evenrank.ImportFiles(tmp_path / "metadata.jsonl"))
    (shown,) = evenrank.show_run(collection, tmp_path / "run.tsv")
    assert shown.groups["popularity"] == {"Low": 1.0, "High": 1.0}
