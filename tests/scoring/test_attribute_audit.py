"""Audits: a sample, its answers, the table of errors; and never of people."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import evenrank
from evenrank.cli.main import cli
from evenrank.errors import EvenrankError, InputError
from evenrank.trec.collection import Collection


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return evenrank.generate_collection(tmp_path_factory.mktemp("audit") / "collection", n_pages=2000, n_topics=4)


def answered(collection: Collection, sample: str, path: Path) -> None:
    """Every answer is what is recorded, but recorded Asia is Europe, and half of those without a group are African."""
    space = collection.space("geography").dimension("geography")
    rows = list(csv.DictReader(sample.splitlines()))
    for place, row in enumerate(rows):
        mask = int(collection.masks["geography"][collection.rows_of(np.array([int(row["page_id"])]))[0]])
        name = space.groups[mask.bit_length() - 1]
        row["checked"] = {"Asia": "Europe", "Unknown": "Africa" if place % 2 else "none"}.get(name, name)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["page_id", "title", "checked"])
        writer.writeheader()
        writer.writerows(rows)


def test_a_sample_with_answers_becomes_a_model(collection: Collection, tmp_path: Path) -> None:
    sample = evenrank.audit_sample(collection, "geography", 160, seed=2)
    assert sample == evenrank.audit_sample(collection, "geography", 160, seed=2)
    assert sample != evenrank.audit_sample(collection, "geography", 160, seed=3)
    path, model = tmp_path / "answers.csv", tmp_path / "model.json"
    answered(collection, sample, path)
    arguments = ["attributes", "audit", str(collection.path), "--answers", str(path), "-o", str(model)]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.output
    rows = {row[0]: row for row in evenrank.read_audit(collection, "geography", path).table().rows}
    assert rows["Asia"][2:5] == (20, 20, 1.0)
    assert rows["Europe"][3] == 0
    written = json.loads(model.read_text())["geography"]
    assert written["errors"]["checked"]["Asia"]["Europe"] == 20
    low, high = written["share"]
    assert low < 0.5 < high
    found = evenrank.read_assumptions(model).dimensions["geography"]
    assert found.errors is not None
    groups = collection.space("geography").dimension("geography").groups[1:]
    table = found.errors.expected(groups)
    assert table[groups.index("Europe"), groups.index("Asia")] > 0.2
    assert table.sum(axis=1) == pytest.approx(np.ones(len(groups)))


def test_answers_that_the_model_cannot_carry_are_named(collection: Collection, tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    answered(collection, evenrank.audit_sample(collection, "geography", 160, seed=2), path)
    rows = list(csv.DictReader(path.open()))
    rows[0]["checked"] = ""
    for row in rows[1:]:
        row["checked"] = "none" if row["checked"] == "Oceania" else row["checked"]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    found = CliRunner().invoke(cli, ["attributes", "audit", str(collection.path), "--answers", str(path)])
    assert found.exit_code == 0, found.output
    notes = found.stderr
    assert "note: 1 pages without an answer, left out" in notes
    assert "checked pages of a recorded group belong to none: the model has no such error" in notes
    assert "no checked page recorded as Oceania has a group: any group is as likely for such pages" in notes


def test_people_are_never_judged(collection: Collection, tmp_path: Path) -> None:
    with pytest.raises(EvenrankError, match="never judged one by one"):
        evenrank.audit_sample(collection, "gender")
    path = tmp_path / "other.csv"
    path.write_text(f"page_id,checked\n{int(collection.page_ids[0])},female\n")
    with pytest.raises(EvenrankError, match="never judged one by one"):
        evenrank.read_audit(collection, "gender", path)
    assert evenrank.read_audit(collection, "gender", source=path).counts.sum() == 1


def test_all_faults_of_the_answers_are_reported(collection: Collection, tmp_path: Path) -> None:
    page = int(collection.page_ids[0])
    path = tmp_path / "answers.csv"
    path.write_text(f"page_id,checked\n{page},Atlantis\n99999999,Africa\n{page},Asia\n{page},Asia\n{page},\n")
    with pytest.raises(InputError) as error:
        evenrank.read_audit(collection, "geography", path)
    for part in (":2: checked is 'Atlantis'", ":3: page '99999999'", ":5: page"):
        assert part in str(error.value)
