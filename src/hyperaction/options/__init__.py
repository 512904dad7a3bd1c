"""What the commands take."""

from hyperaction.options.looking import (
    AtariFiguresOptions,
    CompareOptions,
    EvaluateOptions,
    ExplainOptions,
    ReportOptions,
    TableOptions,
    VideoOptions,
    WatchOptions,
)
from hyperaction.options.training import SweepOptions, TrainOptions, defaults, run_config

__all__ = [
    "AtariFiguresOptions",
    "CompareOptions",
    "EvaluateOptions",
    "ExplainOptions",
    "ReportOptions",
    "SweepOptions",
    "TableOptions",
    "TrainOptions",
    "VideoOptions",
    "WatchOptions",
    "defaults",
    "run_config",
]
