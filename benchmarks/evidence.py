"""Tables of docs/reference/worlds.md, from what `worlds.py` measured.

    python benchmarks/evidence.py            # prints what differs; exit code 1
    python benchmarks/evidence.py --write    # writes the tables into the page

The page has a table between `<!-- table: NAME -->` and `<!-- end -->`; nothing else of it is touched.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson

ROOT = Path(__file__).resolve().parents[1]
RESULTS, PAGE = ROOT / "benchmarks" / "results" / "worlds.json", ROOT / "docs" / "reference" / "worlds.md"
PLACE = re.compile(r"<!-- table: (?P<name>[\w-]+) -->\n.*?<!-- end -->", re.S)
DEFAULT = "optimal"
OVER_DEPTHS = "mean over depths"
DEPTHS = ("Score@10", "Score@20", "Score@50", "Score@100", "Score")
LOSS = "EE-L/T2"
World = Mapping[str, Any]
Rows = list[list[str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    is_written = parser.parse_args().write
    page, wanted = PAGE.read_text(encoding="utf-8"), filled(PAGE.read_text(encoding="utf-8"))
    if is_written:
        PAGE.write_text(wanted, encoding="utf-8")
    elif page != wanted:
        sys.exit(f"{PAGE}: its tables differ from {RESULTS} (python benchmarks/evidence.py --write)")


def filled(page: str) -> str:
    """The page with its tables as the results have them."""
    results = orjson.loads(RESULTS.read_bytes())

    def table(place: re.Match[str]) -> str:
        return f"<!-- table: {place['name']} -->\n{TABLES[place['name']](results)}\n<!-- end -->"

    return PLACE.sub(table, page)


def worlds_of(results: Mapping[str, Any], task: int) -> list[World]:
    return [world for world in results["worlds"] if world["cells"][0]["task"] == task]


def how(results: Mapping[str, Any]) -> str:
    """Where the figures come from."""
    versions = ", ".join(f"{name} {number}" for name, number in results["versions"].items())
    lists, sequences = (results["tuning"][task]["budget"] for task in ("1", "2"))
    return (
        f"`{results['command']}`, {results['date']}, {versions}; budget of tuning: {lists} combinations of settings a "
        f"policy for lists, {sequences} for sequences."
    )


def regret_by_depth(results: Mapping[str, Any]) -> str:
    """Regret of the default in % over all depths and at each, with its upper limit, and the best policies."""
    measures = (OVER_DEPTHS, *DEPTHS)
    rows: Rows = [["world", "queries", *map(_depth, measures), "best @10", "best at full length"]]
    values: dict[str, list[tuple[float, float]]] = {measure: [] for measure in measures}
    for world in worlds_of(results, 1):
        by_measure = {one["measure"]: one for one in world["regrets"] if one["policy"] == DEFAULT}
        cells = []
        for measure in measures:
            if measure in by_measure:
                found = (100.0 * by_measure[measure]["regret"], 100.0 * by_measure[measure]["upper"])
                values[measure].append(found)
                cells.append(f"{found[0]:.1f} (≤ {found[1]:.1f})")
            else:
                cells.append("")
        rows.append([*_names(world), *cells, _best(world, DEPTHS[0], max), _best(world, DEPTHS[-1], max)])
    for word, of_all in (("mean", np.mean), ("largest", np.max)):
        pairs = (np.array(values[measure]) for measure in measures)
        rows.append([word, "", *(f"{of_all(pair[:, 0]):.1f} (≤ {of_all(pair[:, 1]):.1f})" for pair in pairs), "", ""])
    return markdown(rows)


def regret_of_all(results: Mapping[str, Any]) -> str:
    """Regret of every policy in %, of the mean over depths."""
    worlds = worlds_of(results, 1)
    policies = list(dict.fromkeys(cell["policy"] for world in worlds for cell in world["cells"]))
    rows: Rows = [["world", *policies]]
    found: dict[str, list[float]] = {policy: [] for policy in policies}
    for world in worlds:
        means = {
            cell["policy"]: np.mean([cell["means"][name] for name in DEPTHS if name in cell["means"]])
            for cell in world["cells"]
            if not cell["error"]
        }
        best = max(means.values())
        regrets = {policy: float(100.0 * (1.0 - mean / best)) for policy, mean in means.items()}
        for policy, regret in regrets.items():
            found[policy].append(regret)
        shown = {policy: f"{regret:.1f}" for policy, regret in regrets.items()}
        least = min(regrets.values())
        bold = {policy: f"**{text}**" if regrets[policy] == least else text for policy, text in shown.items()}
        rows.append([_names(world)[0], *(bold.get(policy, "") for policy in policies)])
    summaries: Sequence[tuple[str, Callable[[list[float]], Any]]] = (("mean", np.mean), ("largest", max))
    for word, of_all in summaries:
        everywhere = (found[policy] if len(found[policy]) == len(worlds) else [] for policy in policies)
        rows.append([word, *(f"{of_all(values):.1f}" if values else "" for values in everywhere)])
    return markdown(rows)


def sequences(results: Mapping[str, Any]) -> str:
    """Regret of the default in EE-L, as a share of the squared target, with precision and coverage beside it."""
    worlds = worlds_of(results, 2)
    policies = list(dict.fromkeys(cell["policy"] for world in worlds for cell in world["cells"]))
    rows: Rows = [["world", "queries", f"regret of {DEFAULT}", *policies]]
    regrets = []
    for world in worlds:
        by_policy = {cell["policy"]: cell["means"] for cell in world["cells"] if not cell["error"]}
        (regret,) = (r for r in world["regrets"] if (r["policy"], r["measure"]) == (DEFAULT, LOSS))
        regrets.append((regret["regret"], regret["upper"]))
        shown = {
            policy: f"{means[LOSS]:.3f} · {means.get('P', means.get('nDCG', 0.0)):.2f} · {means['Shown']:.2f}"
            for policy, means in by_policy.items()
        }
        rows.append(
            [
                *_names(world),
                f"{regret['regret']:.3f} (≤ {regret['upper']:.3f})",
                *(shown.get(policy, "") for policy in policies),
            ]
        )
    means = np.mean(regrets, axis=0)
    summaries: Sequence[tuple[str, Callable[[list[float]], Any]]] = (("mean", np.mean), ("largest", max))
    for word, of_all in summaries:
        own = f"{means[0]:.3f} (≤ {means[1]:.3f})" if word == "mean" else f"{max(r for r, _ in regrets):.3f}"
        found = {policy: _regrets_of(policy, worlds) for policy in policies}
        shown = (f"{of_all(found[policy]):.3f}" if len(found[policy]) == len(worlds) else "" for policy in policies)
        rows.append([f"{word} regret", "", own, *shown])
    return markdown(rows)


def _regrets_of(policy: str, worlds: Sequence[World]) -> list[float]:
    asked = [r for world in worlds for r in world["regrets"] if (r["policy"], r["measure"]) == (policy, LOSS)]
    return [regret["regret"] for regret in asked]


def _names(world: World) -> list[str]:
    ((name, counts),) = world["n_queries"].items()
    return [name, str(counts["eval"])]


def _best(world: World, measure: str, of_all: Callable[..., Any]) -> str:
    cells = [cell for cell in world["cells"] if not cell["error"]]
    return str(of_all(cells, key=lambda cell: cell["means"][measure])["policy"])


def _depth(measure: str) -> str:
    depth = measure.partition("@")[2]
    return f"@{depth}" if depth else "full length" if measure in DEPTHS else measure


def markdown(rows: Iterable[Sequence[str]]) -> str:
    head, *others = rows
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *others))


TABLES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "how": how,
    "lists": regret_by_depth,
    "lists-all": regret_of_all,
    "sequences": sequences,
}

if __name__ == "__main__":
    main()
