"""What is in a collection: counts, groups and quality as totals, topics, sources."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenrank.core.alignment import align
from evenrank.core.groups import Dimension
from evenrank.core.records import WORK_ORDER
from evenrank.io.name_lists import PageNames
from evenrank.trec.collection import Collection
from evenrank.trec.manifest import waiting_manifest
from evenrank.trec.sources import official_counts

BLOCK = 1 << 20
N_CLASSES = 10
"""Classes of pages that are listed."""
TABLE = ("geography", "gender")
"""Dimensions whose groups are a table, one by the other; those of other dimensions are a line each."""
WARNING = (
    "Gender comes from Wikidata, in four coarse categories; assigning it to people has errors, biases and ethical "
    "concerns.\nContinents are often missing, not at random. Use both as totals only (see the docs, Limitations)."
)


def describe_collection(collection: Collection) -> dict[str, Any]:
    """Counts of pages by group and quality, topics and sources, ready for JSON."""
    joint = group_counts(collection)
    space = collection.space()
    names = [dimension.groups for dimension in space.dimensions]
    return {
        "path": str(collection.path),
        "counts": collection.manifest.counts,
        "official_counts": {k: v == collection.manifest.counts.get(k) for k, v in official_counts().items()},
        "dimensions": list(collection.manifest.dimensions),
        "geography_by_gender": {
            geography: dict(zip(names[1], row, strict=True)) for geography, row in zip(names[0], joint, strict=True)
        },
        "groups": {
            d.name: dict(zip(d.groups, single_counts(collection, d), strict=True)) for d in collection.dimensions
        },
        **({} if collection.classes is None else {"instance_of": pages_by_class(collection.classes)}),
        "quality": pages_by_quality(collection),
        "has_text": collection.corpus is not None,
        "sources": {
            name: {"path": s.path, "size_bytes": s.size_bytes, "md5": s.md5, "official": s.official}
            for name, s in collection.manifest.sources.items()
        },
        "settings": collection.manifest.settings,
        "evenrank_version": collection.manifest.evenrank_version,
        "warning": WARNING.replace("\n", " "),
    }


def group_counts(collection: Collection) -> list[list[int]]:
    """Pages by geography and gender; a page on two continents counts in both."""
    space = collection.space()
    total = np.zeros(space.n_groups)
    for start in range(0, len(collection), BLOCK):
        masks: list[NDArray[np.unsignedinteger]] = [
            np.asarray(collection.masks[d.name][start : start + BLOCK]) for d in space.dimensions
        ]
        total += align(masks, space, (False, False)).total()
    counts: list[list[int]] = total.reshape(space.shape).round().astype(int).tolist()
    return counts


def single_counts(collection: Collection, dimension: Dimension) -> list[int]:
    """Pages by the groups of one dimension; a page of two groups counts in both."""
    masks, counts = np.unique(collection.masks[dimension.name], return_counts=True)
    bits = (masks.astype(np.int64)[:, None] >> np.arange(len(dimension.groups))) & 1
    found: list[int] = (counts @ bits).tolist()
    return found


def pages_by_quality(collection: Collection) -> dict[str, int]:
    """Pages by quality class."""
    counts = np.bincount(collection.quality_class, minlength=len(WORK_ORDER) + 1)
    return dict(zip((*WORK_ORDER, "none"), counts.tolist(), strict=True))


def pages_by_class(classes: PageNames) -> dict[str, int]:
    """Pages by what they are about, for the most frequent classes; a page of two classes counts in both."""
    n_pages = np.bincount(classes.numbers, minlength=len(classes.lists)).tolist()
    counts: Counter[str] = Counter()
    for names, n in zip(classes.lists, n_pages, strict=True):
        counts.update(dict.fromkeys(names, n))
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:N_CLASSES])


def table_text(collection: Collection) -> str:
    """The description as text for people."""
    facts = describe_collection(collection)
    counts = facts["counts"]
    lines = [f"{collection.path}: {counted(counts['pages'], 'page')}" + _corpus_part(counts)]
    for split, name in (("train", "training"), ("eval", "evaluation")):
        topics, judgments = counts[f"{split}_topics"], counts[f"{split}_judgments"]
        lines.append(f"{counted(topics, f'{name} topic')} with {counted(judgments, 'relevant page')}")
    lines.append("")
    is_of_wiki = not collection.manifest.own_dimensions or any(map(collection.has_groups, TABLE))
    has_table = is_of_wiki and (collection.has_groups(TABLE[0]) or "sub-region" not in facts["groups"])
    if has_table:
        lines += [_group_table(facts["geography_by_gender"]), ""]
    for name, groups in facts["groups"].items():
        if name not in TABLE or (is_of_wiki and not has_table and collection.has_groups(name)):
            lines.append(f"{name}: {_counted({group: n for group, n in groups.items() if n})}")
    if facts.get("instance_of"):
        lines.append(f"instance of: {_counted(facts['instance_of'])}")
    lines.append(f"quality: {_counted(facts['quality'])}")
    lines += [f"{name}: {_source_line(source)}" for name, source in facts["sources"].items()]
    if note := waiting_note(collection):
        lines += ["", note]
    return "\n".join([*lines, "", WARNING] if is_of_wiki else lines)


def waiting_note(collection: Collection) -> str:
    """What is to be done when newer data wait for their index, or these do; empty when none do."""
    waiting = waiting_manifest(collection.path)
    if waiting is None:
        return ""
    run = f"run: evenrank index {collection.path}"
    if waiting.data_folder == collection.manifest.data_folder:
        return (
            f"{collection.path} keeps its earlier data and index until these have an index ({run}; "
            "to use them without one, import them again with --at-once)"
        )
    return f"newer data, {counted(waiting.counts['pages'], 'page')}, wait for their index ({run})"


def counted(number: int, noun: str) -> str:
    """A number and what is counted: `1 page`, `2,000 pages`."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _counted(counts: dict[str, int]) -> str:
    return "   ".join(f"{name} {n:,}" for name, n in counts.items())


def _corpus_part(counts: dict[str, int]) -> str:
    if "corpus_pages" not in counts:
        return ", no text"
    without = counts["corpus_pages_without_metadata"]
    return f", {counts['corpus_pages']:,} articles" + (f" ({without:,} of them without metadata)" if without else "")


def _group_table(counts: dict[str, dict[str, int]]) -> str:
    columns = list(next(iter(counts.values())))
    lines = [f"{'pages by group':32}" + "".join(f"{name:>12}" for name in columns)]
    lines += [f"{name:32}" + "".join(f"{row[column]:>12,}" for column in columns) for name, row in counts.items()]
    return "\n".join(lines)


def _source_line(source: dict[str, Any]) -> str:
    kind = {True: "the track's own file", False: "not the track's own file", None: ""}[source["official"]]
    md5 = f"md5 {source['md5']}" if source["md5"] else "md5 not computed"
    return ", ".join(part for part in (source["path"], f"{source['size_bytes']:,} bytes", md5, kind) if part)
