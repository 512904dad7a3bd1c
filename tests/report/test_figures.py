"""Figures of any names."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from hyperaction.report.curves import Curve, group_curves
from hyperaction.report.figures import draw_curves, draw_explanation, save

NAMES = ["$a_$", r"$\frac$", "costs $5 or $6", r"\$x$", "$"]


@pytest.mark.parametrize("name", NAMES)
def test_a_dollar_in_a_name_is_a_dollar(tmp_path, name):
    figure = Figure()
    axes = figure.add_subplot()
    axes.plot([1, 2], label=name)
    axes.set_title(name)
    axes.legend()
    axes.set_yscale("log")
    save(figure, tmp_path / "a.png")
    named = [text for text in figure.findobj(Text) if text.get_text() == name]
    assert len(named) == 2
    assert not any(text.get_parse_math() for text in named)
    powers = [text for text in axes.get_yticklabels() if "mathdefault" in text.get_text()]
    assert all(text.get_parse_math() for text in powers)


def test_curves_and_explanations_of_such_names_are_drawn(tmp_path):
    steps = np.array([1, 2])
    pairs = [(Curve(name, r"Env$\$-v0", steps, steps * 1.0, name), None) for name in NAMES]
    assert draw_curves(group_curves(pairs), tmp_path / "$curves$.png").stat().st_size > 0
    rows = [{"edge": [0], "mean": 1.0, "lowest": 0.0, "highest": 2.0}]
    found = {"names": NAMES, "representation": rows, "shares": []}
    assert draw_explanation(found, tmp_path / "explain.png").stat().st_size > 0
