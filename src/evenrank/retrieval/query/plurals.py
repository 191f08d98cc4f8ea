"""English nouns in the singular and the plural: `lighthouse` of `lighthouses`, `church` of `churches`.

Endings decide, and short lists where spelling does not tell: that of `houses` is as that of `viruses`.
"""

from __future__ import annotations

import re

SIBILANTS = ("s", "x", "z", "ch", "sh")
"""Endings of nouns whose plural has `es`."""
_IRREGULAR = {
    "calves": "calf",
    "dwarves": "dwarf",
    "elves": "elf",
    "halves": "half",
    "hooves": "hoof",
    "knives": "knife",
    "loaves": "loaf",
    "midwives": "midwife",
    "scarves": "scarf",
    "shelves": "shelf",
    "thieves": "thief",
    "wives": "wife",
    "wolves": "wolf",
    "housewives": "housewife",
    "werewolves": "werewolf",
    "children": "child",
    "geese": "goose",
    "mice": "mouse",
    "oxen": "ox",
    "teeth": "tooth",
    "quizzes": "quiz",
    "crises": "crisis",
    "oases": "oasis",
    "neuroses": "neurosis",
    "psychoses": "psychosis",
}
"""Plurals that no rule gives. Not `lives` and `leaves`, which are verbs more often."""
_PLURALS = {single: plural for plural, single in _IRREGULAR.items()}
_NOUNS_IN_S = frozenset(
    (
        *("alias", "atlas", "bias", "bus", "canvas", "chaos", "christmas", "cosmos", "ethos", "gas", "iris", "lens"),
        *("mantis", "minibus", "pancreas", "pelvis", "rhinoceros", "trellis", "trolleybus"),
        *("news", "series", "species"),
    )
)
"""Nouns that end like plurals."""
_NOUNS_IN_IE = frozenset(
    (
        *("aggie", "birdie", "bogie", "brownie", "calorie", "collie", "cookie", "eerie", "genie", "hippie", "junkie"),
        *("magpie", "movie", "necktie", "pixie", "prairie", "rookie", "selfie", "sortie", "zombie"),
    )
)
"""Nouns whose plural does not come from a `y`; so are all of three letters, such as `tie`."""
_NOUNS_IN_OE = frozenset(("aloe", "canoe", "floe", "foe", "hoe", "oboe", "roe", "sloe", "toe"))
_NOUNS_IN_CHE = frozenset(("avalanche", "creche", "niche", "psyche", "quiche"))
_NOUNS_IN_USE = frozenset(
    ("abuse", "accuse", "excuse", "fuse", "hypotenuse", "misuse", "muse", "recluse", "refuse", "ruse", "use")
)
"""Other than `house` and `cause`; all further ones are like `virus`."""
_FROM_SIS = re.compile(r"(?:lyses|theses|gnoses|phoses)$")
_FROM_SILENT_E = re.compile(r"(?:[^s]s|[^tz]z)es$|[^aeo]aches$")
"""Plurals of nouns in `e`: houses, prizes, headaches; not classes, waltzes, beaches."""


def singular(word: str) -> str:
    """A word without its plural ending; any other word as it is."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 3 or not word.endswith("s") or word in _NOUNS_IN_S:
        return word
    if word.endswith("es"):
        return _without_es(word)
    return word if word.endswith(("ss", "us", "is")) else word[:-1]


def _without_es(word: str) -> str:
    """The singular of a word in `es`, of which `e` may be part of the noun, the ending, or both."""
    noun, short = word[:-1], word[:-2]
    if word.endswith("ies"):
        has_ie = noun in _NOUNS_IN_IE or len(noun) <= 3 or noun.endswith(("eie", "aie"))
        return noun if has_ie else word[:-3] + "y"
    if short in _NOUNS_IN_S or short.endswith("polis"):
        return short
    if word.endswith("oes"):
        return noun if noun in _NOUNS_IN_OE or noun.endswith("shoe") else short
    if not short.endswith(SIBILANTS) or noun in _NOUNS_IN_CHE:
        return noun
    if _FROM_SIS.search(word):
        return short + "is"
    if word.endswith("uses") and noun[-4:-3] not in ("a", "o"):
        return noun if noun in _NOUNS_IN_USE else short
    return noun if _FROM_SILENT_E.search(word) else short


def plural_forms(single: str) -> tuple[str, ...]:
    """The plurals of a noun: mostly one, and both of `volcanos` and `volcanoes`."""
    if single in _PLURALS:
        return (_PLURALS[single],)
    if single in ("series", "species"):
        return (single,)
    before = single[-2:-1]
    if single.endswith("y") and len(single) > 2 and before not in "aeiou":
        return (single[:-1] + "ies",)
    if single.endswith("o") and len(single) > 2 and before not in "aeiou":
        return (single + "s", single + "es")
    if single.endswith(("lysis", "thesis", "gnosis", "phosis")):
        return (single[:-2] + "es",)
    return (single + ("es" if single.endswith(SIBILANTS) else "s"),)
