"""How long `evenrank.rerank` takes for one list with its certificate, and how small the gap is.

    python benchmarks/rerank.py [--items 1000]

Processor time of the second call, reading included; scores are uniform, group sizes grow linearly, the target is equal
shares. The table is Markdown.
"""

from __future__ import annotations

import argparse
from time import process_time

import numpy as np
import pandas as pd

import evenrank


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=1000)
    n_items = parser.parse_args().items
    rng = np.random.default_rng(20261115)
    print("| groups | length | ms | gap |\n|---:|---:|---:|---:|")
    for n_groups in (2, 10, 50):
        for length in (100, n_items):
            names = [f"i{number}" for number in range(n_items)]
            frame = pd.DataFrame({"query": "q", "item": names, "score": np.sort(rng.random(n_items))[::-1]})
            shares = np.arange(1, n_groups + 1) / np.arange(1, n_groups + 1).sum()
            chosen = rng.choice([f"g{number}" for number in range(n_groups)], n_items, p=shares)
            groups = pd.DataFrame({"item": names, "group": chosen})
            evenrank.rerank(frame, groups, target="equal", k=length)
            start = process_time()
            found = evenrank.rerank(frame, groups, target="equal", k=length)
            print(f"| {n_groups} | {length} | {1000 * (process_time() - start):.0f} | {found.certificate['gap']:.2%} |")


if __name__ == "__main__":
    main()
