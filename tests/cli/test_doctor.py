"""`evenrank doctor`: every package that the package's own metadata names, with the extras that need it."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from evenrank.cli import doctor
from evenrank.cli.main import cli

REQUIRES = [
    "numpy>=2.0",
    "click<9,>=8.2",
    'pandas>=2.2; extra == "pandas"',
    "no-such-package>=1; extra == 'fleet'",
    'pandas>=2.2; python_version >= "3.11" and extra == "spark"',
]


def test_packages_and_their_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "requires", lambda name: REQUIRES)
    done = CliRunner().invoke(cli, ["doctor"])
    assert done.exit_code == 0, done.output
    rows = {line.split()[0]: line.split()[1:] for line in done.output.splitlines() if line}
    assert rows["numpy"][1:] == ["everything"]
    assert rows["pandas"][1:] == ["extras", "pandas,", "spark"]
    assert rows["no-such-package"] == ["not", "installed", "extra", "fleet"]
    assert "pip install '.[fleet]'" in done.output


def test_what_is_always_needed_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "requires", lambda name: ["no-such-package>=1"])
    assert CliRunner().invoke(cli, ["doctor"]).exit_code == 1
