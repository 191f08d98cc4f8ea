"""`evenrank stream`: requests in, rankings, measures, states and figures out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from evenrank import Stream, StreamState
from evenrank.cli.main import cli

GROUPS = "item,group\na,x\nb,x\nc,y\nd,y\n"


def request_line(number: int, **more: Any) -> dict[str, Any]:
    values = {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.1 + number % 7 / 10}
    items = [{"item": item, "relevance": value} for item, value in values.items()]
    return {"query": f"q{number % 3}", "items": items, **more}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "groups.csv").write_text(GROUPS)
    (tmp_path / "requests.jsonl").write_text("".join(json.dumps(request_line(n)) + "\n" for n in range(40)))
    return tmp_path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["stream", *map(str, arguments)])


def refused(*arguments: object) -> str:
    result = run(*arguments)
    assert result.exit_code != 0
    return str(result.exception) + result.output


def test_policies_are_compared_in_one_table(folder: Path) -> None:
    result = run("requests.jsonl", "--groups", "groups.csv", "--policy", "relevance", "--policy", "fairco:gain=0.1")
    assert result.exit_code == 0, result.output
    rows = [line.split() for line in result.stdout.splitlines()[2:]]
    assert [(row[0], row[1]) for row in rows] == [("relevance", "40"), ("fairco:gain=0.1", "40")]
    assert float(rows[1][4]) < float(rows[0][4])


@pytest.mark.parametrize("form", ["tsv", "csv", "json"])
def test_machine_formats(folder: Path, form: str) -> None:
    result = run("requests.jsonl", "--groups", "groups.csv", "--format", form)
    if form == "json":
        (stream,) = json.loads(result.stdout)["streams"]
        assert stream["name"] == "optimal"
        assert stream["settings"] == {
            "policy": {"name": "optimal", "settings": {"fairness": "10.0"}},
            "target": "relevant",
            "seed": 0,
            "server": "main",
            "attention": "log",
            "exposure": "position",
            "window": None,
            "half_life": None,
            "blocks": 20,
        }
        assert set(stream["groups"]) == {"x", "y"}
    else:
        head, row = result.stdout.splitlines()
        assert head.split("\t" if form == "tsv" else ",")[:3] == ["stream", "requests", "utility"]
        assert len(head.split("\t")) == len(row.split("\t"))


def test_rankings_are_those_of_the_stream_as_json_and_tsv(folder: Path) -> None:
    assert run("requests.jsonl", "--groups", "groups.csv", "-o", "out.jsonl").exit_code == 0
    stream = Stream("optimal", "groups.csv")
    lines = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    for number, line in enumerate(lines):
        record = request_line(number)
        ranking = stream.rank(record["query"], {one["item"]: one["relevance"] for one in record["items"]})
        assert line == {"request": str(number + 1), "query": record["query"], "ranking": ranking[:]}
    assert run("requests.jsonl", "--groups", "groups.csv", "-o", "out.tsv").exit_code == 0
    rows = (folder / "out.tsv").read_text().splitlines()
    assert rows[0] == "request\tquery\trank\titem"
    assert [row.split("\t")[3] for row in rows[1:5]] == lines[0]["ranking"]
    piped = run("requests.jsonl", "--groups", "groups.csv", "-o", "-")
    assert piped.stdout == (folder / "out.jsonl").read_text()


def test_states_of_servers_are_saved_and_merged(folder: Path) -> None:
    for server in ("a", "b"):
        assert (
            run("requests.jsonl", "--groups", "groups.csv", "--server", server, "--save", f"{server}.json").exit_code
            == 0
        )
    for order in (("a", "b"), ("b", "a")):
        states = [part for server in order for part in ("--state", f"{server}.json")]
        name = "".join(order)
        assert run("requests.jsonl", "--groups", "groups.csv", *states, "--server", "c", "--save", name).exit_code == 0
    assert (folder / "ab").read_bytes() == (folder / "ba").read_bytes()
    assert set(StreamState.load(folder / "ab").servers) == {"a", "b", "c"}
    for order in (("a", "b", "ab"), ("ab", "b", "a", "b")):
        states = [part for name in order for part in ("--state", f"{name}.json" if len(name) == 1 else name)]
        assert run(*states, "--save", "merged", "--force").exit_code == 0
        assert (folder / "merged").read_bytes() == (folder / "ab").read_bytes()
    assert "name a file of REQUESTS" in refused("--state", "a.json")


def test_a_log_is_continued_and_replayed(folder: Path) -> None:
    for _ in range(2):
        assert run("requests.jsonl", "--groups", "groups.csv", "--policy", "random", "--log", "log").exit_code == 0
    result = run("log", "--replay", "--save", "state.json")
    assert result.stdout == "log: Stream random on 'main': 80 requests, every ranking as it was\n"
    assert StreamState.load(folder / "state.json").servers["main"].n_requests == 80
    log = folder / "log"
    changed = log.read_text().splitlines()
    record = json.loads(changed[5])
    record["order"].reverse()
    changed[5] = json.dumps(record)
    log.write_text("\n".join(changed) + "\n")
    result = run("log", "--replay")
    assert result.exit_code == 1
    assert "error: log:6: ranks" in result.stderr


def test_grades_decide_measures_and_never_rankings(folder: Path) -> None:
    graded = [request_line(n) for n in range(10)]
    for record in graded:
        for one in record["items"]:
            one["grade"] = float(one["item"] == "d")
    (folder / "graded.jsonl").write_text("".join(json.dumps(record) + "\n" for record in graded))
    (folder / "plain.jsonl").write_text("".join(json.dumps(request_line(n)) + "\n" for n in range(10)))
    for name in ("graded", "plain"):
        result = run(f"{name}.jsonl", "--groups", "groups.csv", "-o", f"{name}.out", "--format", "json")
        measures = json.loads(result.stdout)["streams"][0]["measures"]
        assert (measures["quality"] > 0.9) == (name == "plain")
    assert (folder / "graded.out").read_bytes() == (folder / "plain.out").read_bytes()


def test_grades_of_some_requests_are_refused_before_anything_is_logged(folder: Path) -> None:
    items = [{"item": "a", "relevance": 1, "grade": 1}]
    graded, empty, plain = ({"query": "q", "items": some} for some in (items, [], request_line(1)["items"]))
    (folder / "some.jsonl").write_text("".join(json.dumps(one) + "\n" for one in (graded, empty, plain)))
    assert "1 of 2 requests have grades, and request '3' has none" in refused("some.jsonl", "--log", "log")
    assert Stream.replay("log").state.servers["main"].n_requests == 0
    (folder / "all.jsonl").write_text("".join(json.dumps(one) + "\n" for one in (graded, empty)))
    assert run("all.jsonl", "--groups", "groups.csv").exit_code == 0


def test_a_state_alone_goes_to_standard_output(folder: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    result = run("requests.jsonl", "--groups", "groups.csv", "--save", "-")
    assert result.stdout == ""
    assert StreamState.from_bytes(capfdbinary.readouterr().out).servers["main"].n_requests == 40


def test_options_that_would_not_be_used_are_refused(folder: Path) -> None:
    assert run("requests.jsonl", "--groups", "groups.csv", "--log", "log", "--save", "state").exit_code == 0
    said = refused("log", "--replay", "--policy", "fairco", "-o", "out.jsonl")
    assert "--policy, --output: not used by --replay" in said
    assert "--window: not used by a merge of states" in refused("--state", "state", "--save", "new", "--window", "5")
    assert not (folder / "new").exists()


def test_a_target_of_a_file_a_window_and_a_figure(folder: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra report")
    (folder / "target.csv").write_text("group,share\nx,3\ny,1\n")
    options = ("--groups", "groups.csv", "--target", "target.csv", "--window", 16, "--plot", "over-time.svg")
    result = run("requests.jsonl", *options, "--format", "json")
    assert json.loads(result.stdout)["streams"][0]["groups"]["x"]["target"] == 0.75
    assert (folder / "over-time.svg").read_text().startswith("<?xml")
    assert "exists already" in refused("requests.jsonl", *options)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nonsense", "requests.jsonl:1: not JSON"),
        ("[]", "list where a record was expected"),
        ('{"items": []}', "no 'query'"),
        ('{"query": "q"}', "no 'items'"),
        ('{"query": "q", "items": {}}', "items are not a list of objects"),
        ('{"query": 1.5, "items": []}', "query is a float"),
        ('{"query": "q", "items": [{"item": "a"}]}', "no 'relevance'"),
        ('{"query": "q", "items": [{"item": "a", "relevance": "x"}]}', "has relevance 'x'"),
        (
            '{"query": "q", "items": [{"item": "a", "relevance": 1, "grade": 1}, {"item": "b", "relevance": 1}]}',
            "1 of 2",
        ),
        ('{"query": "q", "items": [], "time": "noon"}', "time is 'noon'"),
        ("", "no requests"),
    ],
)
def test_bad_requests_name_their_line(folder: Path, line: str, said: str) -> None:
    (folder / "requests.jsonl").write_text(line + "\n")
    assert said in refused("requests.jsonl", "-o", "out.jsonl")
    assert not (folder / "out.jsonl").exists()


def test_every_bad_line_is_reported_at_once(folder: Path) -> None:
    (folder / "requests.jsonl").write_text("{}\n" * 3 + json.dumps(request_line(1)) + "\n")
    said = refused("requests.jsonl")
    assert all(f"requests.jsonl:{line}:" in said for line in (1, 2, 3))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--policy", "fairko"), "did you mean 'fairco'"),
        (("--policy", "fairco:gain=-1"), "gain is -1"),
        (("--target", "nowhere.csv"), "unknown target 'nowhere.csv'"),
        (("--window", "0"), "window"),
        (("--window", "5", "--half-life", "5"), "not both"),
        (("--attention", "sideways"), "unknown attention model"),
        (("--policy", "fairco", "--policy", "optimal", "--save", "s"), "for one policy"),
        (("--save", "requests.jsonl", "--force"), "one of the files to read"),
        (("--save", "same", "-o", "same"), "two outputs"),
        (("--save", "-", "-o", "-"), "two outputs"),
        (("--log", "-"), "a log is a file"),
        (("--state", "groups.csv"), "not a state of a stream"),
        (("--log", "groups.csv"), "one of the files to read"),
        (("--plot", "figure.doc"), "not a figure's file name"),
    ],
)
def test_bad_options_are_refused(folder: Path, options: tuple[str, ...], said: str) -> None:
    before = (folder / "groups.csv").read_bytes()
    assert said in refused("requests.jsonl", "--groups", "groups.csv", *options)
    assert (folder / "groups.csv").read_bytes() == before


def test_requests_without_groups_are_noted(folder: Path) -> None:
    assert "nothing to be fair to" in run("requests.jsonl").stderr
