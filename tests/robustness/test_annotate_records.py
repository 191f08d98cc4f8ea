"""One bad record costs itself, never the run; hostile pages take no longer than others; one run for one output."""

from __future__ import annotations

import gzip
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

from evenrank.errors import EvenrankError, InputError
from evenrank.io.content import START, RawBatch
from evenrank.io.corpus import read_site
from evenrank.io.locking import only_writer
from evenrank.wikipedia.annotate.dump_pages import annotate_history, annotate_page_props, first_revision
from evenrank.wikipedia.annotate.entities import annotate_entities
from evenrank.wikipedia.annotate.labeller import annotate
from evenrank.wikipedia.annotate.settings import AnnotateInputs
from tests.robustness.commands import leftovers

DIGITS = "9" * 5000
PAGE = "<page><title>{title}</title><ns>0</ns><id>{id}</id><revision><text>Some text.</text></revision></page>\n"


def statement(value: Any, kind: str = "wikibase-entityid") -> dict[str, Any]:
    return {"mainsnak": {"snaktype": "value", "datavalue": {"type": kind, "value": value}}, "rank": "normal"}


def entity(number: Any = 5, claims: Any = None, sitelinks: Any = None) -> bytes:
    record = {
        "type": "item",
        "id": f"Q{number}",
        "claims": {} if claims is None else claims,
        "sitelinks": {"enwiki": {"site": "enwiki", "title": "A", "badges": []}} if sitelinks is None else sitelinks,
    }
    return orjson.dumps(record)


BAD_ENTITIES = {
    "id over 2^63": entity(2**63),
    "id of 5,000 digits": entity(DIGITS),
    "id in other digits": entity("٣"),
    "country over 2^63": entity(claims={"P17": [statement({"numeric-id": 2**64 - 1})]}),
    "country of 5,000 digits": entity(claims={"P17": [statement({"id": f"Q{DIGITS}"})]}),
    "country as a list": entity(claims={"P17": [statement({"numeric-id": [1]})]}),
    "country as a text": entity(claims={"P17": [statement({"numeric-id": "x"})]}),
    "value as a text": entity(claims={"P17": [statement("x")]}),
    "statement as a number": entity(claims={"P17": [7]}),
    "statements as a text": entity(claims={"P17": "x"}),
    "statements as an object": entity(claims={"P17": {"mainsnak": 1}}),
    "claims as a list": entity(claims=[1]),
    "sitelinks as a list": entity(sitelinks=["enwiki"]),
    "sitelinks as a text": entity(sitelinks="enwiki"),
    "sitelink as a list": entity(sitelinks={"enwiki": [1]}),
    "title as a number": entity(sitelinks={"enwiki": {"title": 5}}),
    "badges as a number": entity(sitelinks={"enwiki": {"title": "A", "badges": 5}}),
    "latitude as a text": entity(
        claims={"P625": [statement({"latitude": "1e999", "longitude": 0}, "globecoordinate")]}
    ),
    "latitude of 10^300": entity(claims={"P625": [statement({"latitude": 1e300, "longitude": 0}, "globecoordinate")]}),
    "year of 5,000 digits": entity(
        claims={"P569": [statement({"time": f"+{DIGITS}-01-01T00:00:00Z", "precision": 9}, "time")]}
    ),
    "time as a number": entity(claims={"P569": [statement({"time": 5, "precision": 9}, "time")]}),
    "precision as a text": entity(claims={"P569": [statement({"time": "+1900-", "precision": "x"}, "time")]}),
    "no JSON": b'{"type":"item","id":"Q5","claims":{"P17":[{"mainsnak":',
    "a list": b"[1,2]",
    "deep": b'{"type":"item","id":"Q5","x":' + b"[" * 2000 + b"]" * 2000 + b"}",
}
NOT_LOOKED_AT = frozenset(
    {
        *("statement as a number", "statements as a text", "statements as an object"),
        *("sitelinks as a list", "sitelinks as a text", "sitelink as a list"),
    }
)
"""Damage that hides what would be read: such a statement or link is not found at all."""


def batch(data: bytes) -> RawBatch:
    return RawBatch("file", START, START, data, len(data))


@pytest.mark.parametrize("name", BAD_ENTITIES)
def test_a_bad_entity_is_a_fault_and_its_neighbours_stay(name: str) -> None:
    good = entity(7, {"P17": [statement({"numeric-id": 30})]})
    result = annotate_entities(batch(b"[\n" + b",\n".join([good, BAD_ENTITIES[name], good]) + b"\n]\n"), "enwiki", True)
    assert [fault.line for fault in result.faults] == ([] if name in NOT_LOOKED_AT else [3])
    assert all(len(fault.found) <= 160 for fault in result.faults)
    assert [row[0] for row in result.rows["items"] if row[0] != 5] == [7, 7]
    numbers = [value for rows in result.rows.values() for row in rows for value in row if type(value) is int]
    assert max(map(abs, numbers)) < 2**63


def small_inputs(folder: Path, entities: list[bytes]) -> AnnotateInputs:
    pages = "".join(PAGE.format(title=f"Page {n}", id=n) for n in range(1, 6))
    (folder / "dump.xml").write_text(f"<mediawiki >\n{pages}</mediawiki>\n")
    (folder / "wikidata.json").write_bytes(b"[\n" + b",\n".join(entities) + b"\n]\n")
    return AnnotateInputs(folder / "dump.xml", folder / "wikidata.json")


def test_bad_records_do_not_end_the_run(tmp_path: Path) -> None:
    good = entity(7, {"P17": [statement({"numeric-id": 30})]}, {"enwiki": {"title": "Page 3", "badges": []}})
    inputs = small_inputs(tmp_path, [good, *BAD_ENTITIES.values()])
    out = tmp_path / "metadata.json.gz"
    report = annotate(out, inputs, n_workers=1)
    assert report.n_pages == 5
    assert report.tallies["entities"]["counts"]["faults"] == len(BAD_ENTITIES) - len(NOT_LOOKED_AT)
    records = [orjson.loads(line) for line in gzip.decompress(out.read_bytes()).splitlines()]
    assert [record["geographic_locations"] for record in records] == [[], [], ["Northern America"], [], []]
    assert leftovers(tmp_path) == []


def test_numbers_too_long_for_a_page_are_passed_over() -> None:
    rows = annotate_page_props(batch(f"(1,'wikibase_item','Q5'),({DIGITS},'wikibase_item','Q{DIGITS}')".encode())).rows
    assert rows["page_props"] == [(1, 5)]
    page = f"<page><title>A</title><id>{DIGITS}</id><revision><timestamp>2004-05-17T"
    assert annotate_history(batch(page.encode())).rows["creation_dates"] == []


@pytest.mark.parametrize(
    "page",
    [
        b"<page>" * 60_000,
        b"<page>" + b"<id>1</id>" * 40_000,
        b"<page><id>" * 40_000,
        b"<page>" + b"<id>1</id><timestamp>" * 20_000,
    ],
    ids=["pages", "ids", "pages and ids", "ids and times"],
)
def test_a_hostile_history_page_is_read_in_linear_time(page: bytes) -> None:
    """A regular expression took 10 s for 12.8 kB, and 30 times as long for three times as much."""

    def seconds(content: bytes) -> float:
        begin = time.process_time()
        first_revision(content)
        return time.process_time() - begin

    assert seconds(page) < 5.0, "cubic time would be years"


def test_a_hostile_head_of_a_dump_is_read_in_linear_time(tmp_path: Path) -> None:
    (tmp_path / "dump.xml").write_bytes(b"<mediawiki ><base>" + b"/" * 65_000)
    begin = time.process_time()
    assert read_site(tmp_path / "dump.xml").base_url.startswith("https://")
    assert time.process_time() - begin < 5.0


def test_two_runs_on_one_output(tmp_path: Path) -> None:
    inputs = small_inputs(tmp_path, [entity(7)])
    out = tmp_path / "metadata.json.gz"
    with (
        only_writer(tmp_path / ".metadata.json.gz.lock", out),
        pytest.raises(EvenrankError, match="another evenrank process is writing it"),
    ):
        annotate(out, inputs, n_workers=1)
    annotate(out, inputs, n_workers=1)
    assert leftovers(tmp_path) == []


def test_two_runs_on_one_output_with_spark(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")
    inputs = small_inputs(tmp_path, [entity(7)])
    out = tmp_path / "metadata.json.gz"
    with (
        only_writer(tmp_path / ".metadata.json.gz.lock", out),
        pytest.raises(EvenrankError, match="another evenrank process is writing it"),
    ):
        annotate(out, inputs, session=object())  # type: ignore[arg-type]  # it is refused before one is needed
    assert leftovers(tmp_path) == []


def test_an_unforeseen_failure_does_not_block_the_next_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = small_inputs(tmp_path, [entity(7)])
    out = tmp_path / "metadata.json.gz"

    def fail(*_: object) -> None:
        raise RuntimeError("a defect of ours")

    with monkeypatch.context() as patch, pytest.raises(RuntimeError):
        patch.setattr("evenrank.wikipedia.annotate.labeller.run_locally", fail)
        annotate(out, inputs, n_workers=1)
    (tmp_path / "wikidata.json").write_bytes(b"[\n" + entity(8) + b"\n]\n")
    assert annotate(out, inputs, n_workers=1).n_pages == 5


def test_a_bad_input_does_not_block_the_next_run(tmp_path: Path) -> None:
    inputs = small_inputs(tmp_path, [entity(7)])
    assert inputs.wikidata is not None
    inputs.wikidata.write_bytes(b"[\nnothing\n]\n")
    out = tmp_path / "metadata.json.gz"
    with pytest.raises(InputError):
        annotate(out, inputs, n_workers=1)
    inputs.wikidata.write_bytes(b"[\n" + entity(8) + b"\n]\n")
    assert annotate(out, inputs, n_workers=1).n_pages == 5
