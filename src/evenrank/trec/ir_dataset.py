"""Data sets of ir_datasets by name: the track's files in its cache, downloaded into it where they are missing.

ir_datasets itself is not needed: its cache has the official files under names of its own, so that both programs share
one copy of 15 GB.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from evenrank.core.types import FilePath
from evenrank.errors import EvenrankError, UnknownNameError
from evenrank.trec.download import download_fault, fetch_file, source_base
from evenrank.trec.import_files import ImportFiles, import_collection
from evenrank.trec.manifest import previous_manifest
from evenrank.trec.sources import LARGE, OfficialFile, official_files

HOME = "IR_DATASETS_HOME"
"""Environment variable that names the folder of ir_datasets."""
CACHE = "trec-fair"
"""Folder of the track in the cache."""


@dataclass(frozen=True)
class IrDataset:
    """The official files of a data set, by name."""

    metadata: str
    corpus: str
    topics: str | None = None
    eval_topics: tuple[str, ...] = ()
    """The file with judgments first."""

    @property
    def topic_files(self) -> tuple[str, ...]:
        return (*([self.topics] if self.topics else []), *self.eval_topics)


_OF_2021 = ("trec_metadata.json.gz", "trec_corpus.json.gz")
_OF_2022 = ("trec_2022_articles_discrete.json.gz", "trec_corpus_20220301_plain.json.gz")
IR_DATASETS: dict[str, IrDataset] = {
    "trec-fair/2021": IrDataset(*_OF_2021),
    "trec-fair/2021/train": IrDataset(*_OF_2021, topics="trec_topics.json.gz"),
    "trec-fair/2021/eval": IrDataset(*_OF_2021, eval_topics=("eval-topics-with-qrels.json.gz", "eval-topics.json.gz")),
    "trec-fair/2022": IrDataset(*_OF_2022),
    "trec-fair/2022/train": IrDataset(*_OF_2022, topics="trec_2022_train_reldocs.jsonl"),
}
"""Data sets of the track that ir_datasets has; it has no evaluation topics of 2022."""
PATHS = {
    "trec_corpus.json.gz": "2021/corpus.json.gz",
    "trec_metadata.json.gz": "2021/metadata.json.gz",
    "trec_topics.json.gz": "2021/train/topics.json.gz",
    "eval-topics.json.gz": "2021/eval/topics.json.gz",
    "eval-topics-with-qrels.json.gz": "2021/eval/topics-with-qrels.json.gz",
    "trec_corpus_20220301_plain.json.gz": "2022/trec_corpus_20220301_plain.json.gz",
    "trec_2022_articles_discrete.json.gz": "2022/trec_2022_articles_discrete.json.gz",
    "trec_2022_train_reldocs.jsonl": "2022/trec_2022_train_reldocs.jsonl",
}
"""Official file → its place in the cache."""


def ir_dataset_files(
    name: str,
    *,
    metadata: FilePath | None = None,
    with_text: bool = True,
    home: FilePath | None = None,
    source: str | None = None,
) -> ImportFiles:
    """The files of a data set such as `trec-fair/2021/eval`, for `import_collection`.

    They are in the cache of ir_datasets (`home`, the folder that `IR_DATASETS_HOME` names, or `~/.ir_datasets`) or are
    downloaded into it, resumed where an earlier download broke off; sizes and md5 are checked. `metadata` takes the
    place of the track's, such as the organisers' own with gender. All files that cannot be had are named in one error.
    """
    if name not in IR_DATASETS:
        raise UnknownNameError("data set of ir_datasets", name, IR_DATASETS)
    dataset, folder = IR_DATASETS[name], _cache_folder(home)
    wanted = [*([dataset.metadata] if metadata is None else []), *([dataset.topics] if dataset.topics else [])]
    wanted += [*dataset.eval_topics, *([dataset.corpus] if with_text else [])]
    found: dict[str, Path] = {}
    missing = []
    for one in wanted:
        try:
            found[one] = _cached(official_files()[one], folder, source)
        except EvenrankError as error:
            missing.append(f"{error}\n{_advice(official_files()[one], folder)}")
    if missing:
        raise EvenrankError("\n".join(missing))
    return ImportFiles(
        metadata=found[dataset.metadata] if metadata is None else Path(metadata),
        topics=found[dataset.topics] if dataset.topics else None,
        eval_topics=tuple(found[one] for one in dataset.eval_topics),
        corpus=found[dataset.corpus] if with_text else None,
    )


def _cached(facts: OfficialFile, folder: Path, source: str | None) -> Path:
    """The file in the cache; downloaded where neither the cache nor ir_datasets' folder of local copies has it."""
    if present := _present(facts, folder):
        return _checked(present, facts)
    path = folder / CACHE / PATHS[facts.name]
    path.parent.mkdir(parents=True, exist_ok=True)
    url = (None if source else facts.url) or source_base(source) + quote(facts.name)
    return fetch_file(path, url, facts)


def _present(facts: OfficialFile, folder: Path) -> Path | None:
    """The file in the cache or among local copies, if it is there."""
    places = (folder / CACHE / PATHS[facts.name], folder / "downloads" / str(facts.md5))
    return next((path for path in places if path.exists()), None)


def _checked(path: Path, facts: OfficialFile) -> Path:
    """The file; EvenrankError when its size or sum is another one."""
    if fault := download_fault(path, facts, with_md5=path.stat().st_size <= LARGE):
        raise EvenrankError(f"{path}: {fault} (remove it, so that it is downloaded again)")
    return path


def cached_collection(name: str) -> Path | None:
    """Where the collection of a data set is whose pages and judgments the cache has; None where they are not there.

    It is made beside the files when it is first asked for, without texts. `trec-fair/2021` has all topics of its parts.
    """
    if name not in IR_DATASETS:
        return None
    parts = [part for key, part in IR_DATASETS.items() if key == name or key.startswith(f"{name}/")]
    folder, known = _cache_folder(None), official_files()
    named = dict.fromkeys(one for part in parts for one in (part.metadata, *part.topic_files))
    found = {one: path for one in named if (path := _present(known[one], folder))}
    judged = [part.topic_files[0] for part in parts if part.topic_files]
    if parts[0].metadata not in found or not found.keys() & set(judged):
        return None
    made = folder / CACHE / "evenrank" / name.removeprefix(f"{CACHE}/").replace("/", "-")
    earlier = previous_manifest(made)
    sources = {source.path for source in earlier.sources.values()} if earlier else set()
    if sources != {str(path.resolve()) for path in found.values()}:
        checked = {one: _checked(path, known[one]) for one, path in found.items()}
        topics = next((checked[part.topics] for part in parts if part.topics in checked), None)
        eval_topics = tuple(checked[one] for part in parts for one in part.eval_topics if one in checked)
        import_collection(made, ImportFiles(checked[parts[0].metadata], topics, eval_topics))
    return made


def _cache_folder(home: FilePath | None) -> Path:
    return Path(home or os.environ.get(HOME) or Path.home() / ".ir_datasets")


def _advice(facts: OfficialFile, folder: Path) -> str:
    """What a file that is missing is, and where it would be found."""
    size = f"{facts.size_bytes:,} bytes, md5 {facts.md5}"
    text = f"  missing: {facts.name}, {facts.about} ({size}; put a copy at {folder / CACHE / PATHS[facts.name]}"
    return text + ("; --no-text imports without the articles)" if "corpus" in facts.name else ")")
