"""The container image is built, and a container of it serves a collection that it can only read."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson
import pytest

from tests.robustness.commands import run
from tests.robustness.refresh_kills import edition_words
from tests.robustness.server import QUESTION, get, post, wait_until_ready

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]


@pytest.fixture(scope="module")
def image() -> str:
    """An image of the present sources."""
    if shutil.which("buildah") is None or os.geteuid() != 0:
        pytest.skip("needs buildah and root (Debian: apt-get install buildah mmdebstrap)")
    from tools.container import ContainerError, build

    try:
        return build("localhost/evenrank-test")
    except ContainerError as error:
        if "mmdebstrap was not found" in str(error):
            pytest.skip(str(error))
        raise


@contextmanager
def served(image: str, collection: Path, state: Path) -> Iterator[int]:
    """The port of a container that serves."""
    from tools.container import buildah, serve_command

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    container = buildah("from", image)
    words = serve_command(container, collection, state, ["--port", str(port), "--log-json"])
    process = subprocess.Popen(words, start_new_session=True, stdout=subprocess.DEVNULL)
    try:
        wait_until_ready(port, process)
        yield port
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.wait(60)
        buildah("rm", container)


def test_a_container_serves_and_another_one_has_what_was_saved(image: str, tmp_path: Path) -> None:
    collection, state = tmp_path / "c", tmp_path / "state"
    state.mkdir()
    for words in (edition_words(collection, tmp_path / "sources", 0), ["index", collection]):
        ended = run(words)
        assert ended.returncode == 0, ended.stderr
    before = sorted(collection.rglob("*"))
    with served(image, collection, state) as port:
        assert get(port, "/readyz")[0] == 200
        status, body = post(port, "/api/lists", orjson.dumps(QUESTION))
        assert status == 201, body
        address = f"/lists/{orjson.loads(body)['token']}"
        assert get(port, address)[0] == 200
    assert sorted(collection.rglob("*")) == before
    assert (state / "desk.sqlite").stat().st_uid != 0
    with served(image, collection, state) as port:
        assert get(port, address)[0] == 200
