"""A few assessors and organisers on a server that is killed; `make campaign-load` runs fifty and five."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs the extra web")

from tests.robustness.campaign_load import campaign_load, faults_of


def test_nothing_is_lost_or_doubled_when_the_server_is_killed(tmp_path: Path) -> None:
    load = campaign_load(tmp_path, n_assessors=4, n_organisers=2, n_kills=2, n_answers=60)
    assert faults_of(tmp_path, load) == []
    assert load.n_kills == 2
    assert load.votes.total() > 0
    assert load.rulings.total() > 0
