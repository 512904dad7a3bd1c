"""All faults that trials choose from."""

from collections.abc import Callable
from typing import NamedTuple

from tests.chaos import (
    arguments,
    damage,
    disks,
    documents,
    environments,
    kills,
    python,
    requests,
    settings,
    strangers,
)
from tests.chaos.trial import Trial


class Fault(NamedTuple):
    """A kind of fault."""

    name: str
    strike: Callable[[Trial], None]
    """Does it, and raises unless what must hold does; its docstring says what."""
    weight: int
    """How often it is chosen, relative to the others."""


FAULTS = [
    Fault("run dies at any moment", kills.moment, 10),
    Fault("kill -9 of a run", kills.kill, 4),
    Fault("SIGINT, SIGTERM or SIGHUP", kills.stop, 4),
    Fault("SIGSTOP and SIGCONT", kills.suspend, 1),
    Fault("signal to a sweep", kills.sweep, 1),
    Fault("two processes", kills.two, 2),
    Fault("full disk", disks.full, 8),
    Fault("read-only directory", disks.read_only, 3),
    Fault("removed directory", disks.removed, 6),
    Fault("damaged files", damage.damage, 24),
    Fault("hostile config", documents.config, 10),
    Fault("hostile metrics", documents.metrics, 10),
    Fault("hostile progress", documents.progress, 5),
    Fault("hostile agent", documents.agent, 10),
    Fault("hostile manifest", documents.manifest, 6),
    Fault("hostile environment", environments.environment, 14),
    Fault("sudden environment", environments.sudden, 2),
    Fault("Ctrl-C in learn", python.interrupt, 6),
    Fault("exception in learn", python.raised, 4),
    Fault("any arguments", arguments.arguments, 20),
    Fault("stranger's archive", strangers.archive, 4),
    Fault("modules beside the user", strangers.modules, 2),
    Fault("config names a module", strangers.named_module, 3),
    Fault("failing logger", strangers.logger, 4),
    Fault("extreme settings", settings.extreme, 3),
    Fault("requests to the page", requests.requests, 6),
]
"""Their order and weights decide what a seed means."""

BY_NAME = {fault.name: fault for fault in FAULTS}
