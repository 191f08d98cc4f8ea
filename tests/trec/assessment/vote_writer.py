"""A process that votes from several threads and prints the token of each vote once it is stored.

Arguments: judgments file, name of the writer, threads, votes of a thread, function that casts a vote.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

from evenrank.errors import StoreUnavailableError
from evenrank.trec.assessment.votes import Store, Vote, cast_or_change, cast_vote, create_store


def vote(store: Store, writer: str, thread: int, n_votes: int, cast: Callable[[Store, Vote], object]) -> None:
    for number in range(n_votes):
        token = f"{writer}-{thread}-{number}"
        sent = Vote(token, 101 + thread, number, "Ada", "graded", number % 2)
        is_sent = False
        while not is_sent:
            with suppress(StoreUnavailableError):  # a client that is asked to wait sends the same vote again
                cast(store, sent)
                is_sent = True
        os.write(sys.stdout.fileno(), f"{token}\n".encode())


if __name__ == "__main__":
    path, writer, n_threads, n_votes, name = sys.argv[1:]
    cast = {"cast_vote": cast_vote, "cast_or_change": cast_or_change}[name]
    with create_store(path) as store:
        threads = [Thread(target=vote, args=(store, writer, n, int(n_votes), cast)) for n in range(int(n_threads))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
