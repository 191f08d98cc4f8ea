"""Search, list and goal side by side: how each shares the attention among the groups of a dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evenrank.app.fairness.balance import Balance, shares_of_known
from evenrank.app.pages.i18n import Dated, Message, age, capital, joined_texts, percent, translate, written_in
from evenrank.core.groups import Dimension

MOSTLY_KNOWN = 0.5
"""Share of the attention whose groups must be known before pages say how fair a list is."""
LEAST_GAP = 0.01
"""How much more the goal asks for than plain search gives before a group is named."""
MOST_NAMED = 3
"""Groups that the sentence beside the bars names."""


@dataclass(frozen=True)
class GroupShares:
    """The attention of one group, of all that goes to articles with a known group."""

    label: str
    tone: int
    """Place of the group in its dimension: its colour on every page."""
    plain: float | None
    """What plain search gives; None when that is not known."""
    listed: float
    goal: float

    @property
    def has_articles(self) -> bool:
        """Whether the list or plain search has any."""
        return max(self.listed, self.plain or 0.0) > 0.0

    @property
    def progress(self) -> float:
        """How much nearer to its goal the list brings the group than plain search; negative when it is farther away,
        and 0 when pages write both shares alike."""
        if self.plain is None or percent(self.plain) == percent(self.listed):
            return 0.0
        return abs(self.plain - self.goal) - abs(self.listed - self.goal)


@dataclass(frozen=True)
class ShareBars:
    """The three bars of a dimension, and what a sentence says of them."""

    dimension: Dimension
    groups: tuple[GroupShares, ...]
    known: float
    """Share of the attention that goes to articles with a known group."""

    @property
    def is_mostly_known(self) -> bool:
        """Whether enough is known to say how fair the list is."""
        return self.known >= MOSTLY_KNOWN

    @property
    def has_choice(self) -> bool:
        """Whether there is more than one group to share the attention among."""
        return len(self.groups) > 1

    @property
    def wanting(self) -> list[GroupShares]:
        """The groups to which the goal gives noticeably more than plain search, those that lack most first."""
        having = [group for group in self.groups if group.plain is not None and group.has_articles]
        gaps = [(group.goal - (group.plain or 0.0), group) for group in having]
        found = sorted((pair for pair in gaps if pair[0] >= LEAST_GAP), key=lambda pair: -pair[0])
        return [group for _, group in found[:MOST_NAMED]]

    @property
    def without_articles(self) -> list[GroupShares]:
        """The groups to which the goal gives something, though no article of the list is known to be in them."""
        found = [group for group in self.groups if group.goal >= LEAST_GAP and not group.has_articles]
        return sorted(found, key=lambda group: -group.goal)[:MOST_NAMED]


def share_bars(listed: Balance, plain: Balance | None) -> list[ShareBars]:
    """The bars of each dimension whose groups are shown beside articles; groups of people are in none of them."""
    listed, plain = listed.public(), plain and plain.public()
    return [made for dimension in listed.space.dimensions if (made := _bars(dimension, listed, plain)).groups]


def _bars(dimension: Dimension, listed: Balance, plain: Balance | None) -> ShareBars:
    has, wanted = (shares_of_known(values, listed.space, dimension) for values in (listed.exposure, listed.goal))
    before = None if plain is None else shares_of_known(plain.exposure, plain.space, dimension)
    margin = listed.space.margin(listed.exposure, dimension.name)
    groups = tuple(
        GroupShares(
            label=label,
            tone=at + 1,
            plain=None if before is None else float(before[at]),
            listed=float(has[at]),
            goal=float(wanted[at]),
        )
        for at, label in enumerate(dimension.readable_groups[1:])
        if max(has[at], wanted[at], 0.0 if before is None else before[at]) >= 0.0005
    )
    return ShareBars(dimension, groups, float(margin[int(dimension.has_unknown) :].sum() / max(margin.sum(), 1e-12)))


def explain_shares(bars: Sequence[ShareBars], data: Dated, language: str) -> str:
    """How fair a list is and how old its data are, in two sentences for whoever reads it elsewhere."""
    if not bars:
        return ""
    with written_in(language):
        first, groups = bars[0], bars[0].wanting
        shares = {name: percent(sum(getattr(one, name) for one in groups)) for name in ("listed", "plain", "goal")}
        labels = joined_texts(capital(translate(group.label)) for group in groups).unescape()
        known = {"dimension": translate(first.dimension.heading), "known": percent(first.known), "age": age(data)}
        if first.is_mostly_known and groups:
            fair = Message(
                "Ordered by relevance and by a fair share of readers’ attention (%(groups)s: %(listed)s here, %(plain)s in plain search, %(goal)s as the goal).",  # noqa: E501
                groups=labels,
                **shares,
            )
        else:
            fair = Message("Ordered by relevance and by a fair share of readers’ attention.")
        if first.is_mostly_known:
            sure = Message("%(dimension)s: known for %(known)s of the attention; data: %(age)s.", **known)
        else:
            sure = Message(
                "%(dimension)s: known for only %(known)s of the attention, too little to say how fair this is; data: %(age)s.",  # noqa: E501
                **known,
            )
        return f"{translate(fair)} {translate(sure)}"
