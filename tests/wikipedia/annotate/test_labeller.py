"""The whole labeller on small dumps with every odd case."""

from __future__ import annotations

import bz2
import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
from dump_sample import read_comment, write_sample
from wikidata_sample import entity, statement

from evenrank.errors import EvenrankError
from evenrank.io.metadata import read_metadata
from evenrank.io.subjects import read_missing_subjects
from evenrank.trec.dimensions import DIMENSIONS
from evenrank.wikipedia.annotate.coverage import coverage_table
from evenrank.wikipedia.annotate.labeller import annotate
from evenrank.wikipedia.annotate.settings import AnnotateInputs, AnnotateSettings
from evenrank.wikipedia.annotate.write import about_path

NOT_IN_THESE_DUMPS = {"creation-date", "popularity", "source-region"}
"""Dimensions that need a history dump, page views, or the sources of an article."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> AnnotateInputs:
    return AnnotateInputs(*write_sample(tmp_path_factory.mktemp("dumps")))


def run(out: Path, inputs: AnnotateInputs, **choices):
    """The records by page id."""
    annotate(out, inputs, AnnotateSettings(**choices), n_workers=1)
    return {record["page_id"]: record for record in map(json.loads, gzip.open(out, "rt", encoding="utf-8"))}


@pytest.fixture(scope="module")
def out(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("out") / "metadata.json.gz"


@pytest.fixture(scope="module")
def records(out, inputs):
    return run(out, inputs)


def test_articles_only_in_order_of_their_id(records):
    assert list(records) == [1, 2, 3, 5, 6, 7, 9, 10, 12, 13, 14]


def test_fields_of_the_published_format_come_first_with_their_types(records):
    for record in records.values():
        assert list(record)[:5] == ["page_id", "quality_score", "quality_score_disc", "geographic_locations", "gender"]
        types = [type(record[name]) for name in list(record)[:4]]
        assert types == [int, float, str, list]
        assert record["gender"] is None or all(isinstance(label, str) for label in record["gender"])


def test_citizenships_dissolved_states_and_the_place_of_birth(records):
    assert records[1]["geography_provenance"] == {"P27": ["Q142", "Q159"], "P19>P17": ["Q298"]}
    assert records[1]["geographic_locations"] == ["Europe", "Latin America and the Caribbean"]
    assert records[1]["page_countries"] == ["Chile", "France", "Russia"]
    assert records[1]["page_subcont_regions"] == ["Eastern Europe", "South America", "Western Europe"]


def test_preferred_rank_and_several_genders(records):
    assert records[2]["geographic_locations"] == ["Europe"]
    assert records[2]["gender"] == ["male", "non-binary"]


def test_a_moved_page_finds_its_item_through_the_redirect(records):
    assert records[3]["wikidata_id"] == "Q1003"
    assert records[3]["gender"] == ["female"]
    assert records[3]["geographic_locations"] == []


def test_coordinates(records):
    assert records[5]["geography_provenance"] == {"P625": ["Q114"]}
    assert records[14]["geographic_locations"] == []


def test_a_former_state_counts_for_its_successors(records):
    assert records[9]["page_countries"] == [
        *("Bosnia and Herzegovina", "Croatia", "Montenegro", "North Macedonia", "Serbia", "Slovenia")
    ]


def test_no_claims_unknown_values_and_deprecated_ones_give_nothing(records):
    for page_id in (7, 10, 13):
        assert records[page_id]["geographic_locations"] == []
        assert records[page_id]["gender"] is None
        assert records[page_id]["geography_provenance"] == {}
    assert records[7]["wikidata_id"] == "Q1007"


def test_page_props_join_where_titles_do_not(records):
    assert records[12]["wikidata_id"] == "Q1012"
    assert records[12]["geographic_locations"] == ["Europe"]


def test_fields_of_2022(records):
    first = records[1]
    assert first["occupations"] == ["writer"]
    assert (first["years"], first["years_category"]) == ([1899, 1970], ["Pre-1900s", "20th century"])
    assert (first["num_sitelinks"], first["num_sitelinks_category"]) == (3, "2-4 languages")
    assert (records[6]["first_letter"], records[6]["first_letter_category"]) == ("e", "e-k")
    assert records[6]["num_sitelinks_category"] == "5+ languages"
    assert records[5]["years"] == [900]


def test_classes_have_the_names_of_the_pages_about_them(records):
    named = {page_id: record["instance_of"] for page_id, record in records.items() if record["instance_of"]}
    assert named == {5: ["Tower"], 6: ["Institution", "Tower"], 9: ["Institution"]}


def test_quality_orders_the_pages(records):
    assert records[1]["quality_score"] > records[2]["quality_score"]
    assert records[1]["quality_score_disc"] == "FA"


def masks_agree(name: str, records, out: Path) -> bool:
    """Whether the reader of metadata gives the masks that the dimension gives for each record."""
    dimension = DIMENSIONS[name]
    expected = [dimension.encode(record[dimension.field]) for record in records.values()]
    return read_metadata(out, [dimension]).masks[name].tolist() == expected


@pytest.mark.parametrize("name", sorted(set(DIMENSIONS) - NOT_IN_THESE_DUMPS))
def test_the_reader_of_metadata_takes_the_output_as_it_is(records, out, name):
    assert masks_agree(name, records, out)


def test_only_fields_that_the_dumps_hold_are_there(records, out):
    metadata = read_metadata(out, list(DIMENSIONS.values()))
    assert metadata.page_ids.tolist() == list(records)
    assert {"gender", "geographic_locations", "occupations"} <= metadata.fields
    assert "creation_date_category" not in metadata.fields


def test_the_header_and_the_sidecar_carry_the_warnings(records, out):
    about = json.loads(about_path(out).read_bytes())
    comment = read_comment(out.read_bytes())
    for subject in ("geography", "gender", "quality", "scope"):
        assert about["warnings"][subject].encode("latin-1", "replace").decode("latin-1") in comment
    assert "73 %" in comment
    assert about["settings"]["quality_model"] == "v1"
    assert about["pages_with_item"] == {"page_props": 1, "sitelink": 9, "redirect": 1}
    assert about["read"]["entities"]["counts"]["entities"] == 21


def test_small_groups_of_people_are_not_told_apart(out, inputs):
    report = annotate(out.with_name("again.json.gz"), inputs, n_workers=1)
    assert "gender" not in {row.kind for row in report.coverage}
    about = json.loads(about_path(out.with_name("again.json.gz")).read_bytes())
    assert about["gender_values"] == {"female": "<10", "male": "<10", "non-binary": "<10"}
    row = next(row for row in report.coverage if row.group == "people")
    assert (row.n_pages, row.shares["citizenship"], row.shares["gender"]) == (3, 2 / 3, 1.0)
    assert "66.7%" in coverage_table(report.coverage)


def test_without_gender_nothing_of_it_is_written(tmp_path, inputs):
    out = tmp_path / "metadata.json.gz"
    records = run(out, inputs, with_gender=False)
    assert all("gender" not in record for record in records.values())
    about = json.loads(about_path(out).read_bytes())
    assert "gender" not in about["warnings"]
    assert about["gender_values"] == {}
    assert records[1]["geographic_locations"] == ["Europe", "Latin America and the Caribbean"]


def test_the_tracks_own_rule_takes_countries_only(tmp_path, inputs):
    records = run(tmp_path / "m.gz", inputs, with_places=False, with_coordinates=False)
    assert records[1]["geographic_locations"] == ["Europe"]
    assert records[5]["geographic_locations"] == []


def test_a_dump_alone_gives_quality(tmp_path, inputs):
    records = run(tmp_path / "m.gz", AnnotateInputs(inputs.dump), quality_model="v2", percentiles="enwiki")
    assert set(records[1]) == {
        *("page_id", "quality_score", "quality_score_disc", "geographic_locations"),
        *("first_letter", "first_letter_category"),
    }
    assert all(record["geographic_locations"] == [] for record in records.values())


@pytest.mark.parametrize(("compress", "suffix"), [(gzip.compress, ".gz"), (bz2.compress, ".bz2")])
def test_compressed_dumps_give_the_same_lines(tmp_path, inputs, records, compress, suffix):
    packed = {}
    for name, path in (("dump", inputs.dump), ("wikidata", inputs.wikidata)):
        packed[name] = tmp_path / (path.name + suffix)
        packed[name].write_bytes(compress(path.read_bytes()))
    assert run(tmp_path / "m.gz", replace(inputs, **packed)) == records


def test_any_number_of_workers_and_any_size_of_batches_give_the_same_bytes(tmp_path, inputs, records, out):
    again = tmp_path / "metadata.json.gz"
    annotate(again, inputs, n_workers=2, batch_bytes=700)
    assert again.read_bytes() == out.read_bytes()


def test_an_unknown_quality_model_is_refused(tmp_path, inputs):
    with pytest.raises(EvenrankError, match="unknown quality model 'v9'; choose from v1, v2"):
        annotate(tmp_path / "m.gz", inputs, AnnotateSettings(quality_model="v9"))


def test_subjects_with_an_article_elsewhere_and_none_here(tmp_path, inputs):
    lines = inputs.wikidata.read_bytes().rstrip().removesuffix(b"]").rstrip()
    category = statement("P31", 4167836)
    more = [
        entity(5001, title=None, others=("dewiki", "frwiki"), label="Nobody wrote it"),
        entity(5002, title=None, others=("frwiki",), label="Only French"),
        entity(5003, title=None, others=("frwiki",), label="Nothing known"),  # the title of an article
        entity(5004, title=None, others=("frwiki",), label="Side topic"),  # a redirect
        entity(5005, category, title=None, others=("frwiki",), label="Category of things"),
        entity(5006, title=None, others=("commonswiki", "enwikiquote"), label="Pictures only"),
        entity(5007, title=None, label="An item alone"),
    ]
    dump = tmp_path / "wikidata.json"
    dump.write_bytes(
        lines.removesuffix(b",") + b",\n" + b",\n".join(json.dumps(one).encode() for one in more) + b"\n]\n"
    )
    for name in ("subjects.jsonl", "subjects.jsonl.gz"):
        chosen = replace(inputs, wikidata=dump)
        report = annotate(tmp_path / f"{name}.m.gz", chosen, n_workers=1, subjects=tmp_path / name)
        found = read_missing_subjects(tmp_path / name)
        assert [(one.item, one.label, one.n_wikis) for one in found if one.item in ("Q5001", "Q5002")] == [
            ("Q5001", "Nobody wrote it", 2),
            ("Q5002", "Only French", 1),
        ]
        assert not {"Q5003", "Q5004", "Q5005", "Q5006", "Q5007", "Q1001"} & {one.item for one in found}
        assert report.n_subjects == len(found)
    with pytest.raises(EvenrankError, match="--wikidata"):
        annotate(tmp_path / "m.gz", AnnotateInputs(inputs.dump), subjects=tmp_path / "none.jsonl")
