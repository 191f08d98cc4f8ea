"""Estimates from a sample of the pool: exact where all of it is judged, without bias where a part is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import evenrank
from evenrank.cli.main import cli
from evenrank.core.records import Run
from evenrank.errors import EvenrankError
from evenrank.io.runs import write_run
from evenrank.scoring.sampled_pool import MEASURES, sample_pool, sampled_scores
from evenrank.trec.assessment.pool import Pool, build_pool, parse_tier
from evenrank.trec.collection import Collection

DEPTH = 20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sampled") / "c"
    evenrank.generate_collection(folder, n_pages=3000, n_topics=12, seed=4)
    return folder


@pytest.fixture(scope="module")
def runs(folder: Path) -> list[Run]:
    collection = evenrank.Collection.open(folder)
    return [evenrank.oracle_run(collection, 1, p, 3, name=name).run for name, p in (("good", 0.8), ("weak", 0.4))]


@pytest.fixture(scope="module")
def pool(runs: list[Run]) -> Pool:
    return build_pool(runs, [parse_tier("1:3"), parse_tier("1:100")])


def judged(folder: Path, pool: Pool) -> Collection:
    """The collection in which the pages of a pool are judged and no others."""
    collection = evenrank.Collection.open(folder)
    pages: dict[int, list[int]] = {}
    for entry in pool.pages:
        pages.setdefault(entry.topic, []).append(entry.page)
    topics = [
        replace(topic, rel_docs=np.intersect1d(topic.rel_docs, known), assessed_docs=known)
        for topic in collection.topics
        if topic.id in pages
        for known in [np.array(sorted(pages[topic.id]), np.int32)]
    ]
    return collection.with_topics(topics)


@pytest.mark.parametrize("protocol", ["paper-2021", "official-2021"])
def test_a_sample_of_everything_gives_the_usual_scores(
    folder: Path, runs: list[Run], pool: Pool, protocol: str
) -> None:
    collection = judged(folder, pool)
    found = sampled_scores(collection, runs, pool, pool, protocol, depth=DEPTH)
    usual = evenrank.evaluate(collection, runs, protocol, depth=DEPTH, measures=",".join(MEASURES))
    for one in found.scores:
        wanted = usual[one.run].scores[one.measure]
        assert one.estimate == pytest.approx(wanted, abs=1e-6)
        assert one.as_judged == pytest.approx(wanted, abs=1e-6)
        assert one.se == 0.0
        assert one.interval.low <= wanted <= one.interval.high
    assert found.notes == ()


def test_estimates_are_near_the_truth_and_say_how_near(folder: Path, runs: list[Run], pool: Pool) -> None:
    """Over many samples: no bias to speak of, and standard errors as large as the estimates vary."""
    whole = judged(folder, pool)
    truth = {
        (one.run, one.measure): one.estimate for one in sampled_scores(whole, runs, pool, pool, depth=DEPTH).scores
    }
    estimates, errors, plain = (dict[tuple[str, str], list[float]]() for _ in range(3))
    for seed in range(60):
        sample = sample_pool(pool, {2: 0.3}, seed)
        for one in sampled_scores(judged(folder, sample), runs, pool, sample, depth=DEPTH).scores:
            key = one.run, one.measure
            estimates.setdefault(key, []).append(one.estimate)
            errors.setdefault(key, []).append(one.se)
            plain.setdefault(key, []).append(one.as_judged)
    for key, wanted in truth.items():
        values = np.array(estimates[key])
        spread = float(values.std(ddof=1))
        bias = abs(float(values.mean()) - wanted)
        assert bias < 4.0 * spread / np.sqrt(len(values)) + (1e-9 if key[1] == "P" else 0.005), key
        assert np.mean(errors[key]) == pytest.approx(spread, rel=0.35), key
        assert abs(np.mean(plain[key]) - wanted) > 5.0 * bias or key[1] == "AWRF", key


def test_a_sample_keeps_whole_tiers_and_says_which_are_cut(pool: Pool) -> None:
    sample = sample_pool(pool, {2: 0.25}, 1)
    assert sample == sample_pool(pool, {2: 0.25}, 1)
    assert sample != sample_pool(pool, {2: 0.25}, 2)
    assert set(sample.pages) <= set(pool.pages)
    for topic in {entry.topic for entry in pool.pages}:
        sizes = [
            [sum(entry.topic == topic and entry.tier == tier for entry in one.pages) for one in (pool, sample)]
            for tier in (1, 2)
        ]
        assert sizes[0][0] == sizes[0][1]
        assert sizes[1][1] == int(np.ceil(0.25 * sizes[1][0]))
        assert sample.cut[topic] == 2


def test_what_cannot_be_estimated_is_said(folder: Path, runs: list[Run], pool: Pool) -> None:
    sample = sample_pool(pool, {2: 0.3}, 1)
    whole = judged(folder, sample)
    first, *others = whole.topics
    bare = whole.with_topics([replace(first, assessed_docs=first.rel_docs[:0], rel_docs=first.rel_docs[:0]), *others])
    found = sampled_scores(bare, runs, pool, sample, depth=DEPTH)
    assert found.notes[0] == f"topics with a tier of which no page was judged, left out: {first.id}"
    assert "drawn are not judged" in found.notes[1]
    assert first.id not in found.topics["good"]
    unsaid = whole.with_topics([replace(topic, assessed_docs=None) for topic in whole.topics])
    with pytest.raises(EvenrankError, match="say which pages were judged"):
        sampled_scores(unsaid, runs, pool, sample)
    with pytest.raises(EvenrankError, match="Task 2"):
        sampled_scores(whole, evenrank.oracle_run(whole, 2, 0.5, 1, name="two").run, pool, sample)
    with pytest.raises(EvenrankError, match="in the sample and not in the pool"):
        sampled_scores(whole, runs, sample, pool)
    with pytest.raises(EvenrankError, match="no tier 3"):
        sample_pool(pool, {3: 0.5})
    with pytest.raises(EvenrankError, match=r"share of tier 2 is 1\.5"):
        sample_pool(pool, {2: 1.5})


def test_the_commands_draw_and_estimate(folder: Path, runs: list[Run], tmp_path: Path) -> None:
    for run in runs:
        write_run(run, tmp_path / f"{run.name}.tsv.gz")
    files = [str(tmp_path / f"{run.name}.tsv.gz") for run in runs]
    pool, sample = str(tmp_path / "pool.jsonl"), str(tmp_path / "sample.jsonl")

    def call(*words: str, code: int = 0) -> str:
        result = CliRunner().invoke(cli, list(words))
        assert result.exit_code == code, result.output
        return result.output

    call("pool", "build", str(folder), *files, "--tier", "1:10", "--tier", "1:60", "-o", pool)
    assert "pages drawn" in call("pool", "sample", pool, "--share", "2=0.3", "-o", sample)
    text = call("pool", "estimate", str(folder), pool, *files, "--sample", sample, "--depth", "20")
    assert "sample SE" in text
    assert "tier 2: " in text
    found = json.loads(
        call("pool", "estimate", str(folder), pool, *files, "--sample", sample, "--depth", "20", "--format", "json")
    )
    assert {one["measure"] for one in found["scores"]} == set(MEASURES)
    assert "write TIER=SHARE" in call("pool", "sample", pool, "--share", "half", "-o", sample, code=2)
