"""What runs say of their hyperedges: explanations, changes, and the structure of the network."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hyperaction.hypergraph import Hypergraph
from hyperaction.report.explain import COLUMNS
from hyperaction.report.runs import RunData
from hyperaction.runs.directory import AGENT_FILE, STRUCTURE
from hyperaction.runs.files import read_about
from hyperaction.runs.reader import read_json
from hyperaction.runs.schema import (
    COUNT,
    FINITE,
    FLAG,
    SIZES,
    TABLE,
    TEXTS,
    Kind,
    UnreadableError,
    check,
    is_list,
)

EXPLANATION = Path("explain") / "explain.json"
"""The output of `hyperaction explain` in the directory of a run."""

MAX_EDGES = 1000
"""The most hyperedges of a hypergraph that is drawn without an explanation."""

Read = tuple[list[dict[str, Any]], list[str]]
"""What was read, and what was wrong."""


def explanations(runs: Sequence[RunData], labels: Mapping[Path, str]) -> Read:
    """What `hyperaction explain` found; for agents without any, their hyperedges alone."""
    found, problems = _of_runs(runs, labels, EXPLANATION, _explanation)
    explained = {(one["env"], one["agent"]) for one in found}
    for run in runs:
        key = (run.config["env"], labels[run.out])
        if key not in explained and (structure := _network(run)) is not None:
            explained.add(key)
            found.append({"run": run.name, "env": key[0], "agent": key[1], **structure})
    return found, problems


def structures(runs: Sequence[RunData], labels: Mapping[Path, str]) -> Read:
    """How hyperedges changed in runs in which they do."""
    return _of_runs(runs, labels, Path(STRUCTURE), _structure)


def _network(run: RunData) -> dict[str, Any] | None:
    """The hyperedges of a run's network, as an explanation without numbers, if one joins any."""
    settings = run.config["settings"]
    if not settings.get("orders") or settings.get("structure", {}).get("name", "none") != "none":
        return None
    try:
        actions = check(read_about(run.out / AGENT_FILE)["actions"], {"sizes": SIZES})
        sizes = actions["sizes"]
        edges = [[int(v) for v in str(edge).split(",")] for edge in settings.get("edges", ())]
        count = sum(math.comb(len(sizes), max(order, 0)) for order in settings["orders"])
        if max(count, len(edges)) > MAX_EDGES:
            return None
        orders = settings["orders"]
        made = Hypergraph(sizes, edges) if edges else Hypergraph.of_orders(sizes, orders)
    except (ValueError, LookupError, TypeError):
        return None
    names = actions.get("names", [])
    rows = [{"edge": list(edge)} for edge in made.edges]
    if all(len(row["edge"]) == 1 for row in rows):
        return None
    named = names if TEXTS.fits(names) and len(names) == len(sizes) else []
    return {"names": named, "sizes": sizes, "steps": 0, "representation": rows, "shares": []}


def _of_runs(
    runs: Sequence[RunData],
    labels: Mapping[Path, str],
    name: Path,
    checked: Callable[[Any], dict[str, Any]],
) -> Read:
    """What a file in the directories of runs holds, where there is one, and what is wrong."""
    found, problems = [], []
    for run in runs:
        file = run.out / name
        if not file.exists():
            continue
        try:
            shown = read_json(file, checked)
        except UnreadableError as error:
            problems.append(str(error))
            continue
        about = {"run": run.name, "env": run.config["env"], "agent": labels[run.out]}
        found.append({**about, **shown})
    return found, problems


ROWS = Kind("a list of tables", lambda value: is_list(value, TABLE.fits))

SCHEMA = {"names": TEXTS, "sizes": SIZES, "steps": COUNT, "representation": ROWS, "shares": ROWS}
"""What the output of `hyperaction explain` has."""


def _vertices(count: int) -> Kind:
    return Kind("vertices", lambda value: is_list(value, lambda v: v in range(count)))


def _structure(content: Any) -> dict[str, Any]:
    """What the page shows of how hyperedges changed."""
    check(content, {"sizes": SIZES, "changes": ROWS})
    vertices = _vertices(len(content["sizes"]))
    edges = Kind("hyperedges", lambda value: is_list(value, vertices.fits))
    for change in content["changes"]:
        check(change, {"step": COUNT, "message": MESSAGE, "edges": edges, "shares": ROWS})
        for row in change["shares"]:
            check(row, {"vertices": vertices, "share": FINITE, "kept": FLAG})
    return {name: content[name] for name in ("sizes", "changes")}


MESSAGE = Kind("text", lambda value: isinstance(value, str))


def _explanation(content: Any) -> dict[str, Any]:
    """What the page shows of an explanation."""
    check(content, SCHEMA)
    count = len(content["sizes"])
    vertices = _vertices(count)
    for row in content["representation"]:
        check(row, {"edge": vertices, **dict.fromkeys(COLUMNS, FINITE)})
    for row in content["shares"]:
        check(row, {"vertices": vertices, "share": FINITE})
    return {name: content[name] for name in SCHEMA}
