"""Campaigns through the command line, against what their organisers' programs print."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import evenrank
from evenrank.cli.main import cli

TESTS = Path(__file__).resolve().parents[1]
SHARED = TESTS.parents[1] / "shared"


def data_folder(name: str) -> Any:
    """A fixture: part of the data of a campaign, which comes with the tests, and all of it where it is at hand."""

    @pytest.fixture(params=["small", "whole"])
    def folder(request: pytest.FixtureRequest) -> Path:
        whole = SHARED / f"golden-{name}"
        if request.param == "whole" and not whole.exists():
            pytest.skip(f"the whole data of the campaign are not here ({whole})")
        return whole if request.param == "whole" else TESTS / f"golden_{name}"

    return folder


folder_2019 = data_folder("2019")
folder_2020 = data_folder("2020")
folder_fairweb = data_folder("fairweb")


def rows_of(path: Path) -> list[dict[str, str]]:
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    return list(csv.DictReader(io.StringIO(text)))


def score(*words: object) -> dict[str, dict[str, float]]:
    """Query → scores of a run, as `evenrank score` writes them."""
    result = CliRunner().invoke(cli, ["score", *map(str, words), "--format", "json", "-q"])
    assert result.exit_code == 0, result.output
    return {entry["query"]: entry["scores"] for entry in json.loads(result.stdout)["queries"]}


def test_sequences_of_2019(folder_2019: Path) -> None:
    expected = rows_of(folder_2019 / "expected" / "sequence-scores.csv")
    data = folder_2019 / "data"
    qrels = next(path for name in ("judgments", "evaluation-sample") for path in data.glob(f"{name}*.json.gz"))
    for run, group in sorted({(row["run"], row["group"]) for row in expected}):
        found = score(
            *("--protocol", "trec-2019", "--run", folder_2019 / "runs" / f"{run}.json.gz", "--qrels", qrels),
            *("--groups", data / f"article-{group}.csv.gz", "--sequences", data / "sequences.csv"),
        )
        wanted = {row["sequence"]: row for row in expected if (row["run"], row["group"]) == (run, group)}
        assert set(found) == set(wanted)
        for sequence, row in wanted.items():
            assert found[sequence]["utility"] == pytest.approx(float(row["utility"]), abs=1e-12)
            assert found[sequence]["unfairness"] == pytest.approx(float(row["unfairness"]), abs=1e-12)


def test_distributions_of_2019(folder_2019: Path) -> None:
    """With a single sequence the groups of the result are the distributions that the organisers compare."""
    rows = [row for row in rows_of(folder_2019 / "expected" / "sequence-scores.csv") if row["run"] == "noisy"]
    data = folder_2019 / "data"
    qrels = next(path for name in ("judgments", "evaluation-sample") for path in data.glob(f"{name}*.json.gz"))
    groups = {row["group"]: str(data / f"article-{row['group']}.csv.gz") for row in rows}
    run, sequences = str(folder_2019 / "runs" / "noisy.json.gz"), str(data / "sequences.csv")
    found = evenrank.score(run, groups, str(qrels), protocol="trec-2019", sequences=sequences)
    for group in groups:
        wanted = [row for row in rows if row["group"] == group]
        shares = {one.group: (one.attention, one.target) for one in found.shares if one.grouping == group}
        for name, (given, deserved) in shares.items():
            for value, column in ((given, "exposure"), (deserved, "relevance")):
                mean = sum(json.loads(row[column])[name] for row in wanted) / len(wanted)
                assert value == pytest.approx(mean, abs=1e-12)


def test_expected_exposure_of_2020(folder_2020: Path) -> None:
    expected: dict[tuple[str, str], dict[tuple[str, str], float]] = defaultdict(dict)
    for row in rows_of(folder_2020 / "expected" / "expeval.csv.gz"):
        expected[row["run"], row["options"]][row["query"], row["measure"]] = float(row["value"])
    assert {options for _, options in expected} >= {"-u gerr", "-u rbp -C -G -U"}
    for (run, options), wanted in expected.items():
        _, attention, *flags = options.split()
        settings = {"-C": "complete=true", "-G": "by=groups", "-U": "normalised=false"}
        found = score(
            *("--protocol", "trec-2020", "--run", folder_2020 / "runs" / f"{run}.txt.gz"),
            *("--qrels", folder_2020 / "data" / "qrels.tsv", "--attention", attention),
            *(word for flag in flags for word in ("--set", settings[flag])),
        )
        got = {(query, measure): value for query, scores in found.items() for measure, value in scores.items()}
        assert {pair: got[pair] for pair in wanted} == pytest.approx(wanted, abs=1e-6)
        assert set(got) == set(wanted)


def test_fairness_of_fairweb(folder_fairweb: Path) -> None:
    expected = rows_of(folder_fairweb / "expected" / "gfr.csv")
    measures = sorted({row["measure"] for row in expected})
    data = folder_fairweb / "data"
    for run, name in sorted({(row["run"], row["attribute_set"]) for row in expected}):
        found = score(
            *("--protocol", "fairweb-1", "--run", folder_fairweb / "runs" / f"{run}.txt"),
            *("--qrels", data / "fairweb1pilot.qrels", "--groups", f"{name}={data / f'fairweb1pilot.{name}.gmemb'}"),
            *("--target", f"{name}={data / f'{name}.golddistr'}", *(word for one in measures for word in ("-m", one))),
        )
        wanted = {
            (row["topic"], row["measure"].replace("@00", "@").replace("@0", "@")): float(row["value"])
            for row in expected
            if (row["run"], row["attribute_set"]) == (run, name)
        }
        got = {(topic, measure): value for topic, scores in found.items() for measure, value in scores.items()}
        assert got == pytest.approx(wanted, abs=1e-12)


def test_gfr_is_the_mean_over_the_groupings_of_a_topic(folder_fairweb: Path) -> None:
    expected = {
        (row["attribute_set"], row["topic"], row["measure"]): float(row["value"])
        for row in rows_of(folder_fairweb / "expected" / "gfr.csv")
        if row["run"] == "bm25"
    }
    data = folder_fairweb / "data"
    kinds = {"R-HINDEX": ":ordinal", "R-GENDER": "", "M-RATINGS": ":ordinal", "M-ORIGIN": "", "Y-SUBSCS": ":ordinal"}
    groups = {f"{name}{kind}": str(data / f"fairweb1pilot.{name}.gmemb") for name, kind in kinds.items()}
    target = {name: str(data / f"{name}.golddistr") for name in kinds}
    inputs: tuple[Any, ...] = (
        str(folder_fairweb / "runs" / "bm25.txt"),
        groups,
        str(data / "fairweb1pilot.qrels"),
        target,
    )
    for relevance in ("ERR", "iRBU"):
        for ordinal in ("NMD", "RNOD"):
            settings = {"relevance": relevance, "ordinal": ordinal}
            found = evenrank.score(*inputs, protocol="fairweb-1", settings=settings)
            topics = found["bm25"].queries
            assert set(topics) == {"P001", "P002", "P004"}
            for topic, names in (("P001", ["R-HINDEX", "R-GENDER"]), ("P004", ["Y-SUBSCS"])):
                distances = [ordinal if kinds[name] else "JSD" for name in names]
                parts = [expected[name, topic, f"GF-{one}"] for name, one in zip(names, distances, strict=True)]
                parts.append(expected[names[0], topic, relevance])
                assert topics[topic]["GFR"] == pytest.approx(sum(parts) / len(parts), abs=1e-12)
            assert topics["P001"]["GF-NMD@20:R-HINDEX"] == pytest.approx(
                expected["R-HINDEX", "P001", "GF-NMD"], abs=1e-12
            )
            assert topics["P004"]["GF-NMD@20:R-HINDEX"] != topics["P004"]["GF-NMD@20:R-HINDEX"]  # undefined: NaN


def test_a_process_prints_json_with_null_for_infinity(tmp_path: Path) -> None:
    """A run that ranks none of the grouped documents gives no group any exposure."""
    (tmp_path / "qrels.tsv").write_text("1\t3\ta\t1\n1\t4\tb\t1\n")
    (tmp_path / "run.txt").write_text("1 Q0 z 1 1.0 tag\n")
    words = ["--protocol", "trec-2020", "--run", tmp_path / "run.txt", "--qrels", tmp_path / "qrels.tsv"]
    line = [
        sys.executable,
        "-m",
        "evenrank.cli.main",
        "score",
        *map(str, words),
        "--set",
        "by=groups",
        "--format",
        "json",
    ]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["queries"][0]["scores"]["disparity"] is None
    assert found["protocol"] == {
        "name": "trec-2020",
        "complete": False,
        "by": "groups",
        "normalised": True,
        "attention": "gerr:0.5,0.5",
    }


def test_ordinary_measures_give_the_figures_of_fairweb_on_plain_tables(folder_fairweb: Path) -> None:
    """An ordinal grouping of one's own data, whose groups come in the order of their names, numbers by value."""
    data, topic = folder_fairweb / "data", "P001"
    names = ("1 to 4", "5 to 9", "10 to 19", "20 and more")
    shares: dict[str, dict[str, float]] = {}
    for line in (data / "fairweb1pilot.R-HINDEX.gmemb").read_text().splitlines():
        of, document, *values = line.split()
        if of == topic:
            shares[document] = dict(zip(names, map(float, values), strict=True))
    judged = [line.split() for line in (data / "fairweb1pilot.qrels").read_text().splitlines()]
    grades = {topic: {document: int(level[1]) for of, document, level in judged if of == topic}}
    target = [float(line) for line in (data / "R-HINDEX.golddistr").read_text().split()]
    expected = {
        (row["run"], row["measure"].replace("@00", "@").replace("@0", "@")): float(row["value"])
        for row in rows_of(folder_fairweb / "expected" / "gfr.csv")
        if (row["attribute_set"], row["topic"]) == ("R-HINDEX", topic)
    }
    for run in sorted({run for run, _ in expected}):
        rows = [line.split() for line in (folder_fairweb / "runs" / f"{run}.txt").read_text().splitlines()]
        ranking = [row[2] for row in rows if row[0] == topic][:20]
        unlisted = {document: dict.fromkeys(names, 0.25) for document in ranking if document not in shares}
        measures = {"ERR": "ERR", "iRBU": "iRBU", "GF": "GF-JSD", "GF-NMD": "GF-NMD", "GF-RNOD": "GF-RNOD"}
        found = evenrank.score(
            {run: {topic: ranking}},
            {"R-HINDEX:ordinal": {**shares, **unlisted}},
            grades,
            {"R-HINDEX": dict(zip(names, target, strict=True))},
            [f"{name}@{depth}" for name in measures for depth in (5, 20)],
        )
        values = found[run].queries[topic]
        assert [share.group for share in found.shares] == list(names)
        for name, published in measures.items():
            for depth in (5, 20):
                wanted = expected[run, f"{published}@{depth}"]
                assert values[f"{name}@{depth}"] == pytest.approx(wanted, abs=1e-12)
    unordered = evenrank.score({"a": {"q": ["x"]}}, {"x": "1", "y": "2"}, {"q": {"x": 1}}, measures=["GF-NMD", "GF"])
    assert unordered["a"].scores["GF-NMD"] != unordered["a"].scores["GF-NMD"]  # undefined: NaN
    assert unordered.notes[0].startswith("GF-NMD is undefined")


@pytest.mark.parametrize(("option", "attention"), [("-u rbp", "rbp:0.5"), ("-u gerr", "gerr:0.5,0.5")])
def test_ordinary_measures_give_the_figures_of_2020_on_plain_tables(
    folder_2020: Path, option: str, attention: str
) -> None:
    judged = [line.split("\t") for line in (folder_2020 / "data" / "qrels.tsv").read_text().splitlines()]
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for query, _, document, grade in judged:
        if int(grade) > 0:
            grades[query][document] = int(grade)
    names = {"disparity": "nEE-D", "relevance": "nEE-R", "difference": "nEE-L"}
    expected = [row for row in rows_of(folder_2020 / "expected" / "expeval.csv.gz") if row["options"] == option]
    for run in sorted({row["run"] for row in expected}):
        lines = gzip.decompress((folder_2020 / "runs" / f"{run}.txt.gz").read_bytes()).decode().splitlines()
        rankings: dict[str, dict[str, list[tuple[int, str]]]] = defaultdict(lambda: defaultdict(list))
        for query, sample, document, rank, *_ in map(str.split, lines):
            if query in grades:
                rankings[query][sample].append((int(rank), document))
        sequences = {q: [[d for _, d in sorted(one)] for one in of.values()] for q, of in rankings.items()}
        found = evenrank.score({run: sequences}, None, grades, measures=list(names.values()), attention=attention)
        values = found[run].queries
        rows = [row for row in expected if row["run"] == run and row["query"] in sequences]
        assert rows
        for row in rows:
            assert values[row["query"]][names[row["measure"]]] == pytest.approx(float(row["value"]), abs=1e-6)
    plain = evenrank.score({"a": {"q": ["x"]}}, None, {"q": {"x": 1}}, measures=["nEE-L", "nDCG"])
    assert plain["a"].scores["nEE-L"] != plain["a"].scores["nEE-L"]  # bounds are those of rbp and gerr


def test_items_without_a_group_keep_ordinal_fairness_within_its_range() -> None:
    """The first item has no group, so that the shares are empty at rank 1 and sum to a half at rank 2."""
    groups = {"age:ordinal": {"a": "1", "b": "2", "c": "3"}}
    found = evenrank.score(
        {"q": ["x", "a"]}, groups, {"q": ["x", "a"]}, {"1": 1.0, "2": 0.0, "3": 0.0}, measures=["GF-NMD", "ERR"]
    )
    assert found.scores["GF-NMD"] == pytest.approx(0.5 * 0.0 + 0.5 * 0.5 * 0.5)
