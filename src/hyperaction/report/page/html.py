"""The page as one HTML file that works offline."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

SCRIPTS = ("base", "export", "results", "curves", "hypergraph", "explained", "page")
"""The page's own scripts, in the order in which they are run, as one."""


def html(data: dict[str, Any], videos: list[dict[str, str]], *, live: bool = False) -> str:
    """The page with its data.

    Args:
        data: The data to show.
        videos: Videos, each with a name and an address.
        live: Whether the page polls its server for newer data.
    """
    here = files(__package__)
    page = (here / "page.html").read_text()
    parts = {
        "STYLE": (here / "page.css").read_text(),
        "CHARTS": charts(),
        "SCRIPT": "\n".join((here / f"{name}.js").read_text() for name in SCRIPTS),
        "DATA": as_script({**data, "videos": videos, "live": live}),
    }
    for name, text in parts.items():
        before, after = page.split(f"%{name}%")
        page = before + text + after
    return page


def as_script(data: Any) -> str:
    """JSON that is safe inside a script element, whatever the names of runs contain."""
    text = json.dumps(data, allow_nan=False, default=str)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def charts() -> str:
    """Vega, Vega-Lite and Vega-Embed as JavaScript."""
    import vl_convert  # Of the extra `report`; collecting the data does not need it.

    # Wrapped in a function to keep the names of the bundle out of the global scope.
    return f"(() => {{{vl_convert.javascript_bundle(SNIPPET)}}})();"


SNIPPET = "window.embedChart = vegaEmbed;"
