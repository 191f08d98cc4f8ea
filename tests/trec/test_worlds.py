"""Worlds of generated collections: each knob changes what it says and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import evenrank
from evenrank.cli.main import cli
from evenrank.errors import EvenrankError
from evenrank.trec.generate import GeneratedFiles, generate_files
from evenrank.trec.generate.settings import NAMED_GROUPS, GenerateSettings, read_group_values, world_settings

from .generated import records

SIZE = {"n_pages": 4000, "n_topics": 8, "seed": 5}


def made(folder: Path, **world: Any) -> GeneratedFiles:
    return generate_files(folder, world_settings(**{**SIZE, "with_text": False, **world}), workers=1)


def group_counts(files: GeneratedFiles) -> dict[str, int]:
    """Pages by continent and by gender, as the metadata say."""
    counts = dict.fromkeys(NAMED_GROUPS, 0)
    for record in records(files.metadata):
        for group in [*(record["geographic_locations"] or []), *(record["gender"] or [])]:
            if group in counts:
                counts[group] += 1
    return counts


def test_the_record_of_the_usual_world_names_no_knob() -> None:
    assert "noise" not in GenerateSettings().record()
    assert GenerateSettings(noise=1.0).record()["noise"] == 1.0


def test_topics_have_as_many_relevant_pages_as_asked_for(tmp_path: Path) -> None:
    files = made(tmp_path, train_relevant=400, eval_relevant=10)
    assert np.mean([len(topic["rel_docs"]) for topic in records(files.topics)]) == 400
    assert np.mean([len(topic["rel_docs"]) for topic in records(files.eval_qrels)]) == 10


def test_unknown_groups_are_missing_in_the_shares_asked_for_and_in_nothing_else(tmp_path: Path) -> None:
    usual, masked = made(tmp_path / "a"), made(tmp_path / "b", unknown=(("all", 0.5), ("female", 0.9), ("Africa", 0.0)))
    before, after = group_counts(usual), group_counts(masked)
    assert after["Africa"] == pytest.approx(before["Africa"], abs=3)  # second continents of masked pages are gone, too
    assert after["Europe"] / before["Europe"] == pytest.approx(0.5, abs=0.06)
    assert after["male"] / before["male"] == pytest.approx(0.5, abs=0.06)
    assert after["female"] / before["female"] == pytest.approx(0.1, abs=0.06)
    assert usual.topics.read_bytes() == masked.topics.read_bytes()
    assert usual.eval_qrels.read_bytes() == masked.eval_qrels.read_bytes()


def test_retrieval_bias_and_noise_change_texts_alone(tmp_path: Path) -> None:
    size = {"n_pages": 1500, "with_text": True}
    usual = made(tmp_path / "a", **size)
    biased = made(tmp_path / "b", **size, retrieval_bias=(("Asia", -6.0),))
    noisy = made(tmp_path / "c", **size, noise=2.0)
    for files in (biased, noisy):
        assert files.metadata.read_bytes() == usual.metadata.read_bytes()
        assert files.eval_qrels.read_bytes() == usual.eval_qrels.read_bytes()
    assert corpus(noisy) != corpus(usual)
    asian = {r["page_id"] for r in records(usual.metadata) if r["geographic_locations"] == ["Asia"]}
    european = {r["page_id"] for r in records(usual.metadata) if r["geographic_locations"] == ["Europe"]}
    relevant = {page: topic for topic in records(usual.topics) for page in topic["rel_docs"]}
    words = {page: shown_keywords(usual, relevant, group) for page, group in (("asian", asian), ("european", european))}
    after = {
        page: shown_keywords(biased, relevant, group) for page, group in (("asian", asian), ("european", european))
    }
    assert after["asian"] < 0.5 * words["asian"]
    assert after["european"] > 0.8 * words["european"]


def corpus(files: GeneratedFiles) -> list[dict[str, Any]]:
    assert files.corpus is not None
    return records(files.corpus)


def shown_keywords(files: GeneratedFiles, topic_of: dict[int, dict[str, Any]], group: set[int]) -> int:
    """How often relevant pages of a group use words of their topic."""
    return sum(
        page["text"].lower().count(word.lower())
        for page in corpus(files)
        if page["id"] in group and page["id"] in topic_of
        for word in topic_of[page["id"]]["keywords"]
    )


@pytest.mark.parametrize("n_pages, n_topics", [(2_000, 8), (20_000, 48), (6_000_000, 106)])
def test_the_world_of_the_track_is_as_skewed_as_its_size_allows(n_pages: int, n_topics: int) -> None:
    settings = world_settings("track-2021", n_pages=n_pages, n_topics=n_topics)
    assert settings.train_relevant is not None
    assert settings.eval_relevant is not None
    assert settings.train_relevant * settings.n_train_topics <= n_pages
    assert 10 <= settings.eval_relevant <= 281
    assert settings.train_relevant / settings.eval_relevant <= 138
    if n_pages == 6_000_000:
        assert (settings.train_relevant, settings.eval_relevant) == (38_341, 281)


def test_what_a_world_says_can_be_changed() -> None:
    assert world_settings("track-2021", noise=1.0, eval_relevant=20).eval_relevant == 20
    with pytest.raises(EvenrankError, match="unknown world 'track'"):
        world_settings("track")


def test_faults_of_a_world_are_named_all_at_once() -> None:
    with pytest.raises(EvenrankError) as error:
        GenerateSettings(
            noise=-1.0,
            train_relevant=0,
            eval_judgments=5,
            eval_relevant=5,
            retrieval_bias=(("Asia", 50.0), ("men", 1.0)),
            unknown=(("all", 2.0), ("all", 0.1)),
        )
    wanted = ("noise is -1", "training topics", "both mean and total", "Asia is 50", "'men'", "of all is 2", "twice")
    assert [text for text in wanted if text not in str(error.value)] == []


def test_values_of_groups_are_read_from_text() -> None:
    assert read_group_values(["Asia=-2", "female = 0.5"], "--x") == (("Asia", -2.0), ("female", 0.5))
    assert read_group_values(["0.8"], "--x", for_all=True) == (("all", 0.8),)
    with pytest.raises(EvenrankError, match=r"--x 0\.8, Asia: write GROUP=LOGITS"):
        read_group_values(["0.8", "Asia", "Asia=1"], "--x")


def test_the_command_makes_a_world(tmp_path: Path) -> None:
    options = ["--pages", "1000", "--topics", "4", "--no-text", "--world", "track-2021", "--unknown", "male=0.3"]
    result = CliRunner().invoke(cli, ["collection", "generate", str(tmp_path / "w"), *options])
    assert result.exit_code == 0, result.output
    record = evenrank.Collection.open(tmp_path / "w").manifest.settings["generated"]
    assert record["eval_relevant"] == 10
    assert record["unknown"] == [["male", 0.3]]
    wrong = CliRunner().invoke(cli, ["collection", "generate", str(tmp_path / "v"), "--unknown", "x", "--noise", "-1"])
    assert isinstance(wrong.exception, EvenrankError)
    assert "--unknown x" in str(wrong.exception)
    assert "noise is -1" in str(wrong.exception)
    assert not (tmp_path / "v").exists()
