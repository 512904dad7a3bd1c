"""One HTML page about runs: curves, tables, settings and explanations, for any browser."""

from hyperaction.report.page.html import html

__all__ = ["html"]
