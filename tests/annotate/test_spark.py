"""The labeller on a real Spark with two worker processes gives the same file as on this machine's processes."""

from __future__ import annotations

import bz2
import shutil
from dataclasses import replace

import pytest
from dump_sample import write_sample

from evenrank.annotate.about import about_path
from evenrank.annotate.labeller import annotate, stages
from evenrank.annotate.settings import AnnotateSettings, Inputs
from evenrank.annotate.store import WorkStore
from evenrank.errors import InputError

pytest.importorskip("pyspark", reason="the extra 'spark' is not installed")
pytest.importorskip("pyarrow", reason="the extra 'spark' is not installed")
pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not installed"),
    pytest.mark.xdist_group("spark"),
    pytest.mark.slow,
]


@pytest.fixture(scope="module")
def engine():
    from evenrank.annotate.spark import SparkEngine, start_spark

    session = start_spark(master="local-cluster[2,1,1024]")
    yield SparkEngine(session)
    session.stop()


@pytest.fixture
def inputs(tmp_path) -> Inputs:
    return Inputs(*write_sample(tmp_path))


def test_spark_gives_the_same_bytes_as_the_embedded_engine(engine, inputs, tmp_path):
    wikidata = tmp_path / "wikidata.json.bz2"
    wikidata.write_bytes(bz2.compress(inputs.wikidata.read_bytes()))
    inputs = replace(inputs, wikidata=wikidata)
    here, there = tmp_path / "here.json.gz", tmp_path / "there.json.gz"
    annotate(here, inputs, n_workers=1)
    annotate(there, inputs, engine=engine, n_workers=1)
    assert there.read_bytes() == here.read_bytes()
    assert about_path(there).read_bytes() == about_path(here).read_bytes()


def test_a_dump_that_is_cut_off_is_refused_there_too(engine, inputs, tmp_path):
    inputs.wikidata.write_bytes(inputs.wikidata.read_bytes()[:-3])
    entities = stages(inputs, AnnotateSettings())[-1]
    with pytest.raises(InputError, match=r"wikidata\.json: the file is cut off"):
        engine(entities, WorkStore(tmp_path / "rows.sqlite"))
