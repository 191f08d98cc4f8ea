"""What is learned once for each version of a collection: the same from its file as computed, by one worker for all."""

from __future__ import annotations

import errno
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import orjson
import pytest

from evenrank.app.articles import candidates
from evenrank.app.articles.kept import kept_record
from evenrank.app.pages import home, monitoring
from evenrank.app.settings import WebSettings
from evenrank.app.state import AppState, open_state
from evenrank.io import atomic
from evenrank.retrieval.engine.protocol import EngineUnavailableError
from evenrank.trec.collection import Collection
from tests.app.conftest import QUESTION, client_of, posted


@dataclass(frozen=True)
class Number:
    value: float


def opened(collection: Collection, folder: Path) -> AppState:
    return open_state(collection.path, WebSettings(store=folder / "desk.sqlite", facts_folder=folder))


def test_a_second_start_learns_nothing_and_has_the_same(
    generated: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = opened(generated, tmp_path)
    assert first.learned().source.calibration is not None
    monkeypatch.setattr(candidates, "calibrate_source", lambda *_: pytest.fail("learned again"))
    second = opened(generated, tmp_path)
    assert second.learned().goals == first.learned().goals
    assert {task: settings.sharpness for task, settings in first.learned().goals.items()}.keys() == {1, 2}
    one, two = first.learned().source.calibration, second.learned().source.calibration
    assert two is not None
    assert (one.settings, one.prior) == (two.settings, two.prior)
    for name in ("coefficients", "knots", "values"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    first.close()
    second.close()


def test_learning_holds_up_new_lists_alone(
    generated: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = opened(generated, tmp_path)
    saved = posted(client_of(known), "/lists", QUESTION)
    known.close()
    for kept in tmp_path.glob("desk-learned-*"):
        kept.unlink()
    learn, may_end = candidates.calibrate_source, threading.Event()
    monkeypatch.setattr(candidates, "calibrate_source", lambda *asked: may_end.wait(60) and learn(*asked))
    monkeypatch.setattr(monitoring, "READY_SECONDS", 0.3)
    monkeypatch.setattr(home, "PATIENCE_S", 0.1)
    with client_of(opened(generated, tmp_path)) as client:
        assert [client.get(path).status_code for path in ("/", "/about", saved)] == [200, 200, 200]
        answer = client.get("/readyz")
        assert (answer.status_code, answer.json()["engine"], answer.json()["goals"]) == (503, "ok", "away")
        asked = threading.Thread(target=lambda: made.append(posted(client, "/lists", {**QUESTION, "length": "7"})))
        made: list[str] = []
        asked.start()
        asked.join(0.5)
        assert not made
        may_end.set()
        asked.join(60)
        assert client.get(made[0]).status_code == 200
        monkeypatch.setattr(monitoring, "READY_SECONDS", 60.0)
        assert client.get("/readyz").status_code == 200


def test_what_could_not_be_learned_is_tried_again(
    generated: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    state, learn = opened(generated, tmp_path), candidates.calibrate_source
    monkeypatch.setattr(candidates, "calibrate_source", raise_away)
    home.learn_from_training_topics(state)
    assert "the cluster is away" in caplog.text
    monkeypatch.setattr(candidates, "calibrate_source", learn)
    assert client_of(state).post("/lists", data=QUESTION).status_code == 303
    state.close()


def raise_away(*_: object) -> NoReturn:
    raise EngineUnavailableError("the cluster is away")


@pytest.mark.parametrize("content", [b"", b"{", b'{"value": "text"}', b'{"value": 1.0, "more": 2}'])
def test_a_damaged_file_is_made_again(
    generated: Collection, tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    def kept(value: float) -> float:
        return kept_record(generated, tmp_path, "number", "x", Number, lambda: Number(value)).value

    assert kept(1.5) == 1.5
    assert kept(2.5) == 1.5
    (path,) = tmp_path.glob("desk-number-*.json")
    path.write_bytes(content)
    assert kept(3.5) == 3.5
    assert str(path) in caplog.text
    assert orjson.loads(path.read_bytes()) == {"value": 3.5}


def test_other_data_and_other_settings_have_files_of_their_own(generated: Collection, tmp_path: Path) -> None:
    values = iter(range(9))

    def kept(collection: Collection, made_of: str) -> float:
        return kept_record(collection, tmp_path, "number", made_of, Number, lambda: Number(float(next(values)))).value

    other = replace(generated, manifest=replace(generated.manifest, data_folder="data-7"))
    indexed = replace(generated, manifest=replace(generated.manifest, index_folder="index-7"))
    assert [kept(generated, "x"), kept(other, "x"), kept(generated, "x"), kept(indexed, "x")] == [0, 1, 0, 2]
    assert len(list(tmp_path.glob("desk-number-*.json"))) == 2  # those of the last two versions
    assert [kept(indexed, "x"), kept(indexed, "y")] == [2, 3]


def test_one_worker_computes_and_the_others_wait(generated: Collection, tmp_path: Path) -> None:
    made = []

    def make() -> Number:
        made.append(1)
        time.sleep(0.3)
        return Number(1.0)

    work = [
        threading.Thread(target=kept_record, args=(generated, tmp_path, "number", "x", Number, make)) for _ in range(5)
    ]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join()
    assert made == [1]
    assert not list(tmp_path.glob("*.lock"))


def test_a_folder_that_can_only_be_read(
    generated: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(path: Path) -> NoReturn:
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    monkeypatch.setattr(atomic, "remove_stale", refuse)
    for value in (1.0, 2.0):
        made = kept_record(generated, tmp_path, "number", "x", Number, lambda value=value: Number(value))
        assert made.value == value
    assert "computed again at the next start" in caplog.text
    assert not list(tmp_path.iterdir())
