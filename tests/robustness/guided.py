"""Fuzzing guided by coverage: changed files that reach new code of a reader are kept and changed further.

    python -m tests.robustness.guided [READER]... [--seconds 60] [--keep]

Runs libFuzzer (atheris) on the readers, starting from their corpus. An input that ends in an error that is not ours, or
takes over 20 s, is kept in `corpus/READER` as `crash-…` or `timeout-…`, and the exit code is 1. `--keep` adds to the
corpus what reaches code that nothing in it reaches.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tests.robustness.corpus import CORPUS, folder_of, found_of, save_found, seeds_of
from tests.robustness.mutate import mutate

LONGEST = 8192
"""Bytes of the longest input; longer ones are for `test_fuzz.py`."""
MAX_SECONDS = 20
KEPT_BYTES = 40_000
"""Bytes of found inputs that are kept for a reader, the shortest first."""
PRIVATE = "--in-this-process"
"""libFuzzer ends its process, so it has one of its own."""


class Outcome(NamedTuple):
    """What a run of libFuzzer came to."""

    is_clean: bool
    n_inputs: int
    coverage: int
    """Edges of the code that were reached."""
    text: str


def guide(reader: str, seconds: int, keep: bool = False) -> Outcome:
    """Fuzz one reader for a while; with `keep`, add what reaches new code to its corpus."""
    with tempfile.TemporaryDirectory() as name:
        seeds, found, least = (Path(name) / part for part in ("seeds", "found", "least"))
        for folder in (seeds, found, least):
            folder.mkdir()
        for number, content in enumerate(seeds_of(reader)):
            (seeds / f"{number:05}").write_bytes(content)
        limits = [f"-max_total_time={seconds}", f"-timeout={MAX_SECONDS}", f"-max_len={LONGEST}"]
        outcome = _fuzz(reader, [*limits, f"-artifact_prefix={folder_of(reader)}/", str(found), str(seeds)])
        if keep and outcome.is_clean:
            _fuzz(reader, ["-merge=1", f"-max_len={LONGEST}", str(least), str(seeds), str(found)])
            _keep(reader, least)
    return outcome


def _fuzz(reader: str, words: list[str]) -> Outcome:
    command = [sys.executable, "-m", "tests.robustness.guided", reader, PRIVATE, *words]
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    numbers = re.findall(r"^#(\d+)\t.*?cov: (\d+)", ended.stdout, re.MULTILINE)
    n_inputs, coverage = map(int, numbers[-1]) if numbers else (0, 0)
    return Outcome(ended.returncode == 0, n_inputs, coverage, ended.stdout)


def _keep(reader: str, least: Path) -> None:
    """Take over what is new, as long as the corpus stays small."""
    by_hand = set(seeds_of(reader)) - set(found_of(reader))
    n_bytes, kept = 0, []
    for content in sorted((path.read_bytes() for path in least.iterdir()), key=lambda content: (len(content), content)):
        n_bytes += len(content)
        if content not in by_hand and n_bytes <= KEPT_BYTES:
            kept.append(content)
    save_found(reader, kept)


def _run(reader: str, words: list[str]) -> None:
    """The process that libFuzzer takes over."""
    import atheris

    seeds = seeds_of(reader)
    with tempfile.TemporaryDirectory() as name, atheris.instrument_imports(include=["evenrank"]):
        from evenrank.errors import EvenrankError
        from tests.robustness.readers import READERS

        read, path = READERS[reader], Path(name) / "input"

        def try_input(content: bytes) -> None:
            path.write_bytes(content)
            try:
                read(path)
            except EvenrankError as error:
                if len(str(error)) > 100_000:
                    raise AssertionError(f"an error of {len(str(error)):,} characters") from error

        def change(content: bytes, max_size: int, seed: int) -> bytes:
            rng = random.Random(seed)
            if rng.random() < 0.5:
                return bytes(atheris.Mutate(content, max_size))
            return mutate(rng, [content, *seeds] if rng.random() < 0.3 else [content])[:max_size]

        for seed in seeds:
            try_input(seed)  # whatever is imported late is instrumented too
        again = f"{sys.executable} -m tests.robustness.guided {reader} {PRIVATE}"  # how merging starts itself
        atheris.Setup([again, *words], try_input, custom_mutator=change)
        atheris.Fuzz()


def main() -> int:
    if PRIVATE in sys.argv:
        _run(sys.argv[1], sys.argv[3:])
    known = sorted(path.name for path in CORPUS.iterdir())
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("readers", nargs="*", choices=[*known, []], metavar="READER", help=", ".join(known))
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--keep", action="store_true")
    chosen = parser.parse_args()
    is_clean = True
    for reader in chosen.readers or known:
        outcome = guide(reader, chosen.seconds, chosen.keep)
        is_clean &= outcome.is_clean
        state = "clean" if outcome.is_clean else outcome.text[-2000:]
        print(f"{reader:<12} {outcome.n_inputs:>9,} inputs  {outcome.coverage:>6,} edges  {state}", flush=True)
    return int(not is_clean)


if __name__ == "__main__":
    sys.exit(main())
