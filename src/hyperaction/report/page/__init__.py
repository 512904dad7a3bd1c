"""One page about runs: curves, tables, settings and what was learned, in any browser, offline."""

from hyperaction.report.page.html import html

__all__ = ["html"]
