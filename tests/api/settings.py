"""Writes `hyperaction.api.settings` from the configurations: `python -m tests.api.settings`."""

import textwrap
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hyperaction.agents.config import DDPGConfig, QLearningConfig
from hyperaction.arguments import docstrings, keys_of

FILE = Path(__file__).parents[2] / "src/hyperaction/api/settings.py"

HEADER = '''"""Every setting of an agent by name, for completion and type checkers.

Written from the configurations by `python -m tests.api.settings`; a test compares them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict


class Settings(TypedDict, total=False):
    """Settings of agents, of their parts, and the parts themselves."""

'''

EDGES = "str | Sequence[str | Sequence[int]]"
"""In Python, hyperedges may be tuples of vertices."""


def settings():
    """The type and docstring of every setting, by its short name."""
    found: dict[str, tuple[str, str]] = {}
    for config in (QLearningConfig(), DDPGConfig()):
        owners: dict[str, set[str]] = {}
        of_parts: dict[str, tuple[str, str]] = {}
        for each in fields(config):
            value, registry = getattr(config, each.name), each.metadata.get("registry")
            groups = list(registry.values()) if registry else []
            is_group = registry is None and is_dataclass(value) and not hasattr(value, "parse")
            groups += [type(value)] if is_group else []
            if not is_group:
                found.setdefault(each.name, own(type(config), each, registry))
            for kind in groups:
                for one in fields(kind):
                    if one.init:
                        owners.setdefault(one.name, set()).add(each.name)
                        of_parts.setdefault(one.name, own(kind, one, None))
        for name, value in of_parts.items():
            if len(owners[name]) == 1:
                found.setdefault(name, value)
    return found


def own(kind, each, registry):
    """The type and docstring of a field."""
    names = list(registry or ())
    if "names" in each.metadata:
        names = list(keys_of(each.metadata["names"]))
    doc = docstrings(kind).get(each.name, "")
    if each.name == "edges":
        return EDGES, doc
    if names:
        listed = ", ".join(f'"{name}"' for name in names)
        return f"Literal[{listed}] | Any", doc
    return rendered(get_type_hints(kind)[each.name]), doc


def rendered(kind: Any) -> str:
    """A type as it is written."""
    if get_origin(kind) is Literal:
        return f"Literal[{', '.join(repr(each) for each in get_args(kind))}]".replace("'", '"')
    if get_origin(kind) is tuple:
        return f"Sequence[{rendered(get_args(kind)[0])}]"
    if get_origin(kind) in (UnionType, Union):
        parts = [rendered(each) for each in get_args(kind)]
        return " | ".join(dict.fromkeys(parts))
    if kind in (int, float, str, bool):
        return kind.__name__
    return "None" if kind is NoneType else "Any"


def text():
    """The whole file."""
    lines = []
    for name, (kind, doc) in settings().items():
        lines.append(f"    {name}: {kind}")
        if doc:
            plain = " ".join(doc.split())
            body = textwrap.wrap(f'"""{plain}"""', 94)
            lines += [f"    {line}" for line in body]
    return HEADER + "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(text())
