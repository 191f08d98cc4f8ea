"""What the checksums cost when a collection is opened: the arrays of six million pages, with and without the check.

    python benchmarks/opening.py [--pages 6023415] [--repeats 7]

The files are read once before, so that the system has them in memory; the check is the difference of the medians.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from evenrank.core.rng import derive
from evenrank.trec.arrays import save_titles, save_topics
from evenrank.trec.checksums import folder_facts
from evenrank.trec.collection import Collection
from evenrank.trec.manifest import Manifest, write_manifest


def make_collection(folder: Path, n_pages: int) -> Manifest:
    """Arrays of the right sizes; titles are short, because they are not read at opening."""
    data = folder / "data-1"
    data.mkdir(parents=True)
    rng = derive(0, "opening")
    np.save(data / "page_ids.npy", np.arange(1, n_pages + 1, dtype="<i4"))
    np.save(data / "quality_class.npy", rng.integers(0, 6, n_pages, dtype=np.uint8))
    np.save(data / "quality_score.npy", rng.random(n_pages, dtype=np.float32))
    for name in ("geography", "gender"):
        np.save(data / f"mask-{name}.npy", rng.integers(1, 8, n_pages, dtype=np.uint8))
    np.save(data / "size_bytes.npy", rng.integers(0, 90_000, n_pages, dtype=np.int32))
    save_titles(data, [b"t"] * n_pages)
    save_topics(data, [])
    return Manifest("data-1", ("geography", "gender"), {"pages": n_pages}, {}, files=folder_facts(data))


def median_ms(folder: Path, repeats: int) -> float:
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        Collection.open(folder)
        times.append(time.perf_counter() - begin)
    return 1000 * statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=6_023_415)
    parser.add_argument("--repeats", type=int, default=7)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        manifest = make_collection(folder, chosen.pages)
        found = {}
        for label, kept in (("with", manifest), ("without", replace(manifest, files={}))):
            write_manifest(folder, kept)
            Collection.open(folder)
            found[label] = median_ms(folder, chosen.repeats)
    print(
        f"{chosen.pages:,} pages: opened in {found['without']:.1f} ms without checksums, {found['with']:.1f} ms with;"
    )
    print(f"the check takes {found['with'] - found['without']:.1f} ms")


if __name__ == "__main__":
    main()
