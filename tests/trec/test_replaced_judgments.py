"""Other judgments for the topics of a collection: everything else stays as it was."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

import evenrank
from evenrank.cli.main import cli
from evenrank.errors import EvenrankError, InputError
from evenrank.io.judgment_record import write_judgment_record
from evenrank.trec.generate.settings import world_settings


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection with an index."""
    folder = tmp_path_factory.mktemp("judged") / "c"
    evenrank.build_index(evenrank.generate_collection(folder, world_settings(n_pages=400, n_topics=4, seed=4)))
    return folder


@pytest.fixture
def collection(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "c")


def test_judgments_alone_are_replaced(collection: Path, tmp_path: Path) -> None:
    """Those of the topics in the file; pages, texts and the index that is in use stay."""
    before = evenrank.Collection.open(collection)
    first, second = [topic for topic in before.topics if topic.split == "eval"][:2]
    pages = before.page_ids[:3].tolist()
    qrels = tmp_path / "other.qrels"
    qrels.write_text(f"{first.id} 0 {pages[0]} 1\n{first.id} 0 {pages[1]} 0\n99 0 {pages[2]} 2\n")
    result = CliRunner().invoke(cli, ["collection", "import", str(collection), "--qrels", str(qrels)])
    assert result.exit_code == 0, result.output
    after = evenrank.Collection.open(collection)
    judged = after.topic_by_id[first.id]
    assert (judged.title, judged.keywords, judged.split) == (first.title, first.keywords, "eval")
    assert (judged.rel_docs.tolist(), judged.assessed_docs.tolist()) == (pages[:1], pages[:2])
    assert after.topic_by_id[second.id].rel_docs.tolist() == second.rel_docs.tolist()
    assert after.topic_by_id[99].rel_docs.tolist() == pages[2:]
    assert after.manifest.counts["eval_topics"] == before.manifest.counts["eval_topics"] + 1
    assert after.manifest.index_folder == before.manifest.index_folder
    assert after.manifest.sources["topic_changes_1"].path.endswith("other.qrels")
    assert after.page_ids.tolist() == before.page_ids.tolist()
    assert evenrank.search(after, "river") == evenrank.search(before, "river")
    assert CliRunner().invoke(cli, ["doctor", str(collection)]).exit_code == 0


def test_the_record_beside_judgments_is_read(collection: Path, tmp_path: Path) -> None:
    """How deep topics were judged, and which runs were withdrawn."""
    topic = evenrank.Collection.open(collection).topics[0]
    page = int(evenrank.Collection.open(collection).page_ids[0])
    qrels = tmp_path / "campaign.qrels"
    qrels.write_text(f"{topic.id} 0 {page} 1\n")
    pooled = [{"name": name, "fingerprint": f"print of {name}"} for name in "ab"]
    record = {"max_grade": 1, "topics": [{"topic": topic.id, "max_tier": 2}], "pooled_runs": pooled}
    write_judgment_record(qrels, {**record, "withdrawn_runs": ["b"]})
    after = evenrank.replace_judgments(collection, qrels)
    assert after.topic_by_id[topic.id].max_tier == 2
    assert after.campaign is not None
    assert after.campaign.withdrawn == {"b": "print of b"}


def test_wrong_judgments_leave_the_collection_as_it_is(collection: Path, tmp_path: Path) -> None:
    def files() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in collection.rglob("*") if path.is_file()}

    before, qrels = files(), tmp_path / "wrong.qrels"
    qrels.write_text("1 0 x 1\n")
    with pytest.raises(InputError, match=r"wrong\.qrels:1: topic '1' or page 'x'"):
        evenrank.replace_judgments(collection, [qrels])
    assert files() == before
    with pytest.raises(EvenrankError, match="no such folder, so not a collection"):
        evenrank.replace_judgments(tmp_path / "none", qrels)
    refused = CliRunner().invoke(cli, ["collection", "import", str(tmp_path / "none"), "--qrels", str(qrels)])
    assert refused.exit_code == 2
    assert "name the pages: --metadata FILE" in refused.output
