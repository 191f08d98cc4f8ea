"""What `collection import` refuses, and what it warns of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evenrank.core.groups import Dimension
from evenrank.core.records import NO_CLASS, Topic
from evenrank.errors import EvenrankError, Fault, InputError
from evenrank.io.metadata import Metadata
from evenrank.trec.page_rows import PageRows
from evenrank.trec.read_pages import ALWAYS

if TYPE_CHECKING:
    from evenrank.trec.import_files import ImportFiles


def refuse_pipes(files: ImportFiles) -> None:
    """InputError for what can be read only once: files are read, then measured."""
    named = [files.metadata, files.topics, files.corpus, *files.eval_topics, *files.qrels]
    named += [files.page_views, files.subjects]
    pipes = [path for path in named if path and path.exists() and not path.is_file() and not path.is_dir()]
    if pipes:
        raise InputError([Fault(str(path), 0, "not a file of its own", "save it as a file first") for path in pipes])


def refuse_repeated(dimensions: tuple[Dimension, ...]) -> None:
    """EvenrankError when a dimension is given twice."""
    names = [dimension.name for dimension in dimensions]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise EvenrankError(f"dimension {', '.join(repeated)} is given twice (give each name once)")


def refuse_missing_fields(files: ImportFiles, metadata: Metadata) -> None:
    """InputError when no record has the field of a dimension that the user asked for."""
    missing = [dimension for dimension in files.dimensions if dimension.field not in metadata.fields]
    if missing:
        has = ", ".join(sorted(metadata.fields)[:20])
        found = [f"no record has the field {one.field!r} of the dimension {one.name}" for one in missing]
        raise InputError([Fault(str(files.metadata), 0, text, f"its fields are {has}") for text in found])


def warn_of_odd(
    path: Path, metadata: Metadata, dimensions: dict[str, Dimension], warn: Callable[[str], object]
) -> None:
    """Say what is odd in metadata, but not wrong."""
    if metadata.n_repeated:
        lines = "1 line repeats" if metadata.n_repeated == 1 else f"{metadata.n_repeated:,} lines repeat"
        warn(f"{path}: {lines} a page id; the first line of each counts")
    known = [name for name in metadata.masks if dimensions[name].field in metadata.fields]
    if not known:
        warn(f"{path}: no group of any dimension in it, so every page counts as unknown and fairness cannot be scored")
    elif "sub-region" not in known and set(known) & set(ALWAYS):  # metadata of 2022 have sub-regions, not continents
        for name in ALWAYS:
            if name not in known:
                warn(f"{path}: no {name} in it, so every page counts as unknown; score with --groups {','.join(known)}")
    if (metadata.quality_class == NO_CLASS).all():
        warn(f"{path}: no page has a quality class (quality_score_disc or qual_cat), so Task 2 cannot be scored")


def warn_of_judgments(topics: list[Topic], page_ids: NDArray[np.int32], warn: Callable[[str], object]) -> None:
    """Say how many relevant pages the metadata do not have; most of them missing means that files do not belong."""
    pages = PageRows(page_ids)
    for split, of_split in {"train": "training", "eval": "evaluation"}.items():
        named = [topic for topic in topics if topic.split == split]
        judged = [topic.rel_docs for topic in named if len(topic.rel_docs)]
        if named and not judged:
            warn(f"no {of_split} topic has relevant pages (rel_docs, or --qrels), so no run can be scored on them")
        n_judged = sum(map(len, judged))
        n_missing = n_judged - sum(int(pages.contain(each).sum()) for each in judged)
        if n_missing:
            found = f"relevant pages of {of_split} topics that are not in the metadata: {n_missing:,} of {n_judged:,}"
            asked = " (are these judgments of another collection?)" if 2 * n_missing > n_judged else ""
            warn(f"{found}; they count in nDCG, never in a target{asked}")
