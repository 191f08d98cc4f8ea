"""The formats that lists and draws are exported in: one function each."""

from __future__ import annotations

import re
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.responses import Response

from evenrank.app.exports.listing import (
    ExportFormat,
    Listing,
    csv_text,
    json_text,
    numbered_list,
    run_text,
    sortable_table,
    titles_text,
    tsv_text,
)
from evenrank.app.pages.i18n import Message
from evenrank.plugins import Registry, instances

MAX_FILE_NAME = 80
"""Characters of a title that the name of a file has."""


_BUILT_IN = (
    ExportFormat("table.wiki", "Wikitext, sortable table", "text/plain", sortable_table),
    ExportFormat("list.wiki", "Wikitext, numbered list", "text/plain", numbered_list),
    ExportFormat("csv", "CSV", "text/csv", csv_text),
    ExportFormat("tsv", "TSV", "text/tab-separated-values", tsv_text),
    ExportFormat("json", "JSON", "application/json", json_text),
    ExportFormat("txt", "Plain titles", "text/plain", titles_text),
    ExportFormat("run", "TREC run", "text/plain", run_text),
)
FORMATS: Registry[ExportFormat] = Registry(
    "exports", {form.suffix: form for form in _BUILT_IN}, instances(ExportFormat, lambda form: form.suffix)
)
"""Formats by suffix, those of plug-ins included."""


def format_of(suffix: str) -> ExportFormat:
    """The format of a suffix; 404 when there is none."""
    if suffix not in FORMATS:
        text = "Unknown format .%(suffix)s; choose from %(names)s."
        raise HTTPException(404, Message(text, suffix=suffix, names=", ".join(FORMATS)))
    return FORMATS[suffix]


def export_name(listing: Listing) -> str:
    """The title as a name that every system takes: letters, digits and a few marks; a number where none is left."""
    words = re.sub(r"[^\w.()-]+", " ", listing.title).split()
    name = "_".join(words).strip("._-")[:MAX_FILE_NAME]
    return name or f"{'list' if listing.task == 1 else 'draw'}-{listing.topic}"


def export_listing(listing: Listing, suffix: str) -> Response:
    """The list as a file."""
    form = format_of(suffix)
    name = f"{export_name(listing)}.{suffix}"
    plain = name.encode("ascii", "replace").decode().replace("?", "_")
    headers = {"Content-Disposition": f"inline; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"}
    return Response(form.write(listing), media_type=f"{form.media_type}; charset=utf-8", headers=headers)
