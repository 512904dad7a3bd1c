"""The command explain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Annotated, Literal

from hyperaction.arguments import Positional, parse
from hyperaction.cli.console import Console
from hyperaction.cli.terminal import RunEnvironment, check_any, need
from hyperaction.errors import check_ranges
from hyperaction.report import explain as report
from hyperaction.runs.files import check_is_no_directory, making_directory, write_json
from hyperaction.runs.remote import to_read
from hyperaction.training.display import progress_bar


@dataclass(frozen=True)
class ExplainOptions(RunEnvironment):
    """Find which joint actions matter: run greedy policies and analyse their hyperedges.

    Several agents are analysed together, as in the paper's figure 7; they must have the same
    hyperedges. Shares of the variance are those of the canonical form, in which each set of
    vertices holds only what no smaller set can express.
    """

    runs: Annotated[tuple[Path, ...], Positional("DIR ...")]
    """The directories of the runs, or files of agents."""
    steps: int = 10_000
    """Steps of the greedy policy of each agent."""
    weights: Literal["even", "policy"] = "even"
    """Weight sub-actions equally in the canonical form, or by how often the policy takes them."""
    rows: int = 15
    """The maximum number of rows of the table."""
    seed: int = 0
    """The seed of the environment."""
    out: Path = Path("results/explain")
    """The directory for explain.json and explain.png."""

    def __post_init__(self) -> None:
        if not self.runs:
            raise ValueError("give at least one run")
        check_ranges(self, steps=(1, inf), rows=(1, inf), seed=(0, inf))


def main(args: Sequence[str]) -> None:
    """Explains the agents of runs."""
    options: ExplainOptions = parse(ExplainOptions, "explain", args)
    need("matplotlib", extra="report")
    from hyperaction.analysis.explain import explain_runs, load_runs
    from hyperaction.report.figures import draw_explanation
    from hyperaction.training import compile_cache

    compile_cache.use()
    console = Console()
    for name in ("explain.json", "explain.png"):
        check_is_no_directory(options.out / name)
    bar = progress_bar(console)
    task = bar.add_task("playing", total=None)

    def show(done: int, total: int) -> None:
        bar.start()
        bar.update(task, completed=done, total=total)

    with making_directory(options.out):
        try:
            found = [to_read(run) for run in options.runs]
            runs, problems = load_runs(
                found, env=options.env, trust=options.trust, parts=options.parts
            )
            check_any(runs, "agent to explain", problems)
            explanation = explain_runs(runs, options.steps, options.weights, options.seed, show)
        finally:
            if bar.live.is_started:
                bar.stop()
    file = write_json(options.out / "explain.json", explanation)
    figure = draw_explanation(explanation, options.out / "explain.png")
    console.print(report.table(explanation, options.rows))
    for sentence in (*report.sentences(explanation), *report.value_sentences(explanation)):
        console.print(sentence, highlight=False, soft_wrap=True)
    console.print(f"Written: {file} {figure}", soft_wrap=True)
