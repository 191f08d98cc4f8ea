"""A process that votes from several threads and prints the token of each vote once it is stored.

Arguments: judgments file, name of the writer, threads, votes of a thread.
"""

from __future__ import annotations

import os
import sys
from threading import Thread

from evenrank.assessment.store import Store, create_store
from evenrank.assessment.votes import Vote, cast_vote


def vote(store: Store, writer: str, thread: int, n_votes: int) -> None:
    for number in range(n_votes):
        token = f"{writer}-{thread}-{number}"
        cast_vote(store, Vote(token, 101 + thread, number, "Ada", "graded", number % 2))
        os.write(sys.stdout.fileno(), f"{token}\n".encode())


if __name__ == "__main__":
    path, writer, n_threads, n_votes = sys.argv[1:]
    with create_store(path) as store:
        threads = [Thread(target=vote, args=(store, writer, n, int(n_votes))) for n in range(int(n_threads))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
