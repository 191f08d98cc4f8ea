"""Small files that a user writes by hand: texts and settings, read whole, with a limit on their size."""

from __future__ import annotations

import os
from typing import Any

from evenrank.errors import input_error, reason_of

MAX_BYTES = 1 << 20
"""Size of the largest file; files without an end are refused too."""


def read_small_text(path: str | os.PathLike[str], fix: str) -> str:
    """The text of a file in UTF-8; InputError, with `fix` as the advice, for anything else."""
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise input_error(path, 0, f"more than {MAX_BYTES:,} bytes", fix)
        return content.decode("utf-8-sig")
    except OSError as error:
        raise input_error(path, 0, f"cannot be read: {reason_of(error)}", fix) from error
    except UnicodeDecodeError as error:
        raise input_error(path, 0, f"cannot be read: {error}", fix) from error


MAX_TOML_BYTES = 1 << 14
"""Size of the largest TOML file: the parser takes seconds for a key of ten thousand parts, and more for longer ones."""


def read_toml(path: str | os.PathLike[str], fix: str) -> tuple[str, dict[str, Any]]:
    """The text and the content of a TOML file; InputError when it is not one.

    The parser raises a plain ValueError for numbers of thousands of digits, and RecursionError for deep nesting.
    """
    import tomllib

    text = read_small_text(path, fix)
    if len(text) > MAX_TOML_BYTES:
        raise input_error(path, 0, f"more than {MAX_TOML_BYTES:,} characters", fix)
    try:
        return text, tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise input_error(path, 0, f"not TOML: {error}", fix) from error
