"""Settings of ranking jobs: every one has its limits, and everything wrong with a request is reported at once."""

from __future__ import annotations

import math
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from click.testing import CliRunner

import evenrank
from evenrank.cli.main import cli, main
from evenrank.core.allowed import MOST_PAGES, Range, limits_of
from evenrank.errors import MAX_REPORTED, EvenrankError, UnknownNameError
from evenrank.policies.registry import POLICIES, make_policy
from evenrank.ranking.build import BuildSettings
from evenrank.trec.collection import Collection

OF_NUMBERS = (int, float)


def numeric(owner: Any) -> list[str]:
    """The settings that are numbers."""
    hints = get_type_hints(owner)
    return [field.name for field in fields(owner) if hints[field.name] in OF_NUMBERS]


def outside(owner: Any, name: str) -> list[str]:
    """Texts just outside the range of a setting; −1 where the policy checks its settings in another way."""
    kind = get_type_hints(owner)[name]
    ranges = [one for one in limits_of(owner)[name] if isinstance(one, Range)]
    texts = [] if ranges else ["-1"]
    for one in ranges:
        lower = one.above if one.least is None else one.least - 1
        upper = one.below if one.most is None else one.most + 1
        texts += [str(kind(end)) for end in (lower, upper) if end is not None]
    return texts


OWNERS = {(policy, task): type(make_policy(policy, task)) for policy, entry in POLICIES.items() for task in entry.tasks}
CASES = {
    (policy, name, text): task
    for (policy, task), owner in OWNERS.items()
    for name in numeric(owner)
    for text in outside(owner, name)
}


@pytest.mark.parametrize("policy, name, text", CASES)
def test_a_number_out_of_range_ends_the_program_with_2_and_is_named(
    policy: str,
    name: str,
    text: str,
    golden_collection: Collection,
    golden_runs: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    task, output = CASES[policy, name, text], tmp_path / "x.tsv"
    options = f"--task {task} --policy {policy} --set {name}={text}".split()
    run = golden_runs[0 if task == 1 else -1]
    words = ["evenrank", "rank", str(golden_collection.path), *options, "--from", str(run), "-o", str(output)]
    monkeypatch.setattr("sys.argv", words)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert f"error: {policy}: {name} is " in capsys.readouterr().err
    assert not output.exists()


@pytest.mark.parametrize("owner", list(dict.fromkeys(OWNERS.values())), ids=lambda owner: owner.__name__)
def test_every_number_declares_a_lower_and_an_upper_end(owner: Any) -> None:
    for name in numeric(owner):
        (one,) = (one for one in limits_of(owner)[name] if isinstance(one, Range))
        assert (one.least is None) != (one.above is None), name
        assert (one.most is None) != (one.below is None), name
        assert getattr(owner(), name) in one


@pytest.mark.parametrize(
    "text, said",
    [
        ("union:rankers=,then=swop", "union: rankers is empty, but must name a policy"),
        ("union:rankers=,then=swop", "union: then: unknown policy 'swop'; choose from "),
        ("best-of:rankers=none", "best-of: rankers is empty, but must name a policy"),
        ("filter:then=swap:n_swaps=-1", "filter: then: swap: n_swaps is -1, but must be from 0 to 100,000,000"),
        ("fusion:policy=,method=borda,k=-1", "method=borda: choose from combsum, combmnz, rrf"),
        ("fusion:policy=,method=borda,k=-1", "fusion: policy is empty"),
        ("fusion:policy=,method=borda,k=-1", "fusion: k is -1"),
        ("mmr:balance=1.0000001", "mmr: balance is 1.0000001, but must be from 0 to 1"),
        ("controller:floor=0", "controller: floor is 0, but must be above 0 and at most 1"),
        ("fa-ir:significance=1", "fa-ir: significance is 1, but must be above 0 and below 1"),
    ],
)
def test_faults_of_a_policy_are_worded_alike(text: str, said: str) -> None:
    with pytest.raises(EvenrankError) as caught:
        make_policy(text)
    assert said in str(caught.value)


def test_a_policy_made_in_python_is_checked_too() -> None:
    owner: Any = POLICIES["deficit"]
    with pytest.raises(EvenrankError) as caught:
        owner(weight=math.nan, window=2.5, order="diagonal")
    assert str(caught.value).splitlines() == [
        "deficit: weight is nan, not a finite number",
        "deficit: window is 2.5, not a whole number",
        "deficit: order is 'diagonal', not one of column, row",
    ]


FAULTS = {
    "proof=foo": "proof=foo: choose from brief, quick, thorough",
    "min_precision=1.5": "min_precision is 1.5",
    "log_base=1": "log_base is 1",
    "precision_rank=few": "precision_rank=few: not a whole number",
    "fairnes=1": "unknown setting 'fairnes'",
    "n_candidates=0": "n_candidates is 0",
    "sharpness=99": "sharpness is 99, but must be from 0 to 20",
    "keep_unknown=maybe": "keep_unknown=maybe: not true or false",
    "group_odds=all": "group_odds=all: choose from learned, none",
    "within=geography=Mars": "within 'geography=Mars': choose a group of geography",
    "undisclosed=gender:7": "undisclosed 'gender:7': give a share above 0 and below 1",
    "information=age": "information: unknown dimension 'age'",
    "scored=mood": "scored: unknown dimension 'mood'",
    "divided=x": "divided: unknown dimension 'x'",
}


@pytest.mark.parametrize("command", ["rank", "pareto"])
def test_everything_wrong_with_a_command_line_is_reported_at_once(
    command: str, golden_collection: Collection, golden_runs: list[Path], tmp_path: Path
) -> None:
    table = tmp_path / "t.tsv"
    table.write_text("Atlantis\t0.4\nAfrica\t-2\n")
    own = {"rank": ["-o", str(tmp_path / "x.tsv")], "pareto": ["--weights", "-1,much"]}[command]
    options = [
        "--task",
        "1",
        "--topics",
        "999",
        "--attention",
        "rpb",
        "--target",
        str(table),
        "--from",
        str(golden_runs[0]),
    ]
    pairs = [part for pair in FAULTS for part in ("--set", pair)]
    result = CliRunner().invoke(cli, [command, str(golden_collection.path), *options, *pairs, *own])
    assert isinstance(result.exception, EvenrankError)
    told = str(result.exception)
    wanted = [*FAULTS.values(), "no group 'Atlantis'", "the share of Africa is -2", "unknown attention model 'rpb'"]
    wanted += ["unknown topic '999'"]
    wanted += ["weights of fairness must be numbers from 0 to 1e+09: '-1', 'much' are not"] * (command == "pareto")
    assert [said for said in wanted if said not in told] == []
    assert len(told.splitlines()) <= MAX_REPORTED


def test_a_lone_fault_keeps_its_kind(golden_collection: Collection, golden_runs: list[Path]) -> None:
    with pytest.raises(UnknownNameError):
        evenrank.rank(golden_collection, 1, "fairest", candidates=golden_runs[0])


def test_a_long_report_is_cut(golden_collection: Collection, golden_runs: list[Path]) -> None:
    settings = {f"s{number}": "x" * 10_000 for number in range(200)}
    with pytest.raises(EvenrankError) as caught:
        evenrank.rank(golden_collection, 1, "deficit", candidates=golden_runs[0], settings=settings)
    lines = str(caught.value).splitlines()
    assert len(lines) == MAX_REPORTED + 1
    assert lines[-1] == "… and 140 more faults"
    assert max(map(len, lines)) <= 2001


def test_policies_that_do_not_serve_the_task_are_refused_wherever_they_are_named(
    golden_collection: Collection, golden_runs: list[Path]
) -> None:
    with pytest.raises(EvenrankError, match="fusion: policy: policy controller does not serve Task 1"):
        evenrank.rank(golden_collection, 1, "fusion", candidates=golden_runs[0], settings={"policy": "controller"})


def test_a_table_over_other_groups_than_the_system_knows_is_refused_at_once(
    golden_collection: Collection, golden_runs: list[Path], tmp_path: Path
) -> None:
    table = tmp_path / "t.tsv"
    table.write_text("Africa\t1\n")
    with pytest.raises(EvenrankError) as caught:
        evenrank.rank(
            golden_collection,
            1,
            "deficit",
            candidates=golden_runs[0],
            target=table,
            settings={"information": "gender", "window": 0},
        )
    assert "t.tsv gives shares over geography, but groups are those of gender" in str(caught.value)
    assert "window is 0" in str(caught.value)


def test_pages_of_the_candidates_have_limits() -> None:
    declared = limits_of(BuildSettings)
    assert declared["n_candidates"] == (Range(least=1, most=MOST_PAGES),)
    assert BuildSettings().n_candidates in Range(least=1, most=MOST_PAGES)


def test_a_target_can_be_given_in_python(
    golden_collection: Collection, golden_runs: list[Path], tmp_path: Path
) -> None:
    table = tmp_path / "t.csv"
    table.write_text("Africa,0.5\nAsia,0.5\n")
    targets: list[Any] = [table, {"Africa": 0.5, "Asia": 0.5}, {"geography": {"Africa": 0.5, "Asia": 0.5}}]
    runs = [
        evenrank.rank(golden_collection, 1, "deficit", candidates=golden_runs[0], target=target, workers=1).run.pages
        for target in targets
    ]
    assert all(pages.tolist() == runs[0].tolist() for pages in runs)
    with pytest.raises(evenrank.InputError, match="no group 'Atlantis'"):
        evenrank.pareto(golden_collection, 1, candidates=golden_runs[0], target={"Atlantis": 1.0})
