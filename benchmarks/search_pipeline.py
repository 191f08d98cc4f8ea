"""`evenrank index` as a whole, with the processor time of all its processes: reading, wikitext, metadata, index.

python benchmarks/search_pipeline.py COLLECTION
"""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import orjson

from evenrank.retrieval.engine.engines import open_index
from evenrank.trec.collection import Collection

SET_CHILD_SUBREAPER = 36
"""Of Linux' prctl."""


def measure_pipeline(folder: Path) -> dict[str, Any]:
    """Rates, memory and size of a new index of a collection."""
    for old in folder.glob("index*"):
        shutil.rmtree(old)
    adopt_orphans()
    started = time.perf_counter()
    command = "from evenrank.cli.main import main; main()"
    subprocess.run([sys.executable, "-c", command, "index", str(folder)], check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - started
    used = descendants_usage()
    facts = open_index(Collection.open(folder)).statistics()
    return {
        "pages_per_second": facts.n_pages / seconds,
        "pages_per_core_second": facts.n_pages / (used.ru_utime + used.ru_stime),
        "peak_mb": used.ru_maxrss / 1024,
        "size_mb": facts.size_bytes / 1e6,
    }


def adopt_orphans() -> None:
    """Make this process the parent of what its children leave behind (Linux), so that their time is counted."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants_usage() -> resource.struct_rusage:
    """What all descendants used, after the last has ended; memory is that of the largest."""
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return resource.getrusage(resource.RUSAGE_CHILDREN)


if __name__ == "__main__":
    sys.stdout.write(orjson.dumps(measure_pipeline(Path(sys.argv[1]))).decode())
