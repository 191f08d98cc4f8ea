"""An index on OpenSearch: its address, its mapping, how pages become documents and requests that add them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import orjson

from evenrank.errors import EvenrankError
from evenrank.retrieval.engine.analysis import Analyser, analyse, analyser_for, field_texts
from evenrank.retrieval.engine.protocol import (
    POSITION_FIELDS,
    SHOWN_FIELDS,
    TEXT_FIELDS,
    IndexLayout,
    IndexPage,
    set_bits,
    shown_texts,
)

SCHEME = "opensearch://"
ADDRESS_FORM = "opensearch://HOST:PORT[,HOST:PORT…][/NAME][?shards=N]"
PAGES_PER_REQUEST = 500
MOST_HITS = 200_000
"""Pages that one search may ask for."""
PAGES_PER_SHARD = 500_000
"""A search costs less on few shards; articles of this number take about 2 GB."""
MOST_TERMS = 65_536
"""Page ids that one clause of a restriction may name."""


@dataclass(frozen=True)
class Address:
    """Where an index lives."""

    hosts: tuple[str, ...]
    name: str
    """Alias under which the finished index is found; indexes of builds are named after it."""
    n_shards: int | None
    """Primary shards; None for `shards_for` the number of pages."""

    @classmethod
    def parse(cls, text: str, folder: Path) -> Address:
        """The address that a user wrote; without a name, one is derived from the index's folder."""
        place, _, options = text.removeprefix(SCHEME).partition("?")
        hosts, _, name = place.partition("/")
        listed = tuple(host.strip() for host in hosts.split(",") if host.strip())
        known = dict(parse_qsl(options))
        shards = known.pop("shards", None)
        if not listed or known or (shards is not None and not (shards.isdecimal() and int(shards) > 0)):
            raise EvenrankError(f"{text!r} is not the address of an index (write: {ADDRESS_FORM})")
        return cls(listed, name or _derived_name(folder), None if shards is None else int(shards))


def _derived_name(folder: Path) -> str:
    digest = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    return f"evenrank-{digest}"


def shards_for(n_pages: int) -> int:
    """Primary shards of an index for so many pages."""
    return max(1, math.ceil(n_pages / PAGES_PER_SHARD))


def index_settings(n_shards: int) -> dict[str, Any]:
    """Settings of a new index: words arrive analysed, every shard has a copy, refreshing is left to commits."""
    return {
        "index": {
            "number_of_shards": n_shards,
            "number_of_replicas": 1,
            "replication.type": "SEGMENT",
            "refresh_interval": "-1",
            "max_result_window": MOST_HITS,
            "max_terms_count": MOST_TERMS,
            "similarity.default": {"type": "BM25", "k1": 1.2, "b": 0.75},
        }
    }


def mapping_of(layout: IndexLayout) -> dict[str, Any]:
    """The fields of an index. Of a document only what people are shown is kept as it was."""
    properties: dict[str, Any] = {
        name: {
            "type": "text",
            "analyzer": "whitespace",
            "index_options": "positions" if name in POSITION_FIELDS else "freqs",
        }
        for name in TEXT_FIELDS
    }
    number = {"type": "long", "index": False}
    properties |= {"page_id": {"type": "long"}, "quality_class": number}
    properties["quality_score"] = {"type": "double", "index": False}
    properties |= {name: {"type": "keyword", "index": False, "doc_values": False} for name in SHOWN_FIELDS}
    for dimension in layout.groups:
        properties[dimension] = number
        properties[f"{dimension}_group"] = {"type": "long"}
    return {
        "dynamic": False,
        "_source": {"includes": list(SHOWN_FIELDS)},
        "_meta": {"mark": "", "language": layout.language},
        "properties": properties,
    }


def index_document(page: IndexPage, layout: IndexLayout, analyser: Analyser) -> dict[str, Any]:
    """The document of a page, its texts as words joined by spaces."""
    document: dict[str, Any] = {
        name: " ".join(analyse(analyser, name, text)) for name, text in field_texts(page, analyser).items()
    }
    document["page_id"] = page.page_id
    document |= {name: text.decode() for name, text in shown_texts(page).items()}
    for name in layout.groups:
        mask = int(page.masks.get(name, 1))
        document |= {name: mask, f"{name}_group": list(set_bits(mask))}
    document["quality_class"] = page.quality_class
    if not math.isnan(page.quality_score):
        document["quality_score"] = page.quality_score
    return document


def bulk_bodies(pages: Iterable[IndexPage], layout: IndexLayout) -> Iterator[bytes]:
    """Requests that add pages, each for some hundred of them; a pure function, for any machine."""
    analyser = analyser_for(layout.language)
    remaining = iter(pages)
    while batch := list(islice(remaining, PAGES_PER_REQUEST)):
        pairs = (({"index": {"_id": str(page.page_id)}}, index_document(page, layout, analyser)) for page in batch)
        yield bulk_lines(line for pair in pairs for line in pair)


def bulk_lines(records: Iterable[Any]) -> bytes:
    """Records as the bulk interface takes them, one a line."""
    return b"".join(orjson.dumps(record) + b"\n" for record in records)
