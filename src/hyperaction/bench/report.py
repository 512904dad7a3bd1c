"""What the benchmarks of training steps print."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table

from hyperaction import kernels
from hyperaction.runs.files import write_json

Results = dict[str, Any]


def show_breakdown(
    run: Callable[[Any, Callable[[str], None]], Results],
    settings: Any,
    name: str,
    table: Callable[[Results], Table],
    sentences: Callable[[Results], list[str]],
    console: Console,
) -> None:
    """Runs a benchmark, writes its results to a file, and prints them."""
    with console.status("measuring") as status:
        results = run(settings, lambda what: status.update(f"measuring: {what}"))
    results["kernels"] = kernels_in_use()
    file = write_json(settings.out / name, results)
    console.print(table(results))
    for sentence in (*sentences(results), kernels_sentence(results["kernels"])):
        console.print(sentence, highlight=False)
    console.print(f"Written: {file}", soft_wrap=True)


def kernels_in_use() -> Results:
    """The instruction set, and the kernels that this process used."""
    return {"set": kernels.chosen_set() or "none", "used": list(kernels.used())}


def kernels_sentence(found: Results) -> str:
    """The same in words."""
    names = ", ".join(found["used"])
    return f"Instruction set {found['set']}; kernels used: {names or 'none'}."


def compare_peers(peers: dict[str, float], what: str) -> list[str]:
    """The speed relative to each peer, if any was measured."""
    speeds = dict(peers)
    if not speeds:
        return ["No peer was measured (see pip install 'hyperaction[peers]' and --peer-steps)."]
    own = speeds.pop("Hyperaction")
    ratios = [f"  {own / speed:.2f} times {name} ({speed:.0f})" for name, speed in speeds.items()]
    return [f"Hyperaction {what}: {own:.0f} steps/s, which is", *ratios]
