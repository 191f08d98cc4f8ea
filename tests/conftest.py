"""Order of the tests, and data that several packages share: the golden collection and the published tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from tools.fleet.postgres import PostgresServer

from evenrank.trec.collection import Collection
from evenrank.trec.import_files import ImportFiles, import_collection
from tests.postgres_server import remove_tables, running_postgres
from tests.spark_cluster import running_spark

settings.register_profile("evenrank", deadline=None)  # machines are noisy: no timed assertion
settings.load_profile("evenrank")

HERE = Path(__file__).parent

# What takes longest begins first, so that no worker is left with it at the end.
FIRST = (
    "browser",
    "docs",
    "wikipedia/annotate/test_spark.py",
    "retrieval/engine",
    "wikipedia/mediawiki",
    "robustness",
    "cli",
    "app",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests of one file stay on one worker, which makes their fixtures once; pages of the docs are independent."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None and "docs" not in item.path.parts:
            item.add_marker(pytest.mark.xdist_group(str(item.path.relative_to(HERE))))
    items.sort(key=lambda item: _place(item.path.relative_to(HERE).as_posix()))


def _place(path: str) -> int:
    return next((place for place, start in enumerate(FIRST) if path.startswith(start)), len(FIRST))


@pytest.fixture(scope="session", autouse=True)
def _no_fetched_networks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests see the networks of installed packages only, whatever was fetched on this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EVENRANK_MODELS", str(tmp_path_factory.mktemp("models")))
        yield


@pytest.fixture(scope="session")
def golden_folder() -> Path:
    """A small data set in the official formats, with what the organisers' code prints for it under `expected`."""
    return HERE / "golden"


@pytest.fixture(scope="session")
def golden_files(golden_folder: Path) -> ImportFiles:
    data = golden_folder / "data"
    return ImportFiles(
        metadata=data / "trec_metadata_eval.json.gz",
        topics=data / "trec_topics.json.gz",
        eval_topics=(data / "eval-topics-with-qrels.json.gz",),
    )


@pytest.fixture(scope="session")
def golden_collection(golden_files: ImportFiles, tmp_path_factory: pytest.TempPathFactory) -> Collection:
    return import_collection(tmp_path_factory.mktemp("golden") / "collection", golden_files)


@pytest.fixture(scope="session")
def golden_runs(golden_folder: Path) -> list[Path]:
    """Three runs of Task 1 and three of Task 2."""
    return sorted((golden_folder / "runs").glob("*.gz"))


@pytest.fixture(scope="session")
def published_folder() -> Path:
    """The tables that the organisers published."""
    return HERE / "published"


@pytest.fixture(scope="session")
def worked_examples(published_folder: Path) -> dict[str, Any]:
    examples: dict[str, Any] = json.loads((published_folder / "worked_examples.json").read_text("utf-8"))
    return examples


@pytest.fixture(scope="session")
def spark_events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where Spark logs what it does."""
    return tmp_path_factory.mktemp("spark-events")


@pytest.fixture(scope="session")
def spark_session(spark_events: Path) -> Iterator[Any]:
    """A session of a Spark cluster; tests that use it are in the group `spark`, so that there is one."""
    with running_spark(spark_events) as session:
        yield session


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server of this test session."""
    with running_postgres() as server:
        yield server


@pytest.fixture
def empty_postgres(postgres: PostgresServer) -> str:
    """The address of a database without tables."""
    remove_tables(postgres)
    return postgres.url
