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
from evenrank.trec.import_files import ImportFiles
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
    dataset = IR_DATASETS[name]
    folder = Path(home or os.environ.get(HOME) or Path.home() / ".ir_datasets")
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
    path = folder / CACHE / PATHS[facts.name]
    for present in (path, folder / "downloads" / str(facts.md5)):
        if present.exists():
            if fault := download_fault(present, facts, with_md5=present.stat().st_size <= LARGE):
                raise EvenrankError(f"{present}: {fault} (remove it, so that it is downloaded again)")
            return present
    path.parent.mkdir(parents=True, exist_ok=True)
    url = (None if source else facts.url) or source_base(source) + quote(facts.name)
    return fetch_file(path, url, facts)


def _advice(facts: OfficialFile, folder: Path) -> str:
    """What a file that is missing is, and where it would be found."""
    size = f"{facts.size_bytes:,} bytes, md5 {facts.md5}"
    text = f"  missing: {facts.name}, {facts.about} ({size}; put a copy at {folder / CACHE / PATHS[facts.name]}"
    return text + ("; --no-text imports without the articles)" if "corpus" in facts.name else ")")
