"""The settings of a ranking job: read from text, checked against each other and the collection, all faults at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace

import numpy as np

from evenrank.core.allowed import setting_faults
from evenrank.core.exposure import check_attention
from evenrank.core.groups import Dimension, GroupSpace
from evenrank.core.settings import Settings, parse_each, setting_texts
from evenrank.errors import Collected, UnknownNameError
from evenrank.policies.policy import Policy
from evenrank.policies.registry import setting_names
from evenrank.ranking.build import BuildSettings
from evenrank.ranking.groups import is_within
from evenrank.ranking.undisclosed import parse_undisclosed
from evenrank.trec.collection import Collection
from evenrank.trec.target_choice import Target, TargetChoice, choose_target, table_faults

NO_ROWS = np.empty(0, np.intp)


def divide_settings(settings: Settings, policy: str | Policy) -> tuple[dict[str, str], dict[str, str]]:
    """Settings of the candidates and of the policy, as text; one that both have is the policy's, if that is a name."""
    of_candidates = candidate_setting_names() - setting_names(policy)
    texts = setting_texts(settings)
    of_build = {name: text for name, text in texts.items() if name in of_candidates}
    return of_build, {name: text for name, text in texts.items() if name not in of_candidates}


def candidate_setting_names() -> frozenset[str]:
    """Names of the settings of candidates."""
    return frozenset(field.name for field in fields(BuildSettings))


def candidate_settings(
    collection: Collection,
    texts: Mapping[str, str],
    target: Target,
    wanted: Mapping[str, object],
    n_ranks: int,
) -> BuildSettings:
    """Settings of the candidates: what is set, else what the protocol (`wanted`) and the target's table ask for."""
    faults = Collected()
    given, known = dict(texts), collection.known_dimensions
    asked = given.pop("target", target)
    choice = faults.check(lambda: choose_target(asked, known)) or TargetChoice()
    values, wrong = parse_each(BuildSettings, given)
    faults.add(wrong)
    usual = choice.dimensions or collection.default_groups(BuildSettings().information)
    settings = BuildSettings(**{**wanted, "information": usual, "scored": usual, "target": choice, **values})
    attention = faults.check(lambda: check_attention(settings.attention, n_ranks))
    faults.add(setting_faults(settings))
    faults.add(_dimension_faults(settings, collection))
    faults.check(lambda: is_within(collection, NO_ROWS, settings.within))
    _check_groups(settings, known, faults)
    faults.raise_any()
    return replace(settings, attention=str(attention))


def _dimension_faults(settings: BuildSettings, collection: Collection) -> Iterator[str]:
    """Names of dimensions that mean nothing here."""
    known = collection.known_dimensions
    if not settings.information:
        yield "information is empty, but must name at least one dimension"
    for name in ("information", "scored", "divided"):
        named = getattr(settings, name)
        if unknown := [dimension for dimension in named if dimension not in known]:
            yield f"{name}: {UnknownNameError('dimension', ', '.join(unknown), known)}"
    lacking = [name for name in settings.information if name in known and name not in collection.masks]
    if lacking:
        has = ", ".join(collection.masks)
        yield f"information: pages of {collection.path} have no {', '.join(lacking)} (choose from {has})"


def _check_groups(settings: BuildSettings, known: Mapping[str, Dimension], faults: Collected) -> None:
    """Settings that depend on the groups known to the system; where these are wrong, as far as they do not."""
    is_valid = bool(settings.information) and all(name in known for name in settings.information)
    if is_valid:
        faults.add(_odds_faults(settings, GroupSpace.of(settings.information, known)))
        faults.add(table_faults(settings.target, tuple(dict.fromkeys(settings.information))))
    information = settings.information if is_valid else tuple(known)
    faults.check(lambda: parse_undisclosed(settings.undisclosed, information, settings.scored if is_valid else ()))


def _odds_faults(settings: BuildSettings, space: GroupSpace) -> Iterator[str]:
    odds = settings.odds
    if odds and (len(odds) != space.n_groups or min(odds) < 0.0 or not any(odds)):
        of = " and ".join(settings.information)
        wanted = f"one for each of the {space.n_groups} groups of {of}, none below 0 and not all 0"
        yield f"odds: {len(odds)} given, but give {wanted} (the record beside a run lists them)"
