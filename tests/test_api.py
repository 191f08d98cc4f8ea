"""The Python API as a notebook uses it: nothing is imported below `evenrank`."""

from __future__ import annotations

import inspect
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import evenrank
from evenrank.errors import (
    DamagedCollectionError,
    EvenrankError,
    NoCollectionError,
    NoIndexError,
    NoModelError,
    UnknownNameError,
    WrongTypeError,
)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> evenrank.Collection:
    made = evenrank.generate_collection(tmp_path_factory.mktemp("api") / "demo", n_pages=2000, n_topics=6, seed=1)
    evenrank.build_index(made)
    return made


def test_rank_score_and_plot_in_a_few_lines(collection: evenrank.Collection, tmp_path: Path) -> None:
    fair = evenrank.rank(collection, task=1, policy="optimal", workers=1, name="fair")
    plain = evenrank.rank(collection, task=1, policy="relevance", workers=1, name="plain")
    results = evenrank.evaluate(collection, [fair.run, plain.run])
    assert results["fair"].scores["AWRF"] > results["plain"].scores["AWRF"]
    assert 0.0 <= fair.certificate["gap"] < 0.03
    assert plain.certificate == {}
    frame = fair.to_pandas()
    assert list(frame.columns) == ["topic", "ranking", "rank", "page_id"]
    assert len(frame) == len(fair.run.pages)
    results.plot().savefig(tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    assert "better" in str(evenrank.compare(results, "plain")) or "no clear" in str(evenrank.compare(results, "plain"))


def test_written_run_is_the_one_of_the_command_line(collection: evenrank.Collection, tmp_path: Path) -> None:
    path = evenrank.rank(collection, 2, "controller", settings={"information": ("geography",)}, seed=3).write(
        tmp_path / "python.tsv"
    )
    options = ["--task", "2", "--policy", "controller", "--set", "information=geography", "--seed", "3"]
    line = [sys.executable, "-m", "evenrank.cli.main", "rank", str(collection.path), *options]
    subprocess.run([*line, "-o", str(tmp_path / "shell.tsv")], check=True, capture_output=True)
    assert path.read_bytes() == (tmp_path / "shell.tsv").read_bytes()


def test_another_collection_in_the_same_place_is_ranked_as_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of a collection is remembered under the name of its folder: notebooks make them anew."""
    monkeypatch.chdir(tmp_path)

    def ranked(name: str, seed: int) -> list[object]:
        made = evenrank.generate_collection(name, n_pages=400, n_topics=4, seed=seed)
        evenrank.build_index(made)
        settings = {"information": ["geography"]}
        return (
            evenrank.rank(made, 1, "optimal", settings=settings, topics="all", workers=1)
            .to_pandas()["page_id"]
            .tolist()
        )

    ranked("c", 1)
    shutil.rmtree("c")
    assert ranked("c", 2) == ranked("other", 2)


def test_packages_with_the_name_of_a_function_are_both(collection: evenrank.Collection) -> None:
    import evenrank.core.target
    import evenrank.retrieval.engine.protocol

    found = evenrank.search(collection, "history museum", k=5)
    assert len(found) == 5 == len(found.to_pandas())
    assert found.page_ids == [row["page_id"] for row in found.rows]
    assert evenrank.retrieval.engine.protocol.Engine is not None
    targets = evenrank.targets(collection, groups="geography")
    assert targets.values.sum(axis=1) == pytest.approx(1.0)
    assert list(inspect.signature(evenrank.search).parameters)[:3] == ["collection", "words", "k"]
    with pytest.raises(UnknownNameError, match=r"unknown group of geography 'Afrika'; choose from .*mean 'Africa'"):
        evenrank.search(collection, "history", groups={"geography": "Afrika"})


def test_pareto_pool_and_report(collection: evenrank.Collection, tmp_path: Path) -> None:
    run = evenrank.rank(collection, 1, "relevance", workers=1).run
    frontier = evenrank.pareto(collection, 1, weights=(0.0, 1.0), candidates=run, workers=1)
    assert [point.fairness for point in frontier.mean] == [0.0, 1.0]
    assert frontier.mean[1].measure >= frontier.mean[0].measure
    assert len(frontier.to_pandas()) == 2 * (len(frontier.topics) + 1)
    pool = evenrank.pool(collection, run, tiers=["1:3"])
    assert len(pool.pages) == 3 * len(frontier.topics)
    evenrank.report(collection, run, tmp_path / "report")
    assert (tmp_path / "report" / "index.html").is_file()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda c: evenrank.rank({"a": 1}), WrongTypeError, "collection: a value of type dict is not accepted"),
        (lambda c: evenrank.rank(c, candidates={"a": 1}), WrongTypeError, "run: a value of type dict is not accepted"),
        (
            lambda c: evenrank.rank(c, settings=["fairness=1"]),
            WrongTypeError,
            "settings: a value of type list is not accepted",
        ),
        (lambda c: evenrank.evaluate(c, 7), WrongTypeError, "run: a value of type int is not accepted"),
        (lambda c: evenrank.pool(c, [None]), WrongTypeError, "run: None is not accepted"),
        (lambda c: evenrank.rank(c, 3), EvenrankError, "task is 3"),
        (lambda c: evenrank.rank(c, 1, "optimol"), UnknownNameError, "did you mean 'optimal'"),
        (lambda c: evenrank.rank(c, topics="evla"), UnknownNameError, "did you mean 'eval'"),
        (lambda c: evenrank.rank(c, model="learned"), NoModelError, "evenrank learn"),
        (lambda c: evenrank.pareto(c, weights=(-1.0,)), EvenrankError, "from 0 to"),
        (lambda c: evenrank.rank("/nowhere"), NoCollectionError, "no such folder"),
    ],
)
def test_wrong_input_is_named(collection: evenrank.Collection, call, error: type[Exception], text: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(error, match=text):
        call(collection)


def test_missing_index_and_damage_can_be_told_apart(tmp_path: Path) -> None:
    made = evenrank.generate_collection(tmp_path / "c", n_pages=300, n_topics=2)
    with pytest.raises(NoIndexError, match="run: evenrank index"):
        evenrank.rank(made)
    (made.data / "page_ids.npy").write_bytes(b"")
    with pytest.raises(DamagedCollectionError, match="import it again"):
        evenrank.Collection.open(made.path)


def test_version_is_that_of_the_package() -> None:
    from importlib.metadata import version

    assert evenrank.__version__ == version("evenrank")
