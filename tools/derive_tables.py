"""Makes the country tables and the borders of `evenrank/wikipedia/annotate/facts` from their public sources.

    python tools/derive_tables.py COUNTRIES.tsv COUNTRIES-50m.json

COUNTRIES.tsv is Wikimedia's list of countries (CC0); COUNTRIES-50m.json is Natural Earth's 1:50m countries (public
domain) as TopoJSON, e.g. from the npm package `world-atlas`. Needed only when a source changes.
"""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

TABLES = Path(__file__).parents[1] / "src" / "evenrank" / "wikipedia" / "annotate" / "facts"
COLUMNS = {
    "wikidata_id": "wikidata_id",
    "name": "name",
    "iso_numeric": "un_m49_code",
    "continent": "un_continent",
    "sub_region": "un_subcontinent",
}
UNNUMBERED = {"Kosovo": "Q1246", "N. Cyprus": "Q229", "Somaliland": "Q1045", "Indian Ocean Ter.": "Q408"}
"""Areas to which Natural Earth gives no ISO number, and the country they count for; Siachen Glacier is left out."""
EXTRA_NUMBERS = {"158": "Q865"}
"""Taiwan, which the list of countries has without a number."""
OVERSEAS = {
    "Q3769": (-55.0, 2.0, -51.0, 6.0),
    "Q17012": (-62.0, 15.7, -60.9, 16.6),
    "Q17054": (-61.4, 14.3, -60.7, 15.0),
    "Q17070": (55.0, -21.5, 56.0, -20.7),
    "Q17063": (44.9, -13.1, 45.4, -12.5),
    "Q27561": (-68.6, 11.9, -62.9, 17.8),
}
"""Parts that Natural Earth draws with a country on another continent: west, south, east and north of a box."""
UNITS_PER_DEGREE = 1000


def main() -> None:
    source, topology = sys.argv[1:]
    rows = list(csv.DictReader(Path(source).read_text("utf-8").splitlines(), delimiter="\t"))
    with (TABLES / "countries.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([row[name] for name in COLUMNS.values()] for row in rows)
    write_borders(json.loads(Path(topology).read_bytes()), rows)


def write_borders(topology: dict, rows: list[dict[str, str]]) -> None:
    """`borders.npz`: points of all rings, where each ring starts, and its country."""
    by_number = {str(int(row["un_m49_code"])): row["wikidata_id"] for row in rows if row["un_m49_code"]} | EXTRA_NUMBERS
    arcs = [decode(arc, topology["transform"]) for arc in topology["arcs"]]
    rings, countries = [], []
    for shape in topology["objects"]["countries"]["geometries"]:
        number = shape.get("id")
        country = by_number.get(str(int(number))) if number else UNNUMBERED.get(shape["properties"]["name"])
        if country is None:
            print("left out:", shape["properties"]["name"])
            continue
        for ring in rings_of(shape, arcs):
            rings.append(np.rint(ring * UNITS_PER_DEGREE).astype(np.int32))
            countries.append(int(country_of(ring, country)[1:]))
    starts = np.concatenate([[0], np.cumsum([len(ring) for ring in rings])]).astype(np.int32)
    steps = np.diff(np.concatenate(rings), axis=0, prepend=np.zeros((1, 2), np.int32)).astype(np.int32)
    np.savez_compressed(TABLES / "borders.npz", steps=steps, starts=starts, countries=np.array(countries, np.int32))


def country_of(ring: np.ndarray, country: str) -> str:
    """The country a ring counts for: `country`, or the part overseas in whose box the ring lies."""
    if country in ("Q142", "Q55"):
        for part, (west, south, east, north) in OVERSEAS.items():
            if (ring >= (west, south)).all() and (ring <= (east, north)).all():
                return part
    return country


def decode(arc: list[list[int]], transform: dict) -> np.ndarray:
    """Longitudes and latitudes of a TopoJSON arc."""
    return np.cumsum(np.array(arc), axis=0) * transform["scale"] + transform["translate"]


def rings_of(shape: dict, arcs: list[np.ndarray]) -> Iterator[np.ndarray]:
    """Closed rings of a polygon or of several; holes are rings too (even-odd rule)."""
    polygons = [shape["arcs"]] if shape["type"] == "Polygon" else shape["arcs"]
    for polygon in polygons:
        for ring in polygon:
            parts = [arcs[i] if i >= 0 else arcs[~i][::-1] for i in ring]
            yield unwrapped(np.concatenate([parts[0], *(part[1:] for part in parts[1:])]))


def unwrapped(ring: np.ndarray) -> np.ndarray:
    """A ring without jumps from 180 to -180 degrees; one around the South Pole is closed through it."""
    longitude = np.unwrap(ring[:, 0], period=360)
    if abs(longitude[-1] - longitude[0]) < 1:
        return np.column_stack([longitude, ring[:, 1]])
    longitude = np.concatenate([longitude, [longitude[-1], longitude[0], longitude[0]]])
    return np.column_stack([longitude, np.concatenate([ring[:, 1], [-90, -90, ring[0, 1]]])])


if __name__ == "__main__":
    main()
