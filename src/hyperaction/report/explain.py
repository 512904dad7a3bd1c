"""Which hyperedges matter, in words, a table and a figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table

from hyperaction.report.drawing import save

NO_SHARES = "The mixer is no weighted sum, so no canonical form tells the hyperedges' shares."

ENOUGH = 0.01
"""The share of the variance that nobody would miss."""


def orders(found: dict[str, Any]) -> dict[int, float]:
    """The share of the variance that each order explains."""
    shares: dict[int, float] = {}
    for row in found["shares"]:
        order = len(row["vertices"])
        shares[order] = shares.get(order, 0.0) + row["share"]
    return dict(sorted(shares.items()))


def sentences(found: dict[str, Any]) -> list[str]:
    """What the shares say."""
    by_order = orders(found)
    if not any(by_order.values()):
        return ["All joint actions that weigh anything have the same value: nothing to explain."]
    told = ", ".join(f"order {order} {_percent(share)}" for order, share in by_order.items())
    said = [f"Of the variance of Q over joint actions explain: {told}."]
    needed = max(by_order)
    while needed > 1 and sum(s for o, s in by_order.items() if o >= needed) < ENOUGH:
        needed -= 1
    if needed < max(by_order):
        above = sum(share for order, share in by_order.items() if order > needed)
        one = needed == max(by_order) - 1
        what = f"Rank {max(by_order)} explains" if one else f"Orders above {needed} explain"
        said.append(f"{what} {_percent(above)}: rank {needed} would do.")
    kept, dropped = without_the_useless(found)
    if dropped:
        names = ", ".join(braced(row["vertices"]) for row in dropped[:8])
        more = f" and {len(dropped) - 8} more" if len(dropped) > 8 else ""
        lost = sum(row["share"] for row in dropped)
        edges = " ".join(",".join(map(str, row["vertices"])) for row in kept)
        said.append(f"Least useful, {_percent(lost)} together: {names}{more}.")
        said.append(f"Without them: --edges {edges}")
    return said


def without_the_useless(
    found: dict[str, Any],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The sets of vertices to keep, and those whose shares together nobody would miss.

    A set within one that is kept stays too: the larger one could express it all the same.
    """
    dropped: list[dict[str, Any]] = []
    kept = list(found["shares"])
    while True:
        largest = [row for row in kept if _is_largest(row, kept) and len(row["vertices"]) > 1]
        row = min(largest, key=lambda row: row["share"], default=None)
        if row is None or sum(other["share"] for other in dropped) + row["share"] > ENOUGH:
            return kept, dropped
        kept, dropped = [other for other in kept if other is not row], [*dropped, row]


def _is_largest(row: dict[str, Any], rows: list[dict[str, Any]]) -> bool:
    own = set(row["vertices"])
    return not any(own < set(other["vertices"]) for other in rows)


def table(found: dict[str, Any], rows: int) -> Table:
    """The sets of vertices that explain most; without shares, the largest representations."""
    names = found["names"]
    representation = {tuple(row["edge"]): row for row in found["representation"]}
    shares = {tuple(row["vertices"]): row["share"] for row in found["shares"]}
    shown = Table(title=f"What {found['steps']:,} greedy steps say", title_justify="left")
    for name, justify in (("vertices", "left"), ("variance", "right")):
        shown.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for name in ("mean", "lowest", "highest"):
        shown.add_column(name, justify="right")
    if shares:
        parts = sorted(shares, key=lambda part: -shares[part])
    else:
        parts = sorted(representation, key=lambda part: -abs(representation[part]["mean"]))
    for part in parts[:rows]:
        row = representation.get(part)
        numbers = ["", "", ""] if row is None else [_number(row[key]) for key in COLUMNS]
        named = f" {', '.join(names[vertex] for vertex in part)}" if names else ""
        share = _percent(shares[part]) if shares else ""
        shown.add_row(f"{braced(part)}{named}", share, *numbers)
    return shown


COLUMNS = ("mean", "lowest", "highest")


def draw(found: dict[str, Any], file: Path) -> Path:
    """The paper's figure 7a: bars for every hyperedge, grouped by order; below, the shares."""
    from matplotlib.figure import Figure

    panels = 2 if found["shares"] else 1
    bars = max(len(found["representation"]), len(found["shares"]))
    width = min(20.0, max(5.0, 0.24 * bars + 1.5))
    figure = Figure(figsize=(width, 2.9 * panels), layout="constrained")
    axes = figure.subplots(panels, 1, squeeze=False)[:, 0]
    _draw_representation(axes[0], found)
    if panels == 2:
        _draw_shares(axes[1], found)
    if found["names"]:
        named = ", ".join(f"{vertex} {name}" for vertex, name in enumerate(found["names"]))
        figure.supxlabel(named, fontsize=7)
    return save(figure, file)


def _draw_representation(axis: Any, found: dict[str, Any]) -> None:
    rows = sorted(found["representation"], key=lambda row: (len(row["edge"]), row["edge"]))
    for place, row in enumerate(rows):
        axis.bar(place, row["mean"], color=_colour(row["edge"]))
        axis.vlines(place, row["lowest"], row["highest"], color="black", linewidth=0.8)
    _label(axis, [row["edge"] for row in rows])
    axis.axhline(0, color="0.6", linewidth=0.6)
    for order in sorted({len(row["edge"]) for row in rows}):
        axis.bar(0, 0, color=f"C{order - 1}", label=f"order {order}")
    axis.legend(fontsize=7, frameon=False)
    axis.set_ylabel("representation of\nthe greedy action")


def _draw_shares(axis: Any, found: dict[str, Any]) -> None:
    rows = sorted(found["shares"], key=lambda row: (len(row["vertices"]), row["vertices"]))
    for place, row in enumerate(rows):
        axis.bar(place, 100 * row["share"], color=_colour(row["vertices"]))
    _label(axis, [row["vertices"] for row in rows])
    axis.set_ylabel("share of the\nvariance of Q (%)")


def _label(axis: Any, parts: list[list[int]]) -> None:
    names = [",".join(map(str, part)) for part in parts]
    axis.set_xticks(range(len(names)), names, rotation=90, fontsize=6)
    axis.set_xlim(-0.7, len(names) - 0.3)
    axis.spines[["top", "right"]].set_visible(False)


def _colour(part: list[int]) -> str:
    return f"C{len(part) - 1}"


def braced(part: Any) -> str:
    """A set of vertices, as the paper writes it."""
    return "{" + ", ".join(map(str, part)) + "}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%" if share >= 0.0005 or share == 0 else "under 0.1%"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
