"""Each attribute alone, each set, and all together."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from evenrank.cli.main import cli
from evenrank.scoring.attributes import evaluate_attributes
from evenrank.trec.import_files import ImportFiles, import_collection

FOLDER = Path(__file__).parents[1] / "golden_2022"
THEIRS = ("sub-geo", "src-geo", "gender", "occ", "alpha", "age", "pop", "langs", "2021", "Internal", "Demographic")


@pytest.fixture(scope="module")
def folder_2022(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, data = tmp_path_factory.mktemp("attributes") / "c", FOLDER / "data"
    metadata = data / "trec_2022_articles_discrete_assessed.json.gz"
    import_collection(folder, ImportFiles(metadata, eval_topics=(data / "trec_2022_eval_reldocs.jsonl",)))
    return folder


def test_the_published_tables_of_2022(folder_2022: Path) -> None:
    """The organisers' tables by attribute and by set, in one table for each task."""
    results = evaluate_attributes(folder_2022, sorted((FOLDER / "runs" / "2022").glob("*/*.gz")), "official-2022")
    for task in (1, 2):
        table = results.table(task)
        found = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
        by_column = {column.name: column for column in table.columns}
        ours = dict(zip(THEIRS, list(by_column)[1:-1], strict=True)) | {"Overall": "all"}
        for name in ("single", "subset"):
            with (FOLDER / "expected" / f"task{task}-{name}-run-scores.csv").open() as file:
                for row in csv.DictReader(file):
                    run = row.pop("run_name")
                    for column, value in row.items():
                        close = 5e-6 if task == 2 and column in ("alpha", "age", "pop", "langs") else 1e-12
                        assert found[run][by_column[ours[column]]] == pytest.approx(float(value), abs=close)


def test_attributes_of_2021(golden_collection, golden_runs) -> None:
    arguments = ["evaluate", str(golden_collection.path), *map(str, golden_runs), "--protocol", "paper-2021"]
    text = CliRunner().invoke(cli, [*arguments, "--attributes"], catch_exceptions=False).stdout
    assert "Task 1: Score by attribute" in text
    printed = json.loads(CliRunner().invoke(cli, [*arguments, "--attributes", "--format", "json"]).stdout)
    alone = json.loads(CliRunner().invoke(cli, [*arguments, "--groups", "gender", "--format", "json"]).stdout)
    assert [part["groups"] for part in printed["attributes"]] == ["geography", "gender"]
    assert [run["scores"] for run in printed["attributes"][1]["runs"]] == [run["scores"] for run in alone["runs"]]
    refused = CliRunner().invoke(cli, [*arguments, "--attributes", "--groups", "gender"])
    assert refused.exit_code == 2
