"""Every reader on changed files: it reads them or refuses them with an error of ours, in bounded time and memory.

`make fuzz`, or `EVENRANK_FUZZ=100000 pytest tests/robustness/test_fuzz.py`, tries as many inputs for each reader. An
input that fails is written to `corpus/NAME/`, where it is tried first from then on. `guided.py` finds inputs that reach
more of the code.
"""

from __future__ import annotations

import hashlib
import os
import random
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from evenrank.errors import EvenrankError
from tests.robustness.corpus import folder_of, seeds_of
from tests.robustness.guided import guide
from tests.robustness.memory import own_peak, reset_own_peak
from tests.robustness.mutate import PUMPED, mutate, pump
from tests.robustness.readers import READERS

N_INPUTS = int(os.environ.get("EVENRANK_FUZZ", "700"))
SEED = int(os.environ.get("EVENRANK_FUZZ_SEED", "1"))
MAX_SECONDS = 20.0
"""Processor time that no input of up to 128 kB may take; most take a millisecond."""
MAX_MIB = 512
IN_MEMORY = Path("/dev/shm")
"""Where there is such a folder, inputs are files in memory: on a disk, writing them takes far longer than reading."""


@pytest.fixture
def path() -> Iterator[Path]:
    """Name of the file that inputs are written to, in a folder of its own."""
    with tempfile.TemporaryDirectory(dir=IN_MEMORY if IN_MEMORY.is_dir() else None) as name:
        yield Path(name) / "input"


def failure(name: str, path: Path, content: bytes) -> str:
    """What went wrong with an input; empty when it was read, or refused as it should be."""
    path.write_bytes(content)
    begin = time.process_time()
    try:
        READERS[name](path)
    except EvenrankError as error:
        if len(str(error)) > 100_000:
            return f"an error of {len(str(error)):,} characters"
    except BaseException:
        return traceback.format_exc(limit=-3)
    if (seconds := time.process_time() - begin) > MAX_SECONDS:
        return f"{seconds:.1f} s"
    return ""


@pytest.mark.parametrize("name", READERS)
def test_the_corpus_is_read_or_refused(name: str, path: Path) -> None:
    seeds = seeds_of(name)
    assert seeds
    assert [text for seed in seeds if (text := failure(name, path, seed))] == []


@pytest.mark.parametrize("name", READERS)
def test_changed_files_are_read_or_refused(name: str, path: Path) -> None:
    rng, seeds = random.Random(f"{SEED} {name}"), seeds_of(name)
    before, begin, longest = reset_own_peak(), time.process_time(), 0.0
    for _ in range(N_INPUTS):
        content = mutate(rng, seeds)
        start = time.process_time()
        if text := failure(name, path, content):
            kept = folder_of(name) / hashlib.sha256(content).hexdigest()[:12]
            kept.write_bytes(content)
            pytest.fail(f"{kept}: {text}")
        longest = max(longest, time.process_time() - start)
    grown = own_peak() - before
    seconds = time.process_time() - begin
    print(f"{name}: {N_INPUTS:,} inputs, {seconds:.0f} s, longest {longest:.2f} s, memory +{grown:.0f} MiB")
    assert grown < MAX_MIB


@pytest.mark.parametrize("name", READERS)
def test_many_of_a_piece_take_time_in_proportion(name: str, path: Path) -> None:
    """300 kB of `<` took a minute, and ten times as many would have taken a hundred minutes."""
    rng, seeds = random.Random(f"{SEED} {name} pumped"), seeds_of(name)
    pieces = PUMPED * 3 if N_INPUTS >= 10_000 else rng.sample(PUMPED, 3)
    for piece in pieces:
        content = pump(rng, seeds, piece, 300_000)
        assert failure(name, path, content) == "", (piece, hashlib.sha256(content).hexdigest())


@pytest.mark.parametrize("name", ["run", "metadata"])
def test_a_few_seconds_guided_by_coverage(name: str) -> None:
    pytest.importorskip("atheris", reason="needs atheris")
    outcome = guide(name, 3)
    assert outcome.is_clean, outcome.text[-3000:]
    assert outcome.n_inputs > 1
    assert outcome.coverage > 50
