"""Data frames of results, for packages that are there only with an extra."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenrank.errors import load_extra

if TYPE_CHECKING:
    from pandas import DataFrame as DataFrame
else:
    DataFrame = Any
    """A data frame of pandas, which is imported when one is made."""


def pandas_frame(data: Any, **options: Any) -> DataFrame:
    """A data frame of pandas; MissingExtraError without it."""
    frame: DataFrame = load_extra("pandas", "a data frame", "pandas").DataFrame(data, **options)
    return frame


def polars_frame(data: Any) -> Any:
    """A frame of polars; MissingExtraError without it."""
    return load_extra("polars", "a polars frame", "polars").DataFrame(data)
