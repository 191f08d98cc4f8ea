"""Annotation on a real Spark cluster gives the same file as on this machine's processes, and uses all its workers."""

from __future__ import annotations

import bz2
import json
import subprocess
import sys
from dataclasses import replace
from threading import Thread

import pytest
from dump_sample import HEAD, TAIL, page, write_sample
from tests.spark_cluster import SPLIT_BYTES

from evenrank.errors import EvenrankError, InputError
from evenrank.wikipedia.annotate import labeller, stage
from evenrank.wikipedia.annotate.labeller import annotate, annotate_wikis
from evenrank.wikipedia.annotate.settings import AnnotateInputs
from evenrank.wikipedia.annotate.stage import WorkStore
from evenrank.wikipedia.annotate.write import about_path

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.slow]
N_COPIES = 3000
"""Entities added to the sample, so that its dump has many splits."""


@pytest.fixture
def inputs(tmp_path) -> AnnotateInputs:
    """The sample with a Wikidata dump of many splits; most of its entities are about no page."""
    inputs = AnnotateInputs(*write_sample(tmp_path))
    lines = inputs.wikidata.read_text("utf-8").splitlines()
    more = [
        json.dumps({"type": "item", "id": f"Q{9_000_000 + number}", "claims": {}, "sitelinks": {}, "labels": {}}) + ","
        for number in range(N_COPIES)
    ]
    inputs.wikidata.write_text("\n".join([lines[0], *more, *lines[1:]]) + "\n", "utf-8")
    return inputs


def test_a_cluster_gives_the_same_bytes_though_a_busy_worker_is_killed(spark_session, spark_events, inputs, tmp_path):
    from tools.fleet import spark as cluster

    assert inputs.wikidata.stat().st_size > 8 * SPLIT_BYTES
    here, there = tmp_path / "here.json.gz", tmp_path / "there.json.gz"
    annotate(here, inputs, n_workers=1, subjects=tmp_path / "here.jsonl")
    killer = Thread(target=cluster.kill_when_busy, args=(spark_session, 2))
    killer.start()
    annotate(there, inputs, session=spark_session, subjects=tmp_path / "there.jsonl")
    killer.join()
    assert cluster.WORKERS[1].pid() is None
    cluster.start()
    assert there.read_bytes() == here.read_bytes()
    assert about_path(there).read_bytes() == about_path(here).read_bytes()
    assert (tmp_path / "there.jsonl").read_bytes() == (tmp_path / "here.jsonl").read_bytes()
    assert cluster.most_tasks_at_once(spark_events) >= 2
    assert not list(tmp_path.glob(".there*"))


@pytest.mark.long
def test_bzip2_and_missing_inputs_give_the_same_bytes_too(spark_session, inputs, tmp_path):
    dump = tmp_path / "pages.xml.bz2"
    dump.write_bytes(bz2.compress(inputs.dump.read_bytes()))
    inputs = replace(inputs, dump=dump, wikidata=None, wikidata_ids=None)
    here, there = tmp_path / "here.json.gz", tmp_path / "there.json.gz"
    annotate(here, inputs, n_workers=1)
    annotate(there, inputs, session=spark_session)
    assert there.read_bytes() == here.read_bytes()


def test_the_package_travels_to_the_executors(spark_session):
    from evenrank.spark import send_package

    send_package(spark_session)

    def where(batches):
        import pyarrow

        import evenrank

        for _ in batches:
            yield pyarrow.RecordBatch.from_arrays([pyarrow.array([evenrank.__file__])], ["path"])

    (row,) = spark_session.range(1).mapInArrow(where, "path string").collect()
    assert ".zip" in row.path


def test_a_dump_that_is_cut_off_is_refused_and_leaves_nothing(spark_session, inputs, tmp_path):
    inputs.wikidata.write_bytes(inputs.wikidata.read_bytes()[:-3])
    with pytest.raises(InputError, match=r"wikidata\.json: the file is cut off"):
        annotate(tmp_path / "out.json.gz", inputs, session=spark_session)
    assert not list(tmp_path.glob("*out.json.gz*"))


@pytest.mark.long
def test_finished_inputs_are_kept_and_other_inputs_are_refused(spark_session, inputs, tmp_path, monkeypatch):
    def fail(*_: object) -> None:
        raise EvenrankError("stopped here")

    out = tmp_path / "out.json.gz"
    with monkeypatch.context() as patch:
        patch.setattr(labeller, "_write", fail)
        with pytest.raises(EvenrankError, match="stopped here"):
            annotate(out, inputs, session=spark_session)
    with pytest.raises(EvenrankError, match="unfinished work with other inputs"):
        annotate(out, replace(inputs, wikidata=None), session=spark_session)
    with pytest.raises(EvenrankError, match="unfinished work with other inputs"):
        annotate(out, inputs, n_workers=1)
    read = []
    monkeypatch.setattr(stage, "read_stage", lambda *stage: read.append(stage))
    annotate(out, inputs, session=spark_session)
    assert not read
    here = tmp_path / "here.json.gz"
    annotate(here, inputs, n_workers=1)
    assert out.read_bytes() == here.read_bytes()


@pytest.mark.long
def test_rows_that_were_kept_are_not_kept_again(spark_session, inputs, tmp_path, monkeypatch):
    def stop_at_second(store, stage, *rest):
        add(store, stage, *rest)
        if stage == labeller.ENTITIES:
            raise KeyboardInterrupt

    here, there = tmp_path / "here.json.gz", tmp_path / "there.json.gz"
    annotate(here, inputs, n_workers=1)
    add = WorkStore.add
    with monkeypatch.context() as patch:
        patch.setattr(WorkStore, "add", stop_at_second)
        with pytest.raises(KeyboardInterrupt):
            annotate(there, inputs, session=spark_session)
    monkeypatch.setattr(stage, "read_stage", None)
    annotate(there, inputs, session=spark_session)
    assert there.read_bytes() == here.read_bytes()
    assert about_path(there).read_bytes() == about_path(here).read_bytes()


@pytest.mark.long
@pytest.mark.timeout(900)
def test_several_wikis_give_the_same_bytes_from_one_reading_of_wikidata(spark_session, tmp_path, monkeypatch):
    inputs = AnnotateInputs(*write_sample(tmp_path))
    german = tmp_path / "dewiki.xml"
    head = HEAD.replace("//en.", "//de.").replace("Category", "Kategorie")
    pages = page(71, "Ada Example", "Text. [[Kategorie:Eins]]") + page(73, "Turm von Irgendwo")
    german.write_text(head + pages + TAIL, "utf-8")
    both = {"enwiki": replace(inputs, wikidata_ids=None), "dewiki": AnnotateInputs(german, inputs.wikidata)}
    here, there = tmp_path / "here", tmp_path / "there"
    annotate_wikis(here, both, n_workers=1)
    read, read_stage = [], stage.read_stage
    monkeypatch.setattr(stage, "read_stage", lambda *stage: (read.append(stage[1].path.name), read_stage(*stage)))

    def stop_at_german(out, *arguments, **options):
        if "dewiki" in out.name:
            raise KeyboardInterrupt
        return annotate(out, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(labeller, "annotate", stop_at_german)
        with pytest.raises(KeyboardInterrupt):
            annotate_wikis(there, both, session=spark_session)
    reports = annotate_wikis(there, both, session=spark_session)
    assert set(reports) == {"dewiki"}
    assert sorted(read) == sorted([inputs.wikidata.name, inputs.dump.name, german.name])
    contents = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in (here, there)]
    assert len(contents[0]) == 4
    assert contents[0] == contents[1]


CONNECT = """
import sys
from pathlib import Path

from evenrank.wikipedia.annotate.labeller import annotate
from evenrank.wikipedia.annotate.settings import AnnotateInputs
from evenrank.spark import is_connect, start_spark

if __name__ == "__main__":
    session = start_spark(remote="local[2]", settings={"spark.sql.shuffle.partitions": "2"})
    assert is_connect(session)
    annotate(Path(sys.argv[1]), AnnotateInputs(*map(Path, sys.argv[2:])), session=session)
    session.stop()
"""


@pytest.mark.long
def test_spark_connect_gives_the_same_bytes(inputs, tmp_path):
    """In a process of its own, which starts a server: a process has sessions of one kind."""
    for package in ("grpc", "grpc_status", "zstandard"):
        pytest.importorskip(package, reason="needs the packages of Spark Connect: pip install 'pyspark[connect]'")
    here, there, script = tmp_path / "here.json.gz", tmp_path / "there.json.gz", tmp_path / "connect.py"
    annotate(here, inputs, n_workers=1)
    script.write_text(CONNECT, "utf-8")
    files = [inputs.dump, inputs.wikidata, inputs.wikidata_ids]
    done = subprocess.run([sys.executable, script, there, *files], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert there.read_bytes() == here.read_bytes()
