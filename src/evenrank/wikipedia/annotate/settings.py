"""Settings of the labeller: saved with every output, and compared before work resumes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

Percentiles = Literal["wiki", "enwiki"]
ROWS_VERSION = 3
"""Changes when the rows kept of the dumps hold something else: work of another version cannot be finished."""


@dataclass(frozen=True, slots=True)
class AnnotateInputs:
    """The files to read."""

    dump: Path
    """Wikipedia: `pages-articles` XML, plain, gzip or bzip2."""
    wikidata: Path | None = None
    """Wikidata: JSON dump with one entity a line, plain, gzip or bzip2."""
    wikidata_ids: Path | None = None
    """Wikipedia: SQL dump of the table `page_props`, which names the item of each page."""
    history: Path | None = None
    """Wikipedia: `stub-meta-history` XML, for the dates of creation."""

    def files(self) -> dict[str, Path]:
        """The given files by option name."""
        named = {
            "dump": self.dump,
            "wikidata": self.wikidata,
            "wikidata-ids": self.wikidata_ids,
            "history": self.history,
        }
        return {name: path for name, path in named.items() if path is not None}

    def facts(self) -> dict[str, dict[str, Any]]:
        """Name and size of each file: what distinguishes one version of a dump from another."""
        return {name: {"name": path.name, "n_bytes": path.stat().st_size} for name, path in self.files().items()}


@dataclass(frozen=True, slots=True)
class AnnotateSettings:
    """How to annotate."""

    wiki: str = "enwiki"
    """Name of the wiki in Wikidata's sitelinks."""
    with_gender: bool = True
    """Whether to read and write the gender of people."""
    with_places: bool = True
    """Whether a value that is no country is followed to the countries its item states; the track did not."""
    with_coordinates: bool = True
    """Whether coordinates are looked up in borders."""
    quality_model: str = "v1"
    """Quality model: v1 (2021) or v2 (2022)."""
    quality_caps: Mapping[str, float | None] = field(default_factory=dict)
    """Caps of features that differ from the model's own; None for the wiki's 95th percentile."""
    percentiles: Percentiles = "wiki"
    """Whose 95th percentiles cap the features: the wiki's at hand, or the published ones of English Wikipedia."""

    with_subjects: bool = False
    """Whether items without a page in the wiki are kept, for a list of subjects that could be written."""

    def facts(self) -> dict[str, Any]:
        return asdict(self)

    def reading_facts(self) -> dict[str, Any]:
        """The settings on which stored rows depend; with others, finished work cannot be used."""
        return {"wiki": self.wiki, "with_gender": self.with_gender, "with_subjects": self.with_subjects}
