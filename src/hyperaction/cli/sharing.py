"""The commands report and watch."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from hyperaction.cli.runs import read_curve, readable_configs
from hyperaction.cli.terminal import UserError, need
from hyperaction.parsing import parse


def report(args: Sequence[str]) -> None:
    """Write a page about runs: curves, tables, settings, hyperedges, films."""
    from hyperaction.options import ReportOptions

    options = parse(ReportOptions, "report", args)
    need("vl_convert", extra="report")
    from rich.console import Console

    from hyperaction.report.page import html
    from hyperaction.report.page.films import linked
    from hyperaction.runs.arrays import write_whole

    data, films = _page_data(options.folders, options.last)
    if not data["runs"]:
        where = " ".join(str(folder) for folder in options.folders)
        raise UserError(f"no run was found in {where}", code=1)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(options.out, html(data, linked(films, options.out.parent, embed=options.embed)))
    Console(markup=False).print(f"Written: {options.out}", soft_wrap=True)


def watch(args: Sequence[str]) -> None:
    """Serve that page live, to this machine alone."""
    from hyperaction.options import WatchOptions

    options = parse(WatchOptions, "watch", args)
    need("vl_convert", extra="report")
    from hyperaction.report.page.server import LOOPBACK, server

    try:
        serving = server(options.port, lambda: _page_data(options.folders, options.last))
    except OSError as error:
        raise UserError(f"--port {options.port}: {error.strerror} (--port 0 is any)", 1) from None
    with serving as served:
        print(f"http://{LOOPBACK}:{served.server_port}/ (Ctrl-C ends it)")
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            served.serve_forever()


_TOLD: set[str] = set()


def _page_data(folders: Sequence[Any], last: int) -> tuple[dict[str, Any], list[Any]]:
    """What a page about runs shows, and their films."""
    from hyperaction.report.page import data as page
    from hyperaction.report.page.films import find
    from hyperaction.runs import read_metrics
    from hyperaction.runs.remote import to_read
    from hyperaction.studies import published

    names = {out: name for name, out in page.named([to_read(folder) for folder in folders])}
    found = []
    configs, left_out = readable_configs(list(names))
    for out, config in configs.items():
        there = (out / "metrics.jsonl").exists()
        try:
            rows = [read_curve(out, config), read_metrics(out, "train")] if there else [[], []]
        except ValueError as error:
            left_out.append(str(error))
            continue
        found.append(page.Found(names[out], out, config, *rows))
    for told in left_out:
        if told not in _TOLD:  # Once, however often the page is made.
            _TOLD.add(told)
            print(f"hyperaction: left out {told}", file=sys.stderr)
    return page.collect(found, published, last), find([(run.name, run.out) for run in found])
