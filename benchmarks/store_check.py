"""What the checksums of stores cost: opening judgments files of several sizes, and writing to them.

    python benchmarks/store_check.py [--votes 1000 10000 100000] [--repeats 5]

"check" is what `open_file` reads and computes on top of opening; "SQLite alone" is SQLite's own integrity check within
it. "write" is the time of a vote in one transaction of all votes, beside the same file without triggers. Times are
processor time, so that a busy machine shows the same.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from evenrank.database.sqlite_connection import drop_checksums, find_damage
from evenrank.trec.assessment.votes import Store, create_store, open_store

COLUMNS = "token, topic, page, assessor, outcome, grade, comment, seconds, time, method"


def seconds_of(action: Callable[[], object], repeats: int) -> float:
    """Median processor time of an action."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        action()
        times.append(time.process_time() - begin)
    return statistics.median(times)


def write_votes(store: Store, n_votes: int) -> float:
    """Seconds for storing so many votes in one transaction."""
    rows = [
        (f"{n:032x}", n % 50, n, "ann", "graded", n % 2, "", 3.5, "2022-01-01 10:00:00", "assess")
        for n in range(n_votes)
    ]
    begin = time.process_time()
    with store.transaction() as connection:
        connection.executemany(f"INSERT INTO vote ({COLUMNS}) VALUES ({', '.join('?' * 10)})", rows)
    return time.process_time() - begin


def make(path: Path, *, has_checksums: bool) -> Store:
    store = create_store(path)
    with store.transaction() as connection:
        if not has_checksums:
            drop_checksums(connection)
        connection.executemany("INSERT INTO topic (id, title) VALUES (?, 'a topic')", [(n,) for n in range(50)])
        connection.execute("INSERT INTO assessor (name, role, created) VALUES ('ann', 'assessor', '2022-01-01')")
    return store


def integrity_check(store: Store) -> None:
    store.connection.execute("PRAGMA integrity_check").fetchall()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args()
    print("votes     file      check      SQLite alone  write a vote  without checksums")
    for n_votes in chosen.votes:
        with tempfile.TemporaryDirectory() as name:
            with make(Path(name) / "plain", has_checksums=False) as plain:
                without = write_votes(plain, n_votes) / n_votes
            path = Path(name) / "file"
            with make(path, has_checksums=True) as store:
                write = write_votes(store, n_votes) / n_votes
            with open_store(path) as store:
                check = seconds_of(partial(find_damage, store.connection), chosen.repeats)
                alone = seconds_of(partial(integrity_check, store), chosen.repeats)
            size = path.stat().st_size / 1e6
            print(
                f"{n_votes:<9,} {size:5.1f} MB {1000 * check:7.1f} ms {1000 * alone:9.1f} ms "
                f"{1e6 * write:10.1f} µs {1e6 * without:13.1f} µs"
            )


if __name__ == "__main__":
    main()
