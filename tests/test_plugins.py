"""Plug-ins: what entry points offer is found by name, and what is broken never stops the rest."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

import evenrank
from evenrank import plugins
from evenrank.core.groups import Dimension
from evenrank.core.protocol import PAPER_2021, PROTOCOLS, Protocol
from evenrank.core.rng import derive
from evenrank.errors import EvenrankError
from evenrank.io.metadata_fields import FieldEncoder
from evenrank.measures.registry import MEASURES
from evenrank.plugins import GROUPS, PluginWarning, Registry, instances
from evenrank.policies.registry import POLICIES, describe_policy, make_policy
from evenrank.scoring.protocol_settings import settle_protocol
from evenrank.testing import TASK1, TASK2, check_policy, make_target, random_candidates

ROOT = Path(__file__).parents[1]


@evenrank.policy("reversed", tasks=(1, 2), citation="a test")
def reversed_order(candidates, target, request, rng, *, skip: int = 0):
    """Pages by rising relevance."""
    return np.argsort(candidates.relevance, kind="stable")[skip:]


@evenrank.policy("shuffled", tasks=(2,))
def shuffled(candidates, target, request, rng):
    return np.stack([rng.permutation(len(candidates)) for _ in range(request.n_rankings)])


@evenrank.policy("careless", tasks=(1,))
def careless(candidates, target, request, rng):
    return np.zeros(len(candidates), int)


NO_POLICY = "a text"
ANOTHER_PROTOCOL = PAPER_2021


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch):
    """A function that lets plug-ins offer objects of this module: entry points of the real class, without a package."""

    def offer(group: str, **values: str) -> None:
        entries = [EntryPoint(name, value, f"evenrank.{group}") for name, value in values.items()]
        monkeypatch.setattr(plugins, "_entry_points", lambda asked: entries if asked == group else [])

    return offer


def registry_of(group: str, builtin: dict[str, object], owner: type) -> Registry:
    return Registry(group, builtin, instances(owner, lambda one: one.name))


def test_a_plug_in_follows_the_built_in_objects(offered) -> None:
    offered("policies", reversed="tests.test_plugins:reversed_order")
    registry = Registry("policies", POLICIES.builtin, POLICIES._adopt)
    assert list(registry) == [*POLICIES.builtin, "reversed"]
    assert registry["reversed"] is reversed_order
    assert len(registry) == len(POLICIES.builtin) + 1
    assert "nothing" not in registry


def test_a_built_in_object_is_found_without_looking_for_plug_ins(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(group: str) -> list[EntryPoint]:
        raise AssertionError("looked for plug-ins")

    monkeypatch.setattr(plugins, "_entry_points", fail)
    registry = Registry("policies", POLICIES.builtin, POLICIES._adopt)
    assert registry["relevance"].name == "relevance"
    assert "optimal" in registry


def test_a_broken_plug_in_is_named_and_the_others_work(offered) -> None:
    offered(
        "policies",
        gone="tests.no_such_module:anything",
        missing="tests.test_plugins:no_such_name",
        wrong="tests.test_plugins:NO_POLICY",
        works="tests.test_plugins:reversed_order",
        zz_again="tests.test_plugins:reversed_order",
    )
    registry = Registry("policies", POLICIES.builtin, POLICIES._adopt)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert list(registry.plugins) == ["reversed"]
    said = [str(one.message) for one in caught]
    assert [one.category for one in caught] == [PluginWarning] * 4
    assert (
        "plug-in 'gone' (evenrank.policies: tests.no_such_module:anything) is ignored: ModuleNotFoundError" in said[0]
    )
    assert "AttributeError" in said[1]
    assert "not a policy, but str" in said[2]
    assert "the name 'reversed' is taken" in said[3]


def test_a_built_in_name_is_never_replaced(offered) -> None:
    offered("protocols", other="tests.test_plugins:ANOTHER_PROTOCOL")
    registry = registry_of("protocols", dict(PROTOCOLS.builtin), Protocol)
    with pytest.warns(PluginWarning, match="the name 'paper-2021' is taken"):
        assert registry.plugins == {}


def test_every_group_has_a_registry() -> None:
    from evenrank.app.exports.formats import FORMATS
    from evenrank.measures.registry import MEASURES
    from evenrank.retrieval.engine.engines import ENGINES
    from evenrank.trec.dimensions import DIMENSIONS

    registries = (POLICIES, MEASURES, DIMENSIONS, ENGINES, FORMATS, PROTOCOLS)
    assert tuple(registry.group for registry in registries) == GROUPS
    assert all(registry.builtin for registry in registries)


def test_a_function_becomes_a_policy_with_settings() -> None:
    candidates = random_candidates(30)
    target = make_target(candidates, TASK1)
    made = make_policy(reversed_order, 1, {"skip": "2"})
    positions = made.rank(candidates, target, TASK1, derive(1)).positions
    assert positions.tolist() == [np.argsort(candidates.relevance, kind="stable")[2:].tolist()]
    facts = describe_policy(reversed_order)
    assert (facts["name"], facts["summary"], facts["citation"]) == ("reversed", "Pages by rising relevance.", "a test")
    assert [(one["name"], one["default"]) for one in facts["settings"]] == [("skip", 0)]
    assert reversed_order(skip=2) == made
    with pytest.raises(EvenrankError, match="skip"):
        make_policy(reversed_order, 1, {"skip": "many"})


def test_one_row_is_repeated_and_rows_are_cut_at_the_length() -> None:
    candidates = random_candidates(30)
    target = make_target(candidates, TASK2)
    same = make_policy(reversed_order, 2).rank(candidates, target, TASK2, derive(1)).positions
    assert same.shape == (12, 10)
    assert (same == same[0]).all()
    drawn = make_policy(shuffled, 2).rank(candidates, target, TASK2, derive(1)).positions
    assert drawn.shape == (12, 10)
    assert not (drawn == drawn[0]).all()


def test_a_task_that_a_policy_does_not_serve_is_refused() -> None:
    with pytest.raises(EvenrankError, match="shuffled does not serve Task 1"):
        make_policy(shuffled, 1)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([0, 0], "the same candidate twice"),
        ([0, 30], "position 30 is outside of the 30 candidates"),
        ([-1], "position -1 is outside"),
        ([0.5], "gave float64 values"),
        ([[0], [1]], "gave 2 rankings, 1 were asked for"),
        ([[[0]]], "in 3 dimensions"),
    ],
)
def test_wrong_positions_are_explained(found: list, said: str) -> None:
    candidates = random_candidates(30)
    wrong = evenrank.policy("wrong")(lambda *_: np.array(found))
    with pytest.raises(EvenrankError, match=said):
        wrong().rank(candidates, make_target(candidates, TASK1), TASK1, derive(1))


def test_settings_need_defaults_and_tasks_are_one_or_two() -> None:
    with pytest.raises(EvenrankError, match="settings without a default: strength"):

        @evenrank.policy("hasty")
        def hasty(candidates, target, request, rng, *, strength): ...

    with pytest.raises(EvenrankError, match="give 1, 2 or both"):
        evenrank.policy("third", tasks=(3,))


def test_policies_of_functions_travel_to_other_processes() -> None:
    assert pickle.loads(pickle.dumps(reversed_order(skip=3))) == reversed_order(skip=3)


def test_checks_pass_for_a_sound_policy_and_fail_for_a_careless_one() -> None:
    check_policy(reversed_order)
    check_policy(shuffled)
    with pytest.raises(EvenrankError, match="careless: a ranking has the same candidate twice"):
        check_policy(careless)
    with pytest.raises(AssertionError, match="rankings by ranks are"):
        check_policy(reversed_order, skip=1)


@pytest.mark.parametrize("name", POLICIES.builtin)
def test_built_in_policies_pass_the_checks_that_others_can_run(name: str) -> None:
    check_policy(name)


def test_a_plug_in_that_leaves_or_explains_at_length_stops_nothing(offered, tmp_path, monkeypatch) -> None:
    (tmp_path / "plug_in_that_leaves.py").write_text("import sys\nsys.exit(3)\n")
    (tmp_path / "plug_in_that_explains.py").write_text("raise RuntimeError('first line\\nsecond line')\n")
    monkeypatch.syspath_prepend(tmp_path)
    offered(
        "policies",
        a="plug_in_that_leaves:x",
        b="plug_in_that_explains:x",
        c="tests.test_plugins:reversed_order",
        d="tests.test_plugins:reversed_order",
    )
    registry = Registry("policies", POLICIES.builtin, POLICIES._adopt)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert list(registry.plugins) == ["reversed"]
    said = [str(one.message) for one in caught]
    assert said[0].endswith("is ignored: SystemExit: 3")
    assert said[1].endswith("is ignored: RuntimeError: first line")
    assert said[2].endswith("is ignored: the name 'reversed' is taken by the plug-in 'c'")


@evenrank.policy("few")
def few(candidates, target):
    return []


@evenrank.measure("None")
def nothing():
    return 0.0


def test_a_function_of_the_wrong_form_is_named_alone(offered) -> None:
    offered("policies", few="tests.test_plugins:few", works="tests.test_plugins:reversed_order")
    registry = Registry("policies", POLICIES.builtin, POLICIES._adopt)
    with pytest.warns(PluginWarning, match=r"'few' .* \(write def few\(candidates, target, request, rng\)\)"):
        assert list(registry.plugins) == ["reversed"]
    offered("measures", none="tests.test_plugins:nothing", text="tests.test_plugins:NO_POLICY")
    measures = Registry("measures", MEASURES.builtin, MEASURES._adopt)
    with pytest.warns(PluginWarning, match=r"\(write def nothing\(view\)\)|not a measure, but str") as caught:
        assert measures.plugins == {}
    assert len(caught) == 2
    rankings, groups = {"q": {"a": 0.9, "b": 0.1}}, {"a": "x", "b": "y"}
    with pytest.raises(EvenrankError, match=r"policy few: TypeError: few\(\) takes 2 .*test_plugins\.py:\d+\)"):
        evenrank.rerank(rankings, groups, policy=few)


def fails(*_):
    raise KeyError("inside")


def test_errors_inside_plug_ins_name_the_plug_in_and_its_line() -> None:
    place = r"KeyError: 'inside' \(.*test_plugins\.py:\d+\)"
    rankings, groups = {"q": {"a": 0.9, "b": 0.1}}, {"a": "x", "b": "y"}
    with pytest.raises(EvenrankError, match=f"policy broken: {place}") as caught:
        evenrank.rerank(rankings, groups, policy=evenrank.policy("broken")(fails))
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(EvenrankError, match=f"measure Broken: {place}"):
        evenrank.score(rankings, groups, measures=[evenrank.measure("Broken")(fails)])
    with pytest.raises(EvenrankError, match="measure Text: gave str"):
        evenrank.score(rankings, groups, measures=[evenrank.measure("Text")(lambda view: "x")])
    with pytest.raises(EvenrankError, match="policy ragged: gave rankings of several lengths"):
        evenrank.rerank(rankings, groups, policy=evenrank.policy("ragged")(lambda *_: [[0, 1], [0]]))


def test_a_dimension_that_fails_is_named_at_import() -> None:
    encoder = FieldEncoder(Dimension("size", "size", ("unknown", "large"), (1.0,), fails, "a test"))
    with pytest.raises(EvenrankError, match=r"dimension size: KeyError: 'inside' \(.*test_plugins\.py:\d+\)"):
        encoder("large")


def test_the_choices_of_a_protocol_of_others_are_checked() -> None:
    wrong = replace(PAPER_2021, name="deep", task1_depth=-3, blend=2.0)
    with pytest.raises(EvenrankError) as caught:
        settle_protocol(wrong)
    assert str(caught.value).splitlines() == [
        "protocol deep: task1_depth: -3 is too small (at least 1)",
        "protocol deep: blend: 2.0 is not from 0 to 1",
    ]
    assert settle_protocol(replace(PAPER_2021, name="shallow", task1_depth=3)).task1_depth == 3
