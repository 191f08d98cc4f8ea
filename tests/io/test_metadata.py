"""Metadata lines: the fast reading equals the slow one, and every fault has its line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenrank.core.records import NO_CLASS, WORK_ORDER
from evenrank.errors import InputError
from evenrank.io.metadata import Metadata, read_metadata
from evenrank.io.metadata_lines import LineReader
from evenrank.trec.dimensions import GENDER, GEOGRAPHY, SOURCE_REGION, SUB_REGION

DIMENSIONS = (GEOGRAPHY, GENDER)
VALUES = st.fixed_dictionaries(
    {
        "page_id": st.integers(0, 2**31 - 1),
        "quality_score": st.none() | st.floats(0, 1, width=32) | st.sampled_from([0, 1, 0.5, 1e-7]),
        "quality_score_disc": st.none() | st.sampled_from(WORK_ORDER),
        "geographic_locations": st.none() | st.lists(st.sampled_from(GEOGRAPHY.groups[1:]), max_size=3),
        "gender": st.none()
        | st.lists(st.sampled_from(["male", "female", "non-binary", "transgender male"]), max_size=2),
    }
)


def written(path: Path, text: bytes) -> Path:
    path.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    return path


def plain_reading(records: list[dict]) -> dict[int, tuple]:
    """What the reader must give, the slow and obvious way."""
    pages: dict[int, tuple] = {}
    for record in records:
        score = record["quality_score"]
        pages.setdefault(
            record["page_id"],
            (
                NO_CLASS if record["quality_score_disc"] is None else WORK_ORDER.index(record["quality_score_disc"]),
                np.float32("nan") if score is None else np.float32(score),
                GEOGRAPHY.encode(record["geographic_locations"]),
                GENDER.encode(record["gender"]),
            ),
        )
    return pages


def as_rows(metadata: Metadata) -> dict[int, tuple]:
    columns = (metadata.quality_class, metadata.quality_score, metadata.masks["geography"], metadata.masks["gender"])
    return {int(page): tuple(column[i] for column in columns) for i, page in enumerate(metadata.page_ids)}


@given(st.lists(VALUES, min_size=1, max_size=30), st.sampled_from([(", ", ": "), (",", ":")]), st.booleans())
def test_any_records_in_any_spacing(
    tmp_path_factory, records: list[dict], separators: tuple[str, str], with_extra: bool
) -> None:
    if with_extra:
        records = [{**record, "extra": {"n": number}} for number, record in enumerate(records)]
    text = "".join(json.dumps(record, separators=separators) + "\n" for record in records)
    metadata = read_metadata(written(tmp_path_factory.mktemp("m") / "m.json", text.encode()), DIMENSIONS)
    expected = plain_reading(records)
    found = as_rows(metadata)
    assert list(found) == sorted(expected)
    for page, row in found.items():
        np.testing.assert_allclose(row, expected[page], rtol=1e-7)
    assert metadata.n_repeated == len(records) - len(expected)


def test_other_key_order_and_blank_lines(tmp_path: Path) -> None:
    text = b'\n{"gender": ["female"], "page_id": 7, "quality_score_disc": "FA"}\n\n{"page_id": 3}\n'
    metadata = read_metadata(written(tmp_path / "m.json.gz", text), DIMENSIONS)
    assert metadata.page_ids.tolist() == [3, 7]
    assert metadata.masks["gender"].tolist() == [1, 2]
    assert metadata.quality_class.tolist() == [NO_CLASS, 5]
    assert np.isnan(metadata.quality_score).all()
    assert metadata.n_lines == 4


def test_all_faults_at_once_with_their_lines(tmp_path: Path) -> None:
    good = '{"page_id": 1, "quality_score": 0.5, "quality_score_disc": "B", "geographic_locations": [], "gender": []}\n'
    bad = [
        "not json\n",
        '{"page_id": "x"}\n',
        '{"page_id": 2, "quality_score": 2.5, "quality_score_disc": "B"}\n',
        '{"page_id": 3, "quality_score": 0.5, "quality_score_disc": "Z", "geographic_locations": [], "gender": []}\n',
        '{"page_id": 4, "quality_score": 0.5, "quality_score_disc": "B", "geographic_locations": ["Atlantis"]}\n',
        "[1]\n",
        '{"page_id": -4}\n',
    ]
    path = written(tmp_path / "m.json", (good + "".join(bad)).encode())
    with pytest.raises(InputError) as caught:
        read_metadata(path, DIMENSIONS)
    assert [fault.line for fault in caught.value.faults] == list(range(2, 9))
    assert "Atlantis" in str(caught.value)
    assert str(path) in str(caught.value)


def test_faults_beyond_the_first_are_counted(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_metadata(written(tmp_path / "m.json", b"x\n" * 70), DIMENSIONS)
    assert len(caught.value.faults) == 50
    assert caught.value.n_more == 20


def test_empty_and_cut_off_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no metadata"):
        read_metadata(written(tmp_path / "empty.json", b""), DIMENSIONS)
    packed = gzip.compress(b'{"page_id": 1}\n' * 1000)
    (tmp_path / "cut.gz").write_bytes(packed[:-10])
    with pytest.raises(InputError, match="cut off"):
        read_metadata(tmp_path / "cut.gz", DIMENSIONS)


def test_line_numbers_go_on_over_blocks(tmp_path: Path) -> None:
    good = (
        b'{"page_id": 1, "quality_score": 0.5, "quality_score_disc": "B", "geographic_locations": [], "gender": []}\n'
    )
    path = written(tmp_path / "m.json.gz", good * 30_000 + b"oops\n")
    with pytest.raises(InputError) as caught:
        read_metadata(path, DIMENSIONS)
    assert caught.value.faults[0].line == 30_001


def test_many_tails_over_many_blocks_read_by_threads(tmp_path: Path) -> None:
    records = [
        {
            "page_id": number,
            "quality_score": round(number % 997 / 997, 5),
            "quality_score_disc": WORK_ORDER[number % 6],
            "geographic_locations": [GEOGRAPHY.groups[1 + number % 7]],
            "gender": ["male"] if number % 3 else ["female"],
            "extra": number // 20 % 3000,
        }
        for number in range(60_000)
    ]
    text = "".join(json.dumps(record) + "\n" for record in records)
    metadata = read_metadata(written(tmp_path / "m.json.gz", text.encode()), DIMENSIONS)
    assert metadata.quality_class.tolist() == [number % 6 for number in range(60_000)]
    assert metadata.masks["geography"].tolist() == [2 << number % 7 for number in range(60_000)]
    assert metadata.fields >= {"gender", "extra"}


@given(st.binary(max_size=300))
def test_no_bytes_give_a_traceback(text: bytes) -> None:
    block = LineReader(DIMENSIONS).parse(text)
    assert len(block.page_ids) + len(block.faults.faults) <= text.count(b"\n") + 1


@given(st.lists(VALUES, min_size=1, max_size=20), st.integers(0, 10_000), st.binary(min_size=1, max_size=3))
def test_a_damaged_record_is_a_fault_or_still_a_record(records: list[dict], place: int, damage: bytes) -> None:
    text = b"".join(orjson.dumps(record) + b"\n" for record in records)
    place %= len(text)
    block = LineReader(DIMENSIONS).parse(text[:place] + damage + text[place:])
    assert all(fault.line >= 1 and fault.found for fault in block.faults.faults)


SHAPES = {
    "as the organisers write it": lambda record: json.dumps(record),
    "without blanks": lambda record: json.dumps(record, separators=(",", ":")),
    "keys in another order": lambda record: json.dumps(dict(reversed(record.items()))),
    "with escapes": lambda record: json.dumps({**record, "title": 'a \\ and "'}),
    "indented by a blank": lambda record: " " + json.dumps(record),
}


@given(st.data())
@settings(max_examples=30)
def test_lines_with_counts_are_read_the_same_in_any_shape(tmp_path_factory, data: st.DataObject) -> None:
    """Regular lines are cut out together, others are read one by one: the result is the same."""
    regions = st.lists(st.sampled_from(["Melanesia", "Polynesia", "Western Asia"]), max_size=3)
    counts = st.dictionaries(st.sampled_from(["UNK", "Western Asia", "Oceania"]), st.integers(0, 300), max_size=3)
    records = [
        {
            "page_id": data.draw(st.integers(1, 50)),
            "pred_qual": data.draw(st.none() | st.floats(0, 1).map(lambda value: round(value, 4))),
            "qual_cat": data.draw(st.none() | st.sampled_from(WORK_ORDER)),
            "page_subcont_regions": data.draw(regions),
            "source_subcont_regions": data.draw(counts),
        }
        for _ in range(data.draw(st.integers(1, 8)))
    ]
    path = tmp_path_factory.mktemp("shapes") / "m"
    found = []
    for write in SHAPES.values():
        path.write_text("".join(write(record) + "\n" for record in records))
        metadata = read_metadata(path, [SUB_REGION, SOURCE_REGION])
        arrays = [metadata.page_ids, metadata.quality_class, *metadata.masks.values(), *metadata.counts.values()]
        found.append([array.tolist() for array in arrays] + [np.nan_to_num(metadata.quality_score, nan=-1).tolist()])
    assert all(each == found[0] for each in found[1:])


@pytest.mark.parametrize(
    "line",
    [
        '{"page_id": 1, "source_subcont_regions": {"Atlantis": 1}}',
        '{"page_id": 1, "source_subcont_regions": {"UNK": 1, "UNK": 2}}',
        '{"page_id": -1, "source_subcont_regions": {}}',
        '{"page_id": 1, "source_subcont_regions": {}, "pred_qual": 1.5}',
        '{"page_id": 1, "source_subcont_regions": {}, "qual_cat": "A"}',
        '{"page_id": 01, "source_subcont_regions": {}}',
    ],
)
def test_a_fault_among_regular_lines_has_its_line(tmp_path: Path, line: str) -> None:
    good = json.dumps(json.loads(line.replace("01", "1")) | {"page_id": 2, "source_subcont_regions": {}} | _valid(line))
    (tmp_path / "m").write_text(f"{good}\n{line}\n")
    with pytest.raises(InputError) as caught:
        read_metadata(tmp_path / "m", [SOURCE_REGION])
    assert [fault.line for fault in caught.value.faults] == [2]


def _valid(line: str) -> dict[str, object]:
    return {name: value for name, value in (("pred_qual", 0.5), ("qual_cat", "B")) if name in line}
