"""Does a change of the code change what comes out? The same commands in two checkouts, compared byte by byte.

    python tools/same_bytes.py BEFORE AFTER [--keep FOLDER]

BEFORE and AFTER are checkouts of this project. Every command of COMMANDS runs in both, on generated data and on the
track's own small sample; then every file and every standard output is compared. Exit status 1 when any differ. What a
release changes on purpose is listed in CHANGELOG.md.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import orjson

HERE = Path(__file__).resolve().parents[1]
GOLDEN, GOLDEN_2022 = HERE / "tests" / "golden", HERE / "tests" / "golden_2022"
SECONDS = re.compile(rb"\b[\d.]+ s$", re.MULTILINE)
RUN = "from evenrank.cli.main import main; main()"
SAMPLE = (
    "import sys; sys.path.insert(0, sys.argv[1]); import dump_sample, pathlib; dump_sample.write_sample(pathlib.Path())"
)
EXPORTS = """
import pathlib, re
from starlette.testclient import TestClient
from evenrank.app.app import create_app
from evenrank.app.exports.formats import FORMATS
site = "http://127.0.0.1"
client = TestClient(create_app("made"), base_url=site, follow_redirects=False)
form = {"title": "Rivers", "keywords": "river, lake, water"}
where = client.post("/lists", data=form, headers={"Origin": site}).headers["location"].removeprefix(site)
for suffix in FORMATS:
    found = client.get(f"{where}.{suffix}")
    assert found.status_code == 200, (where, suffix, found.text[:300])
    text = re.sub(r"(/lists/|from=)[\\w-]{22}", r"\\1TOKEN", found.text)
    text = re.sub(r"\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d", "TIME", text)
    pathlib.Path(f"export-list.{suffix}").write_text(text)
"""
"""Exports of a work list, without its secret tokens and the time. Draws are left out: they depend on the token."""


class Command(NamedTuple):
    """A command and what it is called in the table."""

    name: str
    arguments: tuple[str, ...]
    program: str = RUN


def evenrank(name: str, line: str) -> Command:
    return Command(name, tuple(line.split()))


def commands(policies: list[dict[str, object]], protocols: list[str]) -> list[Command]:
    """Everything that is compared."""
    data, data_2022 = GOLDEN / "data", GOLDEN_2022 / "data"
    listed = [
        evenrank("collection generate", "collection generate made --pages 2000 --topics 6 --seed 5"),
        evenrank("collection describe", "collection describe made --format json"),
        evenrank(
            "collection import",
            f"collection import golden --metadata {data}/trec_metadata_eval.json.gz --topics {data}/trec_topics.json.gz"
            f" --eval-topics {data}/eval-topics-with-qrels.json.gz",
        ),
        evenrank(
            "collection import 2022",
            f"collection import golden-2022 --metadata {data_2022}/trec_2022_articles_discrete_assessed.json.gz"
            f" --topics {data_2022}/trec_2022_train_reldocs.jsonl"
            f" --eval-topics {data_2022}/trec_2022_eval_reldocs.jsonl"
            f" --eval-topics {data_2022}/trec_2022_eval_topics.jsonl",
        ),
        evenrank("index", "index made --threads 1"),
        evenrank("search", "search made river lake -k 50 --format tsv"),
        evenrank("search one group", "search made river lake -k 50 --geography Africa --format json"),
        Command("sample dump", (str(HERE / "tests" / "wikipedia" / "annotate"),), SAMPLE),
        evenrank(
            "annotate",
            "annotate metadata.json.gz --workers 1 --dump dump.xml --wikidata wikidata.json"
            " --wikidata-ids page_props.sql",
        ),
    ]
    for policy in policies:
        for task in policy["tasks"]:  # type: ignore[attr-defined]
            name = policy["name"]
            line = f"rank made --task {task} --policy {name} --seed 3 --workers 1 -o run-{name}-{task}.tsv"
            listed.append(evenrank(f"rank {name} {task}", line))
    listed.append(evenrank("run oracle", "run oracle made --task 1 --precision 0.8 --seed 2 -o run-oracle.tsv"))
    listed.append(evenrank("run convert", "run convert run-oracle.tsv run-oracle.trec"))
    for protocol in protocols:
        folder, golden = ("golden-2022", GOLDEN_2022) if "2022" in protocol else ("golden", GOLDEN)
        golden_runs = " ".join(str(path) for path in sorted((golden / "runs").rglob("*.gz")))
        for form in ("table", "tsv", "csv", "json", "latex"):
            line = f"evaluate {folder} {golden_runs} --protocol {protocol} -q --format {form}"
            listed.append(evenrank(f"evaluate {protocol} {form}", line))
        listed.append(evenrank(f"targets {protocol}", f"targets {folder} --protocol {protocol} --format tsv"))
    own = "run-relevance-1.tsv run-proportional-1.tsv run-optimal-1.tsv"
    listed.append(
        evenrank("compare", f"compare made {own} --baseline run-relevance-1 --protocol official-2021 --format json")
    )
    listed.append(evenrank("report", f"report made {own} --protocol official-2021 -o report"))
    listed.append(evenrank("pool build", f"pool build made {own} -o pool.jsonl"))
    listed.append(Command("exports", (), EXPORTS))
    return listed


def run(checkout: Path, folder: Path, command: Command) -> bytes:
    """Standard output of a command that runs in `folder` with the code of a checkout; its failure is output, too."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "PYTHONHASHSEED": "0"}
    done = subprocess.run(
        [sys.executable, "-c", command.program, *command.arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        check=False,
    )
    return SECONDS.sub(b"TIME", done.stdout) if done.returncode == 0 else b"FAILED\n" + done.stderr[-2000:]


def listing(checkout: Path, command: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = orjson.loads(run(checkout, HERE, evenrank("", f"{command} --format json")))
    return rows


def digests(folder: Path) -> dict[str, str]:
    """Digest of every file in a folder; of files with random names or secrets, what comes out is compared."""
    files = (path for path in folder.rglob("*") if path.is_file() and "index" not in path.parts)
    found = sorted(path for path in files if ".sqlite" not in path.name and path.name != "work.json")
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def difference(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Files that are not the same in both, each with what is the matter."""
    words = {name: "differs" for name in before.keys() & after.keys() if before[name] != after[name]}
    words |= dict.fromkeys(before.keys() - after.keys(), "is gone")
    words |= dict.fromkeys(after.keys() - before.keys(), "is new")
    return [f"{name} {words[name]}" for name in sorted(words)]


def compare(checkouts: tuple[Path, Path], folders: tuple[Path, Path], command: Command) -> list[str]:
    """Run a command in both folders; what changed differently."""
    earlier = [digests(folder) for folder in folders]
    outputs = [run(checkout, folder, command) for checkout, folder in zip(checkouts, folders, strict=True)]
    changes = [
        {name: digest for name, digest in digests(folder).items() if old.get(name) != digest}
        for folder, old in zip(folders, earlier, strict=True)
    ]
    said = [] if outputs[0] == outputs[1] else ["standard output differs"]
    said += [
        f"FAILED in {side}" for side, out in zip(("BEFORE", "AFTER"), outputs, strict=True) if out[:6] == b"FAILED"
    ]
    for folder, output in zip(folders, outputs, strict=True):
        (folder / f"stdout-{command.name.replace(' ', '-')}").write_bytes(output)
    return said + difference(*changes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep what came out under this folder")
    options = parser.parse_args()
    checkouts = (options.before.resolve(), options.after.resolve())
    place = options.keep or Path(tempfile.mkdtemp())
    folders = (place.resolve() / "before", place.resolve() / "after")
    for folder in folders:
        folder.mkdir(parents=True)
    known = listing(checkouts[1], "policies")
    policies = [policy for policy in listing(checkouts[0], "policies") if policy["name"] in {p["name"] for p in known}]
    protocols = [str(protocol["name"]) for protocol in listing(checkouts[0], "protocols")]
    n_different = 0
    for command in commands(policies, protocols):
        found = compare(checkouts, folders, command)
        n_different += bool(found)
        shown = "; ".join(found[:6]) + (f"; and {len(found) - 6} more" if len(found) > 6 else "")
        print(f"{command.name:<32}{shown or 'same bytes'}", flush=True)
    if not options.keep:
        shutil.rmtree(place)
    sys.exit(bool(n_different))


if __name__ == "__main__":
    main()
