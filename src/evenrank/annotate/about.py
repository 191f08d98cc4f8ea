"""The sidecar of a metadata file: how it was made, what it covers, and what to be careful about."""

from __future__ import annotations

from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from evenrank.annotate.coverage import SMALL, CoverageRow
from evenrank.annotate.facts import read_toml
from evenrank.annotate.quality import QualityModel
from evenrank.annotate.settings import AnnotateSettings
from evenrank.formats.atomic import atomic_file


class Report(NamedTuple):
    """What came out of a run of the labeller."""

    n_pages: int
    n_with_item: dict[str, int]
    """Pages that found their item, by the way they did."""
    tallies: dict[str, dict[str, Any]]
    """Counts and faults of each input."""
    percentiles: dict[str, float]
    """Caps that come from percentiles."""
    coverage: list[CoverageRow]
    gender_values: Counter[str]
    """How often each raw value of gender occurs."""


def about_path(out: Path) -> Path:
    """`metadata.json.gz` → `metadata.json.gz.about.json`."""
    return out.with_name(f"{out.name}.about.json")


def warnings(with_gender: bool) -> dict[str, str]:
    """The paper's warnings, by subject."""
    texts = read_toml("warnings.toml")
    return {subject: text for subject, text in texts.items() if with_gender or subject != "gender"}


def header_comment(with_gender: bool) -> str:
    """The warnings as one text for the header of the output."""
    return "\n".join([f"Page metadata made by Evenrank {version('evenrank')}.", *warnings(with_gender).values()])


def about(report: Report, settings: AnnotateSettings, model: QualityModel, inputs: dict[str, Any]) -> dict[str, Any]:
    """The sidecar's content. It holds no date, so that equal runs give equal bytes."""
    return {
        "made_by": f"evenrank {version('evenrank')}",
        "warnings": warnings(settings.with_gender),
        "settings": settings.facts(),
        "inputs": inputs,
        "quality": {
            "model": model.name,
            "title": model.title,
            "source": model.source,
            "note": model.note,
            "caps": {feature.name: feature.cap(report.percentiles) for feature in model.features},
        },
        "pages": report.n_pages,
        "pages_with_item": report.n_with_item,
        "read": report.tallies,
        "coverage": [row._asdict() for row in report.coverage],
        "gender_values": _told_apart(report.gender_values),
    }


def _told_apart(values: Counter[str]) -> dict[str, int | str]:
    """Counts by value, most frequent first; those of few people are not given."""
    ordered = sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))
    return {name: n if n >= SMALL else f"<{SMALL}" for name, n in ordered}


def write_about(path: Path, content: dict[str, Any]) -> None:
    with atomic_file(path) as file:
        file.write(orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
