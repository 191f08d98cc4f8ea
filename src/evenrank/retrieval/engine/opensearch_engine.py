"""The OpenSearch engine: an index on a cluster, which answers as tantivy does because it is given the same words.

A build writes an index of its own and an alias moves to it when the build is complete. Readers search the index that
their collection names, which outlives the next build; when it is gone nevertheless, under a copy of the collection's
folder that nobody renews, they search the one that the alias names. A page's id is its document id: adding it again
replaces it, and a build that was killed resumes.

Answers differ in one thing: a phrase is found here even where a run of forty or more letters, which is no word,
separates its words.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray

from evenrank.errors import NoIndexError
from evenrank.io.atomic import atomic_file
from evenrank.retrieval.engine.analysis import analyse, analyser_for
from evenrank.retrieval.engine.opensearch_index import (
    INDEX_GONE,
    MOST_HITS,
    MOST_TERMS,
    PAGES_PER_REQUEST,
    Address,
    IndexGoneError,
    bulk_bodies,
    bulk_lines,
    connect_cluster,
    count_data_nodes,
    failure_reason,
    index_settings,
    mapping_of,
    patiently,
    send_changes,
    shards_for,
    translated,
)
from evenrank.retrieval.engine.protocol import (
    EVERYTHING,
    EngineUnavailableError,
    Hits,
    IndexLayout,
    IndexPage,
    IndexStatistics,
    Query,
    Restriction,
    StoredPage,
    TextField,
    WeightedTerm,
    merge_terms,
    order_of_ties,
    round_scores,
    set_bits,
    stored_page,
)
from evenrank.trec.manifest import is_index_complete

if TYPE_CHECKING:
    from opensearchpy import OpenSearch


_NO_WORD = "zqnowhereqz"
"""A word of no page."""
NOTHING_STORED = {"_source": False, "stored_fields": "_none_"}
"""Hits without what is stored, ids of documents included: unpacking it takes most of the time of a long answer."""


def search_body(query: Query, n_asked: int) -> dict[str, Any]:
    """The body that asks for the first `n_asked` pages of a query, equal scores by page id."""
    terms = merge_terms(query.terms)
    scoring = [_term_clause(term) for term in terms]
    scoring += [_statistics_clause(field) for field in sorted({term.field for term in terms if term.is_phrase})]
    body: dict[str, Any] = {
        "size": n_asked,
        **NOTHING_STORED,
        "track_total_hits": False,
        "sort": [{"_score": "desc"}, {"page_id": "asc"}],
        "query": {
            "bool": {"should": scoring, "minimum_should_match": 1, "filter": list(_filters(query.restriction))},
        },
    }
    if query.restriction.up_to_page_id is not None:
        # Among the filters, a range makes shards without such a page drop out, and their statistics with them.
        body["post_filter"] = {"range": {"page_id": {"lte": int(query.restriction.up_to_page_id)}}}
    return body


def _term_clause(term: WeightedTerm) -> dict[str, Any]:
    """The best of the alternatives, the words in a row, or all of several words, times the weight."""
    weight = float(term.weight)
    if term.with_words:
        parts = [_best_word(term.field, words, 1.0) for words in (term.words, *term.with_words)]
        return {"bool": {"must": parts, "boost": weight}}
    if term.is_phrase and len(term.words) > 1:
        phrase = {"query": " ".join(term.words), "analyzer": "whitespace", "boost": weight}
        return {"match_phrase": {term.field: phrase}}
    return _best_word(term.field, term.words, weight)


def _best_word(field: str, words: Sequence[str], weight: float) -> dict[str, Any]:
    single = [{"term": {field: {"value": word}}} for word in dict.fromkeys(words)]
    if len(single) == 1:
        return {"term": {field: {"value": words[0], "boost": weight}}}
    return {"dis_max": {"queries": single, "tie_breaker": 0.0, "boost": weight}}


def _statistics_clause(field: str) -> dict[str, Any]:
    """Matches nothing, and makes every shard report the statistics of the field: a shard that lacks the words of a
    phrase reports none for it, and the phrase would be scored as if the shard's pages did not exist."""
    return {"term": {field: {"value": _NO_WORD}}}


def _filters(restriction: Restriction) -> Iterator[dict[str, Any]]:
    for name, mask in restriction.groups.items():
        yield {"terms": {f"{name}_group": list(set_bits(int(mask)))}}
    if restriction.page_ids is not None:
        yield {"bool": {"should": list(_id_clauses(restriction.page_ids)), "minimum_should_match": 1}}


def _id_clauses(page_ids: Sequence[int]) -> Iterator[dict[str, Any]]:
    ids = [int(page_id) for page_id in page_ids]
    for start in range(0, max(1, len(ids)), MOST_TERMS):
        yield {"terms": {"page_id": ids[start : start + MOST_TERMS]}}


NAME_FILE = "opensearch.json"
"""In the index's folder: the name of the index that the build writes."""
QUERIES_PER_REQUEST = 100
IDS_PER_REQUEST = 10_000
WORDS_PER_REQUEST = 1000
BM25_SCALE = 2.2
"""k1 + 1: Lucene leaves this constant factor out of its scores, tantivy does not."""
PREFERENCE = "_primary_first"
"""Copies receive a commit a moment after the primary shards do, so they answer only while a primary is away."""
NEEDED_PARTS = "responses.error,responses._shards,responses.hits.hits.sort,responses.hits.hits.fields"
"""Of an answer, what is sent back: the names that come with every hit would be most of it."""
REMOVAL_SECONDS = 10
"""How long a cluster is waited for that an old index is removed from; the next build tries again."""
LOG = logging.getLogger("evenrank.retrieval")
T = TypeVar("T")
_SPARE = 64
"""Hits asked for beyond k, so that ties at the cut can be ordered."""


REPLICA_SECONDS = 60
"""How long a new index waits for its replicas before pages are sent; a cluster that has no room for them gets on."""


class OpenSearchEngine:
    """`Engine` on an OpenSearch cluster."""

    def __init__(self, client: OpenSearch, address: Address, index: str, layout: IndexLayout) -> None:
        self._connected: OpenSearch | None = client
        self._address = address
        self.index = index
        self.layout = layout
        self._analyser = analyser_for(layout.language)

    @classmethod
    def create(cls, address: str, folder: Path, layout: IndexLayout, n_pages: int | None = None) -> OpenSearchEngine:
        """A new, empty index beside the one that is in use, with shards for `n_pages` if that number is known."""
        place = Address.parse(address, folder)
        client = connect_cluster(place)
        with translated(place):
            existing = client.indices.get(index=f"{place.name}-build-*", allow_no_indices=True)
            numbers = [int(name.rpartition("-")[2]) for name in existing if name.rpartition("-")[2].isdecimal()]
            index = f"{place.name}-build-{max(numbers, default=0) + 1}"
            n_shards = place.n_shards or (count_data_nodes(client) if n_pages is None else shards_for(n_pages))
            with atomic_file(folder / NAME_FILE) as file:  # first, so that the index of a killed build is not forgotten
                file.write(orjson.dumps({"index": index}))
            client.indices.create(
                index=index, body={"settings": index_settings(n_shards), "mappings": mapping_of(layout)}
            )
            if count_data_nodes(client) > 1:  # a shard without its replica is lost with its node
                wanted = {"wait_for_status": "green", "timeout": f"{REPLICA_SECONDS}s"}
                client.cluster.health(index=index, **wanted, request_timeout=2 * REPLICA_SECONDS, ignore=408)
        return cls(client, place, index, layout)

    @classmethod
    def open(cls, address: str, folder: Path, layout: IndexLayout) -> OpenSearchEngine:
        """The index that the build in a folder wrote or is writing."""
        place, index = Address.parse(address, folder), _index_name(folder)
        opened = cls(connect_cluster(place), place, index, layout)
        with translated(place):
            if opened._client.indices.exists(index=index):
                return opened
        if is_index_complete(folder) and opened._has_alias():
            opened._follow_alias()
            return opened
        raise NoIndexError(f"{', '.join(place.hosts)}: there is no index {index} (run: evenrank index)")

    def _has_alias(self) -> bool:
        """Whether the alias names an index with the fields of this one."""
        with translated(self._address):
            if not self._client.indices.exists(index=self._address.name):
                return False
            (found,) = self._client.indices.get_mapping(index=self._address.name).values()
        meta, fields = found["mappings"].get("_meta", {}), found["mappings"].get("properties", {})
        return meta.get("language") == self.layout.language and all(name in fields for name in self.layout.groups)

    def _follow_alias(self) -> None:
        LOG.warning(
            "%s was removed: now searching %s, which may be newer than the data", self.index, self._address.name
        )
        self.index = self._address.name

    def _asked(self, ask: Callable[[str], T]) -> T:
        """The answer of the index; of the one that the alias names, from now on, if it was removed."""
        try:
            return ask(self.index)
        except IndexGoneError:
            if self.index == self._address.name or not self._has_alias():
                raise
            self._follow_alias()
        return ask(self.index)

    @property
    def _client(self) -> OpenSearch:
        if self._connected is None:
            self._connected = connect_cluster(self._address)
        return self._connected

    def add(self, pages: Iterable[IndexPage]) -> None:
        """Add pages; see `Engine.add`."""
        self.add_prepared(bulk_bodies(pages, self.layout))

    def add_prepared(self, bodies: Iterable[bytes]) -> None:
        """Add pages that `bulk_bodies` has prepared, here or on another machine."""
        for body in bodies:
            send_changes(self._client, self._address, self.index, body)

    def delete(self, page_ids: Iterable[int]) -> None:
        """Remove pages; see `Engine.delete`."""
        remaining = iter(page_ids)
        while batch := list(islice(remaining, PAGES_PER_REQUEST)):
            body = bulk_lines({"delete": {"_id": str(page_id)}} for page_id in batch)
            send_changes(self._client, self._address, self.index, body)

    def commit(self, mark: str = "") -> None:
        """Make changes visible; see `Engine.commit`. What was acknowledged is durable already."""
        patiently(lambda: self._commit(mark))

    def _commit(self, mark: str) -> None:
        with translated(self._address):
            self._client.indices.refresh(index=self.index)
            meta = {"mark": mark, "language": self.layout.language}
            self._client.indices.put_mapping(index=self.index, body={"_meta": meta})

    def mark(self) -> str:
        """The mark of the last commit; see `Engine.mark`."""
        with translated(self._address):
            (found,) = self._client.indices.get_mapping(index=self.index).values()
        return str(found["mappings"].get("_meta", {}).get("mark", ""))

    def publish(self) -> None:
        """Move the alias to this index, in one step; the indexes of earlier builds stay (`remove_index`)."""
        alias = self._address.name
        with translated(self._address):
            names = self._client.indices.get(index=f"{alias}-build-*", allow_no_indices=True)
            others = [name for name in sorted(names) if name != self.index and alias in names[name].get("aliases", {})]
            actions = [{"remove": {"index": name, "alias": alias}} for name in others]
            actions.append({"add": {"index": self.index, "alias": alias}})
            self._client.indices.update_aliases(body={"actions": actions})

    def search(self, terms: Sequence[WeightedTerm], k: int, restriction: Restriction = EVERYTHING) -> Hits:
        """The k best pages; see `Engine.search`."""
        (hits,) = self.search_many([Query(terms, k, restriction)])
        return hits

    def search_many(self, queries: Sequence[Query]) -> list[Hits]:
        """The answer to each query, from few requests; a query whose cut lies inside a tie is asked again."""
        found: list[Hits | None] = [None] * len(queries)
        spare = _SPARE
        waiting = [number for number, query in enumerate(queries) if query.k > 0 and query.terms]
        while waiting:
            bodies = [search_body(queries[number], min(queries[number].k + spare, MOST_HITS)) for number in waiting]
            unsettled = []
            for number, body, answer in zip(waiting, bodies, self._ask(bodies), strict=True):
                k = queries[number].k
                page_ids = np.array([hit["sort"][1] for hit in answer], np.int32)
                scores = round_scores(np.array([hit["sort"][0] for hit in answer], np.float64) * BM25_SCALE)
                is_full = len(answer) == body["size"] and body["size"] < MOST_HITS
                if is_full and len(answer) > k and scores[k - 1] == scores[-1]:
                    unsettled.append(number)
                    continue
                order = order_of_ties(scores, page_ids)[:k]
                found[number] = Hits(page_ids[order], scores[order])
            waiting, spare = unsettled, spare * 8
        return [hits if hits is not None else _nothing() for hits in found]

    def _ask(self, bodies: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
        """The hits of each body. Statistics are those of all shards, and an answer of some shards is an error."""
        how = {"search_type": "dfs_query_then_fetch", "allow_partial_search_results": False, "preference": PREFERENCE}
        head = orjson.dumps(how)
        for start in range(0, len(bodies), QUERIES_PER_REQUEST):
            part = bodies[start : start + QUERIES_PER_REQUEST]
            lines = b"".join(head + b"\n" + orjson.dumps(body) + b"\n" for body in part)
            yield from self._asked(partial(self._search_all, lines))

    def _search_all(self, lines: bytes, index: str) -> list[list[dict[str, Any]]]:
        """The hits of the searches in one request."""
        with translated(self._address):
            answers = self._client.msearch(body=lines, index=index, filter_path=NEEDED_PARTS)["responses"]
        for answer in answers:
            if answer.get("error", {}).get("type") == INDEX_GONE:
                raise IndexGoneError(f"{index}: was removed")
            if "error" in answer or answer["_shards"]["failed"]:
                raise EngineUnavailableError(f"{index}: a search failed: {failure_reason(answer)}")
        return [answer.get("hits", {}).get("hits", []) for answer in answers]

    def values(self, name: str, page_ids: Sequence[int]) -> NDArray[np.float64]:
        """One number for each page; see `Engine.values`."""
        found: dict[int, float] = {}
        ids = [int(page_id) for page_id in page_ids]
        for start in range(0, len(ids), IDS_PER_REQUEST):
            part = ids[start : start + IDS_PER_REQUEST]
            body = {
                "size": len(part),
                **NOTHING_STORED,
                "sort": ["_doc"],
                "docvalue_fields": ["page_id", name],
                "query": {"constant_score": {"filter": {"terms": {"page_id": part}}}},
            }
            for answer in self._ask([body]):
                for hit in answer:
                    fields = hit["fields"]
                    if name in fields:
                        found[int(fields["page_id"][0])] = float(fields[name][0])
        return np.array([found.get(page_id, np.nan) for page_id in ids], np.float64)

    def stored(self, page_ids: Sequence[int]) -> list[StoredPage | None]:
        """Title and opening of each page; see `Engine.stored`."""
        ids = [int(page_id) for page_id in page_ids]
        found: list[StoredPage | None] = []
        for start in range(0, len(ids), PAGES_PER_REQUEST):
            part = [str(page_id) for page_id in ids[start : start + PAGES_PER_REQUEST]]
            found += map(_stored, self._asked(partial(self._documents, part)))
        return found

    def _documents(self, ids: list[str], index: str) -> list[dict[str, Any]]:
        with translated(self._address):
            how = {"realtime": "false", "preference": PREFERENCE}
            documents: list[dict[str, Any]] = self._client.mget(body={"ids": ids}, index=index, params=how)["docs"]
        for document in documents:
            if document.get("error", {}).get("type") == INDEX_GONE:
                raise IndexGoneError(f"{index}: was removed")
            if "error" in document:
                raise EngineUnavailableError(f"{index}: a page could not be read: {failure_reason(document)}")
        return documents

    def analyse(self, field: TextField, text: str) -> list[str]:
        """The words of a text as `field` indexes them."""
        return analyse(self._analyser, field, text)

    def document_frequencies(self, field: TextField, words: Sequence[str]) -> list[int]:
        """Number of pages whose field holds each analysed word."""
        numbers: list[int] = []
        for start in range(0, len(words), WORDS_PER_REQUEST):
            part = words[start : start + WORDS_PER_REQUEST]
            filters = {str(place): {"term": {field: word}} for place, word in enumerate(part)}
            body = {"size": 0, "track_total_hits": False, "aggs": {"words": {"filters": {"filters": filters}}}}
            buckets = self._asked(partial(self._counted, body))["aggregations"]["words"]["buckets"]
            numbers += [int(buckets[str(place)]["doc_count"]) for place in range(len(part))]
        return numbers

    def _counted(self, body: dict[str, Any], index: str) -> dict[str, Any]:
        how = {"allow_partial_search_results": "false", "preference": PREFERENCE}
        with translated(self._address):
            answer: dict[str, Any] = self._client.search(body=body, index=index, params=how)
        return answer

    def page_ids(self) -> NDArray[np.int32]:
        """The ids of all pages, ascending."""
        found: list[int] = []
        body: dict[str, Any] = {"size": IDS_PER_REQUEST, **NOTHING_STORED, "sort": [{"page_id": "asc"}]}
        body["query"] = {"match_all": {}}
        while True:
            (hits,) = self._ask([body])
            found += [int(hit["sort"][0]) for hit in hits]
            if len(hits) < IDS_PER_REQUEST:
                return np.array(found, np.int32)
            body["search_after"] = [found[-1]]

    def statistics(self) -> IndexStatistics:
        """How large the index is; without copies."""
        primaries = self._asked(self._primaries)
        return IndexStatistics(
            primaries["docs"]["count"], primaries["segments"]["count"], primaries["store"]["size_in_bytes"]
        )

    def _primaries(self, index: str) -> dict[str, Any]:
        with translated(self._address):
            found: dict[str, Any] = self._client.indices.stats(index=index)["_all"]["primaries"]
        if "docs" not in found:  # an index that is being removed loses its shards first
            raise IndexGoneError(f"{index}: its shards are not there")
        return found

    def refresh(self) -> None:
        """Nothing to do: what is committed is visible to every client."""

    def close(self) -> None:
        """Let go of the connections; they are made again when the index is used again."""
        if self._connected is not None:
            self._connected.close()
            self._connected = None


def _index_name(folder: Path) -> str:
    """The index on the cluster that belongs to a folder; NoIndexError when it names none."""
    try:
        return str(orjson.loads((folder / NAME_FILE).read_bytes())["index"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NoIndexError(f"{folder}: does not name an index on OpenSearch (run: evenrank index)") from error


def remove_index(address: str, folder: Path) -> None:
    """Remove the index on the cluster that belongs to a folder, unless it is the one that the alias names."""
    place, index = Address.parse(address, folder), _index_name(folder)
    client = connect_cluster(place)
    try:
        with translated(place):
            found = client.indices.get(index=index, ignore_unavailable=True, request_timeout=REMOVAL_SECONDS)
            if index in found and place.name not in found[index].get("aliases", {}):
                client.indices.delete(index=index, ignore_unavailable=True, request_timeout=REMOVAL_SECONDS)
    finally:
        client.close()


def _stored(document: dict[str, Any]) -> StoredPage | None:
    if not document.get("found"):
        return None
    return stored_page(int(document["_id"]), document["_source"])


def _nothing() -> Hits:
    return Hits(np.empty(0, np.int32), np.empty(0, np.float64))
