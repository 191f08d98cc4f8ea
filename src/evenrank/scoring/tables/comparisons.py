"""The comparison with a baseline as a table."""

from __future__ import annotations

from evenrank.scoring.compare import Comparisons
from evenrank.scoring.tables.results import interval_label
from evenrank.scoring.tables.table import Cell, Column, Table


def compare_table(comparisons: Comparisons) -> Table:
    """A row per measure and run: means, difference with its interval, topics won and lost, p before and after Holm."""
    columns = (
        Column("run"),
        Column("measure"),
        Column("baseline_mean", "baseline"),
        Column("mean"),
        Column("difference"),
        Column("ci", interval_label(comparisons.protocol)),
        Column("wins", "won"),
        Column("ties", "tied"),
        Column("losses", "lost"),
        Column("p"),
        Column("p_holm", "p (Holm)"),
        Column("verdict"),
    )
    rows: list[tuple[Cell, ...]] = [
        (
            row.run,
            row.measure,
            row.baseline_mean,
            row.mean,
            row.difference,
            row.interval,
            row.wins,
            row.ties,
            row.losses,
            row.p,
            row.p_holm,
            row.verdict,
        )
        for row in comparisons.rows
    ]
    caption = f"Against {comparisons.baseline}: paired {comparisons.test} over topics, Holm-corrected per measure"
    return Table(columns, tuple(rows), caption)
