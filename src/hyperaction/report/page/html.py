"""The page: one file that needs no network."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any


def html(data: dict[str, Any], videos: list[dict[str, str]], *, live: bool = False) -> str:
    """The page with these data inside.

    Args:
        data: What it shows.
        videos: Films, each with a name and an address.
        live: Let the page ask where it came from for newer data.
    """
    here = files(__package__)
    page = (here / "page.html").read_text()
    parts = {
        "STYLE": (here / "page.css").read_text(),
        "CHARTS": charts(),
        "SCRIPT": (here / "page.js").read_text(),
        "DATA": as_script({**data, "videos": videos, "live": live}),
    }
    for name, text in parts.items():
        before, after = page.split(f"%{name}%")
        page = before + text + after
    return page


def as_script(data: Any) -> str:
    """JSON that nothing can break out of: whatever a run is called, it stays text."""
    text = json.dumps(data, allow_nan=False, default=str)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def charts() -> str:
    """Vega, Vega-Lite and what puts their charts into a page."""
    import vl_convert

    # In a function: the bundle's own names stay its own.
    return f"(() => {{{vl_convert.javascript_bundle(SNIPPET)}}})();"


SNIPPET = "window.embedChart = vegaEmbed;"
