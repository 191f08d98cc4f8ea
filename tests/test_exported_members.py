"""The public surface: what `from evenrank import …` gives, and that asking for nothing costs nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

import evenrank


def test_every_name_can_be_had_and_the_list_is_complete() -> None:
    assert sorted(evenrank.__all__) == sorted([*evenrank._HOME_OF, "errors", "__version__"])
    assert dir(evenrank) == sorted(evenrank.__all__)
    for name in evenrank.__all__:
        assert getattr(evenrank, name) is not None


def test_names_are_those_of_their_modules() -> None:
    from evenrank.core.records import Run
    from evenrank.scoring.evaluate import evaluate

    assert evenrank.evaluate is evaluate
    assert evenrank.Run is Run


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        evenrank.nothing  # noqa: B018


def test_import_alone_loads_nothing_heavy() -> None:
    code = "import sys, evenrank; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "numpy" not in loaded
    assert not [name for name in loaded if name.startswith("evenrank.")]
