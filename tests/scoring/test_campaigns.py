"""Campaigns on small files: what their scorers leave open, options, and files with faults."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import evenrank
from evenrank.cli.main import cli
from evenrank.errors import EvenrankError, InputError
from evenrank.scoring.campaigns.registry import CAMPAIGNS
from tests.scoring import reference_campaigns as reference


@pytest.fixture
def files_2019(tmp_path: Path) -> Path:
    judgments = [
        {"qid": 1, "query": "x", "frequency": 0.1, "documents": [_judged("a", 1), _judged("b", 0), _judged("c", 1)]},
        {"qid": 2, "query": "y", "frequency": 0.1, "documents": [_judged("a", 0), _judged("d", 1)]},
    ]
    runs = [
        {"q_num": "0.0", "qid": 9, "ranking": ["b", "c", "a"]},
        {"q_num": "0.2", "qid": 1, "ranking": ["z", "a", "c"]},
        {"q_num": "1.0", "qid": 1, "ranking": []},
        {"q_num": "7.0", "qid": 1, "ranking": ["a"]},
    ]
    (tmp_path / "qrels.json").write_text("".join(json.dumps(one) + "\n" for one in judgments))
    (tmp_path / "run.json").write_text("".join(json.dumps(one) + "\n" for one in runs))
    (tmp_path / "groups.csv").write_text('a,North,North,\nd,South\nc,"South, far"\nb\n')
    (tmp_path / "sequences.csv").write_text("0.0,1\n0.1,2\n0.2,1\n1.0,2\n")
    return tmp_path


def _judged(document: str, relevance: float) -> dict[str, object]:
    return {"doc_id": document, "relevance": relevance}


@pytest.fixture
def files_2020(tmp_path: Path) -> Path:
    (tmp_path / "qrels.tsv").write_text("1\t3|4\ta\t1\n1\t4\tb\t0\n2\t\tc\t2\n3\t3\td\t0\n")
    (tmp_path / "run.txt").write_text("1 Q0 b 1 1.0 t\n1 Q0 a 2 0.5 t\n1 Q1 a 1 1.0 t\n9 Q0 a 1 1.0 t\n")
    return tmp_path


@pytest.fixture
def files_fairweb(tmp_path: Path) -> Path:
    (tmp_path / "qrels").write_text("T1 a L2\nT1 b L0\nT1 c L1\nT2 a L0\nT3 a L1\n")
    (tmp_path / "run.txt").write_text(
        "T1 Q0 b 9 0.1 t\nT1 Q0 z 2 0.5 t\nT1 Q0 a 3 0.9 t\nT2 Q0 a 1 1 t\nT9 Q0 a 1 1 t\n"
    )
    (tmp_path / "age.gmemb").write_text("# ordinal\nT1 a 1 0 0\nT1 b 0 0.5 0.5\nT2 a 1 0 0\nT3 a 0 0 1\n")
    (tmp_path / "age.golddistr").write_text("0.5\n0.25\n0.25\n")
    return tmp_path


def inputs_of(folder: Path) -> list[object]:
    """The command line for the files of a folder, protocol included."""
    if (folder / "sequences.csv").exists():
        words = ["--protocol", "trec-2019", "--run", folder / "run.json", "--qrels", folder / "qrels.json"]
        return [*words, "--groups", folder / "groups.csv", "--sequences", folder / "sequences.csv"]
    if (folder / "qrels.tsv").exists():
        return ["--protocol", "trec-2020", "--run", folder / "run.txt", "--qrels", folder / "qrels.tsv"]
    words = ["--protocol", "fairweb-1", "--run", folder / "run.txt", "--qrels", folder / "qrels"]
    return [*words, "--groups", f"age={folder / 'age.gmemb'}", "--target", f"age={folder / 'age.golddistr'}"]


def run_score(*words: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error; an error other than ours is raised."""
    result = CliRunner().invoke(cli, ["score", *map(str, words)])
    if isinstance(result.exception, EvenrankError):  # `main` prints it
        return 2, result.stdout, f"{result.stderr}error: {result.exception}"
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


def scores_of(folder: Path, *words: object) -> dict[str, dict[str, float]]:
    code, out, err = run_score(*inputs_of(folder), *words, "--format", "json", "-q")
    assert code == 0, err
    return {one["query"]: one["scores"] for one in json.loads(out)["queries"]}


def test_2019_with_missing_rankings_and_unjudged_documents(files_2019: Path) -> None:
    found = scores_of(files_2019)
    relevance = {("1", "a"): 1.0, ("1", "c"): 1.0, ("2", "d"): 1.0}
    groups = {"a": ["North", "North", ""], "d": ["South"], "c": ["South, far"], "b": []}
    rankings = {"0.0": ["b", "c", "a"], "0.2": ["z", "a", "c"]}
    wanted = reference.sequence_scores(rankings, {"0.0": "1", "0.1": "2", "0.2": "1"}, relevance, groups)
    assert (found["0"]["utility"], found["0"]["unfairness"]) == pytest.approx(wanted)
    assert found["1"] == {"utility": 0.0, "unfairness": None}
    _, _, err = run_score(*inputs_of(files_2019))
    for note in (
        "1 of 4 requests have no ranking",
        "1 rankings are for requests of no",
        "1 ranked documents are not judged",
    ):
        assert note in err
    assert "1 sequences expose no group" in err


def test_2019_has_several_groupings_and_needs_none(files_2019: Path) -> None:
    (files_2019 / "other.csv").write_text("a,x\nc,y\nd,x\n")
    words = [word for word in inputs_of(files_2019) if word not in ("--groups", files_2019 / "groups.csv")]
    code, out, _ = run_score(*words, "--format", "json")
    assert (code, set(json.loads(out)["systems"][0]["scores"])) == (0, {"utility"})
    both = ["--groups", f"one={files_2019 / 'groups.csv'}", "--groups", f"two={files_2019 / 'other.csv'}"]
    code, out, _ = run_score(*words, *both, "-m", "unfairness", "--format", "json")
    assert set(json.loads(out)["systems"][0]["scores"]) == {"unfairness:one", "unfairness:two"}
    assert run_score(*words, "-m", "unfairness")[0] == 2
    assert run_score(*words, *both[:3], files_2019 / "other.csv")[0] == 2


@given(st.integers(0, 2**32 - 1))
def test_2019_is_that_of_a_second_implementation(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    rng = random.Random(seed)
    folder = tmp_path_factory.mktemp("sequences")
    documents = [f"d{number}" for number in range(8)]
    relevance = {(str(query), one): rng.randint(0, 1) for query in range(3) for one in documents[:6]}
    groups = {one: rng.choices(["x", "y", ""], k=rng.randint(1, 3)) for one in rng.sample(documents, 6)}
    queries = {f"0.{number}": str(rng.randrange(3)) for number in range(6)}
    rankings = {request: rng.sample(documents, rng.randint(0, 8)) for request in rng.sample(sorted(queries), 5)}
    lines = [
        {"qid": query, "documents": [_judged(one, relevance[str(query), one]) for one in documents[:6]]}
        for query in range(3)
    ]
    (folder / "qrels.json").write_text("".join(json.dumps(one) + "\n" for one in lines))
    ranked = [{"q_num": number, "ranking": ranking} for number, ranking in rankings.items()]
    (folder / "run.json").write_text("".join(json.dumps(one) + "\n" for one in ranked))
    (folder / "groups.csv").write_text("".join(",".join([one, *own]) + "\n" for one, own in groups.items()))
    (folder / "sequences.csv").write_text("".join(f"{number},{query}\n" for number, query in queries.items()))
    found = evenrank.score(
        folder / "run.json",
        folder / "groups.csv",
        folder / "qrels.json",
        protocol="trec-2019",
        sequences=folder / "sequences.csv",
    )
    wanted = reference.sequence_scores(rankings, queries, relevance, groups)
    assert tuple(found.scores.values()) == pytest.approx(wanted, nan_ok=True, abs=1e-12)


@pytest.mark.parametrize(("attention", "satisfaction"), [("gerr", 0.5), ("rbp", 0.0)])
def test_2020_is_that_of_a_second_implementation(files_2020: Path, attention: str, satisfaction: float) -> None:
    words = ["--attention", attention, "--set", "normalised=false"]
    found = scores_of(files_2020, *words, "--set", "complete=true")
    samples = [["b", "a"], ["a"]]
    assert found["1"] == pytest.approx(reference.exposure_measures(samples, {"a": 1, "b": 0}, 0.5, satisfaction))
    assert set(found) == {"1", "2", "3"}
    relevant = scores_of(files_2020, *words)
    assert set(relevant) == {"1", "2"}
    assert relevant["1"] == pytest.approx(reference.exposure_measures(samples, {"a": 1}, 0.5, satisfaction))


def test_2020_gives_bounds_to_queries_without_rankings(files_2020: Path) -> None:
    """One relevant document: with one grade the bounds of relevance are 0, and so is the difference."""
    plain = scores_of(files_2020, "--set", "normalised=false")
    assert plain["2"] == {"disparity": pytest.approx(4 / 3), "relevance": 0.0, "difference": 0.0}
    assert scores_of(files_2020)["2"] == {"disparity": 1.0, "relevance": 1.0, "difference": 0.0}
    err = run_score(*inputs_of(files_2020))[2]
    for note in ("1 of 2 queries have no ranking", "1 queries are not judged", "1 queries without relevant documents"):
        assert note in err


def test_2020_has_other_parameters_on_request(files_2020: Path) -> None:
    assert scores_of(files_2020, "--attention", "gerr:0.5,0.5") == scores_of(files_2020)
    assert scores_of(files_2020, "--attention", "rbp:0.8") != scores_of(files_2020, "--attention", "rbp")
    assert list(scores_of(files_2020, "-m", "relevance")["1"]) == ["relevance"]
    assert run_score(*inputs_of(files_2020), "--attention", "log")[0] == 2


def test_fairweb_by_hand(files_fairweb: Path) -> None:
    """T1 ranks b (L0), an unjudged page of equal shares and a (L2); T2 has no relevant page, T3 no ranking."""
    found = scores_of(files_fairweb)
    assert set(found) == {"T1", "T3"}
    assert found["T1"]["ERR@20"] == pytest.approx(0.75 / 3)
    assert found["T1"]["iRBU@20"] == pytest.approx(0.99**3 * 0.75)
    third = 0.333333
    shares = [[0.0, 0.5, 0.5], [third] * 3, [1.0, 0.0, 0.0]]
    for name in ("JSD", "NMD", "RNOD"):
        wanted = reference.group_fairness([0, 0, 2], shares, [0.5, 0.25, 0.25], 20, name)
        assert found["T1"][f"GF-{name}@20"] == pytest.approx(wanted, abs=1e-12)
    assert found["T1"]["GFR"] == pytest.approx((found["T1"]["ERR@20"] + found["T1"]["GF-NMD@20"]) / 2)
    assert set(found["T3"].values()) == {0.0}
    assert scores_of(files_fairweb, "-m", "ERR", "-m", "iRBU@2", "-k", "2")["T1"] == {"ERR": 0.0, "iRBU@2": 0.0}
    assert scores_of(files_fairweb, "-m", "ERR", "--set", "gains=1,1")["T1"]["ERR"] == pytest.approx(0.5 / 3)


def test_documents_ranked_twice_and_falling_ranks_are_counted_as_they_stand_and_named(
    files_2019: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Published evaluators take each place as it comes, so that a note says what a user did not mean."""
    (files_2019 / "run.json").write_text('{"q_num": "0.0", "ranking": ["a", "b", "a"]}\n')
    found = scores_of(files_2019)["0"]["utility"]
    assert found == pytest.approx((0.7 + 0.25 * 0.3 * 0.7) / 3)
    said = "1 ranked documents are in the same ranking further up, and count each time"
    assert f"run: {said}" in run_score(*inputs_of(files_2019))[2]
    other = tmp_path_factory.mktemp("2020")
    (other / "qrels.tsv").write_text("1 3 a 1\n")
    (other / "run.txt").write_text("1 Q0 a 1 9 t\n1 Q0 a 2 8 t\n1 Q1 a 1 9 t\n")
    assert said in run_score(*inputs_of(other))[2]
    (other / "qrels").write_text("1 a L1\n2 a L1\n")
    (other / "run.txt").write_text("1 Q0 b 2 8 t\n1 Q0 a 1 9 t\n2 Q0 a 1 9 t\n2 Q0 a 2 9 t\n")
    words = ["--protocol", "fairweb-1", "--run", other / "run.txt", "--qrels", other / "qrels", "-q"]
    code, out, err = run_score(*words, "-m", "ERR@20", "--format", "json")
    assert code == 0
    assert said in err
    assert "run: the rank column of 1 topics does not rise; pages count in the file's order" in err
    assert json.loads(out)["queries"][0]["scores"] == {"ERR@20": pytest.approx(0.25 / 2)}


def test_fairweb_without_groups_has_relevance_alone(files_fairweb: Path) -> None:
    words = ["--protocol", "fairweb-1", "--run", files_fairweb / "run.txt", "--qrels", files_fairweb / "qrels"]
    code, out, _ = run_score(*words, "--format", "json")
    assert (code, set(json.loads(out)["systems"][0]["scores"])) == (0, {"ERR@20", "iRBU@20"})
    for wrong in ("GF-NMD@20", "GF-XYZ", "ERR@0", "nDCG"):
        assert run_score(*words, "-m", wrong)[0] == 2


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--protocol", "trec-2019", "--attention", "rbp", "-k", "3"], ["needs --sequences", "has no --attention, -k"]),
        (["--protocol", "trec-2020", "--set", "by=pages", "--set", "complte=1"], ["by=pages: choose", "'complete'"]),
        (["--protocol", "trec-2020", "--groups", "g.csv", "--target", "x=t"], ["has no --groups, --target"]),
        (
            ["--protocol", "fairweb-1", "--groups", "a=x", "--target", "b=y"],
            ["'a' has no --target", "'b' has no --groups"],
        ),
        (["--protocol", "fairweb-1", "--set", "gains=3,1"], ["gains are 3.0, 1.0"]),
        (["--protocol", "trec-2019", "--sequences", "s", "--set", "stop=2"], ["stop is 2, but must be from 0 to 1"]),
        (["--protocol", "trec-2021"], ["trec-2021"]),
        (["--set", "by=groups", "--qrels", "q"], ["belong to a protocol"]),
        (["--groups", "a", "--groups", "b"], ["--groups is given 2 times"]),
    ],
)
def test_options_are_checked_before_files_are_read(words: list[str], wanted: list[str]) -> None:
    code, _, err = run_score("--run", "missing.txt", "--qrels", "missing.qrels", *words)
    assert code == 2
    for part in wanted:
        assert part in err


def test_judgments_are_needed(tmp_path: Path) -> None:
    with pytest.raises(EvenrankError, match="relevance: None is not accepted"):
        evenrank.score(tmp_path / "run", protocol="trec-2020")
    with pytest.raises(EvenrankError, match="unknown protocol"):
        evenrank.score(tmp_path / "run", protocol="trec-2018")
    with pytest.raises(EvenrankError, match="rankings: a value of type int"):
        evenrank.score({"run": 3}, relevance="q", protocol="trec-2020")


BAD_LINES = {
    "run.json": [
        ("not JSON at all", "not JSON"),
        ('{"q_num": 0.1, "ranking": []}', "q_num is 0.1"),
        ('{"q_num": "0.9", "ranking": ["a", 3]}', "the ranking of 0.9 is"),
        ('{"q_num": "0.0", "ranking": ["a"]}', "request 0.0 is ranked in line 1 already"),
        ("[1]", "list where a record was expected"),
    ],
    "qrels.json": [
        ('{"qid": null, "documents": []}', "qid is None"),
        ('{"qid": 5, "documents": 3}', "documents are 3"),
        ('{"qid": 5, "documents": [{"doc_id": "a"}]}', "document 1 of query 5: no relevance"),
        ('{"qid": 5, "documents": [{"doc_id": "a", "relevance": 7}]}', "relevance is 7"),
        ('{"qid": 1, "documents": [{"doc_id": "a", "relevance": 0}]}', "has two relevances"),
    ],
    "sequences.csv": [
        ("zero,1", "'zero,1'"),
        ("0.5", "'0.5'"),
        ("0.0,1", "request 0.0 appears twice"),
        ("0.9,77", "query '77' is not judged"),
    ],
    "groups.csv": [
        ("a,x", "document 'a' is listed in line 1 already"),
        (",x", "no document"),
        ('e,"x', "cannot be read as CSV"),
    ],
    "qrels.tsv": [
        ("1 3", "2 columns"),
        ("1 3 a 1 5 6", "more than 4 columns"),
        ("1 3 a high", "grade 'high'"),
        ("1 3 a 2", "has two grades"),
    ],
    "run.txt": [
        ("1 Q0 a", "3 columns"),
        ("1 Q0 a 1 1.0 t more", "more than 6 columns"),
    ],
    "qrels": [
        ("T1 a high", "level 'high'"),
        ("T1 q L3", "level 'L3' has no gain"),
        ("T1 a L1", "has two levels"),
        ("T1 a", "2 columns"),
    ],
    "age.gmemb": [
        ("T1 x 0.5 0.5", "2 shares, but the target has 3"),
        ("T1 x 0.5 0.4 -0.1", "share '-0.1'"),
        ("T1 x 0.5 0.5 0.5", "shares that sum to 1.5"),
        ("T1 a 0 1 0", "has other shares further up"),
        ("T1 x 1 nan 0", "share 'nan'"),
    ],
    "age.golddistr": [("much", "'much' is not a number"), ("-1", "'-1' is not a number")],
}


@pytest.mark.parametrize("fixture", ["files_2019", "files_2020", "files_fairweb"])
def test_all_faults_of_all_files_are_reported_at_once(fixture: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(fixture)
    wanted = []
    for path in sorted(folder.iterdir()):
        n_lines = path.read_text().count("\n")
        with path.open("a") as file:
            for number, (line, found) in enumerate(BAD_LINES[path.name], n_lines + 1):
                file.write(f"{line}\n")
                wanted.append((f"{path}:{number}: ", found))
    code, out, err = run_score(*inputs_of(folder))
    assert (code, out) == (2, "")
    lines = err.splitlines()
    skipped = ("2 shares, but",) if fixture == "files_fairweb" else ()
    for place, found in wanted:
        assert found.startswith(skipped or "\0") or any(place in line and found in line for line in lines), (
            place,
            found,
        )


def test_ranks_have_no_gaps_in_2020(files_2020: Path) -> None:
    (files_2020 / "run.txt").write_text("1 Q0 a 1 1 t\n1 Q0 b 3 1 t\n1 Q1 a 2 1 t\n1 Q2 a 0 1 t\n")
    code, _, err = run_score(*inputs_of(files_2020))
    assert (code, "run.txt:4: rank '0'" in err) == (2, True)
    (files_2020 / "run.txt").write_text("1 Q0 a 1 1 t\n1 Q0 b 3 1 t\n1 Q1 a 2 1 t\n1 Q2 a 1 1 t\n1 Q2 b 1 1 t\n")
    code, _, err = run_score(*inputs_of(files_2020))
    for part in ("run.txt:2: rank 3 where ranking 'Q0' of query 1 has 2", "run.txt:3: rank 2", "run.txt:5: rank 1"):
        assert part in err
    (files_2020 / "run.txt").write_text("".join(f"1 Q{n} a 2 1 t\n" for n in range(500)))
    assert run_score(*inputs_of(files_2020))[2].count("rank 2 where") == 50


@pytest.mark.parametrize("fixture", ["files_2019", "files_2020", "files_fairweb"])
def test_swapped_files_are_recognised(fixture: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(fixture)
    words = [*map(str, inputs_of(folder))]
    places = [at for at, word in enumerate(words) if str(folder) in word]
    for one in places:
        for other in places:
            if one < other:
                swapped = list(words)
                name, _, path = words[one].rpartition("=")
                other_name, _, other_path = words[other].rpartition("=")
                swapped[one] = f"{name}={other_path}" if name else other_path
                swapped[other] = f"{other_name}={path}" if other_name else path
                code, _, err = run_score(*swapped)
                assert code == 2
                assert "are two files swapped?" in err, (swapped, err)


@pytest.mark.parametrize("fixture", ["files_2019", "files_2020", "files_fairweb"])
def test_damaged_files_end_in_an_error(fixture: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(fixture)
    words = inputs_of(folder)
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        path.write_bytes(gzip.compress(content))
        assert run_score(*words)[0] == 0, "compressed files are read whatever their name"
        path.write_bytes(gzip.compress(content)[:-9])
        code, _, err = run_score(*words)
        assert (code, f"{path}: the gzip data end in the middle" in err) == (2, True)
        path.write_bytes(b"")
        assert "empty file" in run_score(*words)[2]
        path.write_bytes(content + b"\xff\xfe\n")
        assert "not UTF-8" in run_score(*words)[2]
        path.unlink()
        code, _, err = run_score(*words)
        assert (code, f"{path}: No such file" in err) == (2, True)
        path.write_bytes(content)


def test_many_faults_are_counted(files_2020: Path) -> None:
    (files_2020 / "qrels.tsv").write_text("1 3 a x\n" * 1000)
    _, _, err = run_score(*inputs_of(files_2020))
    assert err.count("grade 'x'") == 50
    assert "950 more" in err


def test_runs_may_come_from_a_pipe(files_2020: Path) -> None:
    words = ["score", "--protocol", "trec-2020", "--run", "-", "--qrels", str(files_2020 / "qrels.tsv")]
    with pytest.raises(InputError, match="No such file"):
        evenrank.score(files_2020 / "none", relevance=files_2020 / "qrels.tsv", protocol="trec-2020")
    twice = CliRunner().invoke(cli, [*words[:-1], "-"])
    assert "named twice" in twice.stderr


def test_every_campaign_carries_its_facts() -> None:
    for name, campaign in CAMPAIGNS.items():
        assert campaign.name == name
        assert campaign.summary
        assert campaign.citation
        assert all(setting.explanation for setting in campaign.described_settings())
