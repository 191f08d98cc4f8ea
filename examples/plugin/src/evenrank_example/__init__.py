"""A policy and a measure for Evenrank: installing this package makes both known by their names."""

import numpy as np

import evenrank


@evenrank.policy("round-robin", tasks=(1, 2), citation="the example of Evenrank's documentation")
def round_robin(candidates, target, request, rng, *, largest_first: bool = True):
    """The most relevant page of each group in turn, then the second of each, and so on."""
    group = candidates.alignment.rows.argmax(axis=1)[candidates.alignment.page_type]
    order = np.argsort(-candidates.relevance, kind="stable")
    turn = np.empty(len(candidates), int)
    for one in np.unique(group):
        members = order[group[order] == one]
        turn[members] = np.arange(len(members))
    wanted = target.values[group] * (-1 if largest_first else 1)
    return np.lexsort((wanted, turn))


@evenrank.measure("FirstRelevant", tasks=(1, 2), higher_is_better=True, low=0.0, high=1.0)
def first_relevant(view):
    """The reciprocal of the first rank that has a relevant page."""
    ranks = view.ranks[view.is_relevant]
    return 1.0 / (1 + ranks.min()) if len(ranks) else 0.0
