"""Values of single fields of a question, from a form or JSON; what is wrong is noted by field."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from evenrank.app.pages.i18n import Message
from evenrank.core.records import WORK_ORDER

MAX_FAIRNESS = 1000.0


def parse_classes(fields: Mapping[str, Any], faults: dict[str, str]) -> tuple[str, str]:
    """The range of classes, from the least to the best; one that begins with good articles has no upper end."""
    least = str(fields.get("least", "") or WORK_ORDER[0])
    best = str(fields.get("best", "") or (WORK_ORDER[-1] if least in ("GA", "FA") else "B"))
    if least not in WORK_ORDER or best not in WORK_ORDER:
        faults["best"] = Message("Choose classes from: %(names)s.", names=", ".join(WORK_ORDER))
    return least, best


def parse_whole(name: str, fields: Mapping[str, Any], most: int, faults: dict[str, str]) -> int:
    """A whole number; 0 when the field is empty."""
    given = fields.get(name, "") or 0
    text = str(int(given) if isinstance(given, float) else given).strip()
    if not (text.isascii() and text.isdecimal() and len(text) < 12 and int(text) <= most):
        faults[name] = Message("Give a whole number from 0 to %(most)s.", most=most)
        return 0
    return int(text)


def parse_fairness(value: object, faults: dict[str, str]) -> float:
    """The strength of fairness."""
    try:
        number = float(value) if isinstance(value, str | int | float) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if not 0.0 <= number <= MAX_FAIRNESS:
        faults["fairness"] = Message(
            "The strength of fairness must be a number from 0 to %(most)s.", most=int(MAX_FAIRNESS)
        )
        return 1.0
    return number
