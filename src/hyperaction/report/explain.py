"""What hyperedges contribute to Q, as sentences and a table."""

from __future__ import annotations

from typing import Any

from rich.table import Table

NO_SHARES = "The mixer is not a weighted sum, so the variance of Q cannot be split into shares."

NEGLIGIBLE = 0.01
"""The share of the variance that may be dropped."""

COLUMNS = ("mean", "lowest", "highest")
"""The statistics of a representation."""


def shares_by_order(explanation: dict[str, Any]) -> dict[int, float]:
    """The share of the variance that each order explains."""
    shares: dict[int, float] = {}
    for row in explanation["shares"]:
        order = len(row["vertices"])
        shares[order] = shares.get(order, 0.0) + row["share"]
    return dict(sorted(shares.items()))


def sentences(explanation: dict[str, Any]) -> list[str]:
    """What the shares mean for the choice of hyperedges."""
    if not explanation["shares"]:
        return [NO_SHARES]
    by_order = shares_by_order(explanation)
    if not any(by_order.values()):
        return ["All joint actions of nonzero weight have the same value: nothing to explain."]
    shares = ", ".join(f"order {order} {_percent(share)}" for order, share in by_order.items())
    lines = [f"Variance of Q over joint actions explained: {shares}."]
    needed = max(by_order)
    while needed > 1 and sum(s for o, s in by_order.items() if o >= needed) < NEGLIGIBLE:
        needed -= 1
    if needed < max(by_order):
        above = sum(share for order, share in by_order.items() if order > needed)
        single = needed == max(by_order) - 1
        what = f"Rank {max(by_order)} explains" if single else f"Orders above {needed} explain"
        lines.append(f"{what} {_percent(above)}: rank {needed} is sufficient.")
    kept, dropped = split_negligible(explanation)
    if dropped:
        listed = ", ".join(_braced(_called(explanation, row)) for row in dropped[:8])
        more = f" and {len(dropped) - 8} more" if len(dropped) > 8 else ""
        lost = sum(row["share"] for row in dropped)
        edges = " ".join(",".join(_called(explanation, row)) for row in kept)
        lines.append(f"Least useful, {_percent(lost)} in total: {listed}{more}.")
        lines.append(f"Without them: --edges {edges}")
    return lines


def value_sentences(explanation: dict[str, Any]) -> list[str]:
    """Whether values hold; nothing where too few steps were played to say."""
    found = explanation["values"]
    if found is None:
        return []
    correlation = found["correlation"]
    related = "" if correlation is None else f"correlation {correlation:.2f}, "
    return [
        f"Q of greedy actions is {found['value']:.4g} on average, and the discounted return that "
        f"followed {found['return']:.4g} ({related}{found['steps']:,} steps)."
    ]


def split_negligible(
    explanation: dict[str, Any],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The sets of vertices to keep, and those whose total share is negligible.

    A subset of a set that is kept stays too, because the larger set could express it anyway.
    """
    dropped: list[dict[str, Any]] = []
    kept = list(explanation["shares"])
    while True:
        largest = [row for row in kept if _is_largest(row, kept) and len(row["vertices"]) > 1]
        row = min(largest, key=lambda row: row["share"], default=None)
        if row is None or sum(other["share"] for other in dropped) + row["share"] > NEGLIGIBLE:
            return kept, dropped
        kept, dropped = [other for other in kept if other is not row], [*dropped, row]


def _is_largest(row: dict[str, Any], rows: list[dict[str, Any]]) -> bool:
    vertices = set(row["vertices"])
    return not any(vertices < set(other["vertices"]) for other in rows)


def table(explanation: dict[str, Any], rows: int) -> Table:
    """The sets of vertices that explain most; without shares, the largest representations."""
    names = explanation["names"]
    representation = {tuple(row["edge"]): row for row in explanation["representation"]}
    shares = {tuple(row["vertices"]): row["share"] for row in explanation["shares"]}
    grid = Table(title=f"Over {explanation['steps']:,} greedy steps", title_justify="left")
    grid.add_column("vertices", overflow="fold")
    grid.add_column("variance", justify="right", overflow="fold")
    for name in COLUMNS:
        grid.add_column(name, justify="right")
    if shares:
        parts = sorted(shares, key=lambda part: -shares[part])
    else:
        parts = sorted(representation, key=lambda part: -abs(representation[part]["mean"]))
    for part in parts[:rows]:
        row = representation.get(part)
        numbers = [""] * len(COLUMNS) if row is None else [_number(row[key]) for key in COLUMNS]
        share = _percent(shares[part]) if shares else ""
        grid.add_row(_braced([names[vertex] for vertex in part]), share, *numbers)
    return grid


def _called(explanation: dict[str, Any], row: dict[str, Any]) -> list[str]:
    """The names of the vertices of a row."""
    return [explanation["names"][vertex] for vertex in row["vertices"]]


def _braced(names: list[str]) -> str:
    """A set of vertices in braces, as in the paper."""
    return "{" + ", ".join(names) + "}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%" if share >= 0.0005 or share == 0 else "under 0.1%"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
