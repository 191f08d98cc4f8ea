"""`evenrank compare`: the baseline by file or by name, formats, the other task left out."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from evenrank.cli.compare import command


@pytest.fixture
def call(golden_collection):
    def run(*arguments: object):
        return CliRunner().invoke(command, [str(golden_collection.path), *map(str, arguments)], catch_exceptions=False)

    return run


def test_baseline_by_file_or_by_name_gives_the_same(call, golden_runs) -> None:
    by_file = call(*golden_runs[1:3], "--baseline", golden_runs[0], "--format", "json").stdout
    among = call(*golden_runs[:3], "--baseline", golden_runs[0], "--format", "json").stdout
    by_name = call(*golden_runs[:3], "--baseline", "T1syn00", "--format", "json").stdout
    assert by_file == among == by_name
    record = json.loads(by_file)
    assert record["baseline"] == "T1syn00"
    assert {(row["run"], row["measure"]) for row in record["comparisons"]} == {
        (run, measure) for run in ("T1syn01", "T1syn02") for measure in ("nDCG", "AWRF", "Score")
    }


def test_table_says_test_and_verdict(call, golden_runs) -> None:
    result = call(*golden_runs, "--baseline", "T2syn00", "-m", "EE-L")
    assert "paired randomisation" in result.stdout
    assert "no clear difference" in result.stdout, "three topics cannot show a difference"
    assert "left out: T1syn00, T1syn01, T1syn02" in result.stderr


@pytest.mark.parametrize("form", ["tsv", "csv", "latex"])
def test_other_formats(call, golden_runs, form: str) -> None:
    text = call(*golden_runs[:2], "--baseline", "T1syn00", "--format", form).stdout
    assert text.count("T1syn01") == 3


def test_measures_on_request_are_compared(golden_collection, golden_runs) -> None:
    arguments = [str(golden_collection.path), *map(str, golden_runs[:2]), "--baseline", str(golden_runs[0])]
    shown = CliRunner().invoke(command, [*arguments, "-m", "NDKL", "-m", "AWRF@10"], catch_exceptions=False).stdout
    assert "NDKL" in shown
    assert "AWRF@10" in shown
