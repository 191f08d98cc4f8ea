"""`evenrank targets`: the golden targets, digit for digit, under the column names of the contract."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from evenrank.cli.targets import command
from evenrank.errors import EvenrankError
from evenrank.trec.collection import Collection


def call(collection: Collection, *options: str) -> str:
    arguments = [str(collection.path), "--protocol", "official-2021", *options]
    return CliRunner().invoke(command, arguments, catch_exceptions=False).stdout


@pytest.mark.parametrize(
    "options,files,n_columns",
    [
        ([], ["task1-targets-train.csv", "task1-targets-eval.csv"], 31),
        (["--groups", "geography"], ["task1-geo-targets-train.csv", "task1-geo-targets-eval.csv"], 7),
        (["--task", "2"], ["task2-targets.csv"], 32),
        (["--task", "2", "--groups", "geography"], ["task2-geo-targets.csv"], 8),
    ],
)
def test_tsv_is_the_golden_table(golden_collection, golden_folder: Path, options, files, n_columns) -> None:
    rows = list(csv.reader(io.StringIO(call(golden_collection, *options)), delimiter="\t"))
    expected = []
    for file in files:
        with (golden_folder / "expected" / file).open(newline="") as source:
            header, *body = csv.reader(source)
            expected += body
    assert rows[0] == ["topic", *header[1:]]
    assert len(rows[0]) == n_columns + 1
    assert [row[0] for row in rows[1:]] == [row[0] for row in expected]
    for row, known in zip(rows[1:], expected, strict=True):
        values = [float(value) for value in row[1:]]
        assert values == pytest.approx([float(value) for value in known[1:]], rel=1e-8, abs=1e-12)
        assert sum(values) == pytest.approx(1.0, abs=1e-8)


def test_json_names_every_group(golden_collection: Collection) -> None:
    record = json.loads(call(golden_collection, "--format", "json", "--groups", "geography"))
    assert record["task"] == 1
    assert record["protocol"]["name"] == "official-2021"
    assert list(record["targets"][0]["target"]) == record["groups"]
    assert record["groups"][0] == "Africa"


def test_official_2022_keeps_the_unknown_group_in_task_1(golden_collection: Collection) -> None:
    header = call(golden_collection, "--protocol", "official-2022", "--groups", "geography").splitlines()[0]
    assert header.split("\t")[:2] == ["topic", "Unknown"]


def test_unknown_dimension_is_explained(golden_collection: Collection) -> None:
    with pytest.raises(EvenrankError, match="unknown dimension 'age'"):
        call(golden_collection, "--groups", "age")
