"""Every reader of a file that a user may give, as a function of a path; bad input raises EvenrankError."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from evenrank.app.articles.source import EntriesError, SourceEntry, parse_entries
from evenrank.app.articles.titles import read_subjects
from evenrank.app.assess.judging import read_guidelines
from evenrank.app.settings import read_sign_in
from evenrank.app.storage.backup import restore_backup
from evenrank.core.exposure import parse_attention
from evenrank.core.groups import named_dimension
from evenrank.core.text_ids import TextIds
from evenrank.errors import EvenrankError
from evenrank.io.articles import open_articles, read_articles
from evenrank.io.content import RawBatch, read_batches
from evenrank.io.corpus import PAGE_END, read_site
from evenrank.io.faults import FaultLog
from evenrank.io.json_lines import read_records
from evenrank.io.metadata import read_metadata
from evenrank.io.name_lists import NameLists
from evenrank.io.runs import read_run, record_path
from evenrank.io.topics import read_qrels, read_topics
from evenrank.ranking.rerank import rerank
from evenrank.retrieval.learn.learned_model import load
from evenrank.scoring.score import score
from evenrank.trec.assessment.files import import_topics, parse_vote
from evenrank.trec.assessment.pool_file import read_pool
from evenrank.trec.assessment.votes import Store, create_store
from evenrank.trec.dimensions import DIMENSIONS, read_dimension
from evenrank.trec.target_choice import read_target_table
from evenrank.wikipedia.annotate.dump_pages import annotate_history, annotate_page_props, annotate_pages
from evenrank.wikipedia.annotate.entities import annotate_entities
from tests.robustness.corpus import folder_of

Reader = Callable[[Path], object]


def _articles(path: Path) -> list[object]:
    return list(read_articles(path, FaultLog()))


def _batches(function: Callable[[RawBatch], object], record_end: bytes, path: Path) -> list[object]:
    return [function(batch) for batch in read_batches(path, FaultLog(), record_end=record_end)]


def _dump(path: Path) -> list[object]:
    return _batches(partial(annotate_pages, site=read_site(path)), PAGE_END, path)


def _entries(path: Path) -> list[SourceEntry]:
    """What somebody sends to the web app as a file, decoded as it decodes it."""
    try:
        return parse_entries(path.read_bytes().decode("utf-8", "replace"), path.name)
    except EntriesError as error:
        raise EvenrankError(str(error)) from error


def _backup(path: Path) -> None:
    target = path.with_name("restored.sqlite")
    try:
        restore_backup(path, {"store": target}, replace=True)
    finally:
        target.unlink(missing_ok=True)


def _items(path: Path) -> object:
    """A table as rankings, as groups and as judgments of rankings; whatever is wrong with it must be said."""
    rankings = {"q1": ["a", "b", "c"], "q2": ["b", "a"]}
    for given in ({"groups": path}, {"relevance": path}, {"target": path, "groups": {"a": "x", "b": "y", "c": "x"}}):
        with suppress(EvenrankError):
            score(rankings, **given)  # type: ignore[arg-type]
    return score(path, {"a": "x", "b": "y"})


CAMPAIGN = folder_of("campaign")
"""Small valid files of each campaign."""


def _campaign(path: Path) -> None:
    """A file as each of the files of each campaign, beside valid ones; whatever is wrong with it must be said."""
    of_2019 = {
        "rankings": "run_2019",
        "relevance": "qrels_2019",
        "groups": "groups_2019",
        "sequences": "sequences_2019",
    }
    of_2020 = {"rankings": "run_trec", "relevance": "qrels_2020"}
    of_fairweb = {"groups": "memberships_fairweb", "target": "target_fairweb", "relevance": "qrels_fairweb"}
    of_2019["sequences"] = "sequences_2019"
    inputs = {"trec-2019": of_2019, "trec-2020": of_2020, "fairweb-1": {"rankings": "run_trec", **of_fairweb}}
    error: EvenrankError | None = None
    for protocol, names in inputs.items():
        for replaced in names:
            files = {key: path if key == replaced else CAMPAIGN / name for key, name in names.items()}
            try:
                score(**files, protocol=protocol)  # type: ignore[arg-type]
            except EvenrankError as caught:
                error = caught
    if error is not None:
        raise error


def _reranked(path: Path) -> object:
    return rerank(path, {"a": "x", "b": "y", "c": "x"}, workers=1)


def _as_named(read: Callable[[Path], object], *endings: str) -> Reader:
    """A reader that goes by the ending of a file's name, with each ending in turn."""

    def read_all(path: Path) -> None:
        error: EvenrankError | None = None
        for ending in endings:
            named = path.with_suffix(ending)
            named.write_bytes(path.read_bytes())
            named.chmod(0o600)
            try:
                read(named)
            except EvenrankError as caught:
                error = caught
            finally:
                named.unlink()
        if error is not None:
            raise error

    return read_all


class _JudgedTopics:
    """Topics with judgments, imported into a judgments file; one that is refused must leave nothing in it.

    So the file serves until an import succeeds: making one takes far longer than most imports.
    """

    store: Store | None = None

    def __call__(self, path: Path) -> None:
        if self.store is None or not Path(self.store.path).exists():
            self.store = create_store(path.with_name("store"))
        try:
            import_topics(self.store, path, "ann")
        except EvenrankError:
            assert self.store.connection.execute("SELECT count(*) FROM vote").fetchone()[0] == 0
            raise
        self.store.close()
        for name in ("store", "store-wal", "store-shm"):
            path.with_name(name).unlink(missing_ok=True)


def _record(path: Path) -> object:
    """The record beside a run, which `read_run` looks into."""
    run = path.with_name("run.tsv")
    run.write_text("id\tpage_id\n1\t5\n")
    record_path(run).write_bytes(path.read_bytes())
    return read_run(run)


def _text_articles(path: Path) -> list[object]:
    file = open_articles(path, has_text_ids=True)
    return [file.parse(batch) for batch in read_batches(path, FaultLog(), record_end=b"\n")]


def _metadata(path: Path) -> object:
    """Metadata with all dimensions and the classes of pages."""
    return read_metadata(path, tuple(DIMENSIONS.values()), optional=tuple(DIMENSIONS), names=NameLists("instance_of"))


OUTLET = named_dimension("outlet", "publisher", ("public", "commercial"), background=(0.5, 0.5), source="a test")

READERS: dict[str, Reader] = {
    "run": read_run,
    "qrels": read_qrels,
    "topics": partial(read_topics, split="eval"),
    "metadata": _metadata,
    "pool": read_pool,
    "votes": partial(read_records, parse=parse_vote),
    "corpus": _articles,
    "dump": _dump,
    "wikidata": partial(_batches, partial(annotate_entities, wiki="enwiki", with_gender=True), b"\n"),
    "page_props": partial(_batches, annotate_page_props, b"\n"),
    "history": partial(_batches, annotate_history, PAGE_END),
    "model": load,
    "items": _items,
    "campaign": _campaign,
    "attention": lambda path: parse_attention(f"table:{path}"),
    "entries": _entries,
    "backup": _backup,
    "rerank": _reranked,
    "target": read_target_table,
    "dimension": lambda path: read_dimension(f"outlet=publisher:{path}"),
    "own_metadata": lambda path: read_metadata(path, (OUTLET,), ids=TextIds()),
    "text_run": lambda path: read_run(path, TextIds()),
    "text_qrels": lambda path: read_qrels(path, ids=TextIds()),
    "text_topics": lambda path: read_topics(path, "eval", TextIds()),
    "text_corpus": _text_articles,
    "judged_topics": _JudgedTopics(),
    "record": _record,
    "subjects": _as_named(read_subjects, ".csv", ".tsv", ".jsonl"),
    "guidelines": read_guidelines,
    "sign_in": _as_named(read_sign_in, ".toml"),
}
"""Name → reader; `corpus/NAME` holds the inputs that its fuzzing starts from."""
