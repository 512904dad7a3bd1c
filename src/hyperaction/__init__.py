"""Hyperaction: value-based reinforcement learning where an action has several dimensions."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hyperaction.version import __version__

if TYPE_CHECKING:
    from hyperaction.agents.exploration import AbstractExploration as AbstractExploration
    from hyperaction.agents.exploration import Boltzmann as Boltzmann
    from hyperaction.agents.exploration import Disagreement as Disagreement
    from hyperaction.agents.exploration import EpsilonGreedy as EpsilonGreedy
    from hyperaction.agents.exploration import Extended as Extended
    from hyperaction.agents.exploration import Ordinal as Ordinal
    from hyperaction.agents.exploration import Policy as Policy
    from hyperaction.agents.objectives import TD as TD
    from hyperaction.agents.objectives import AbstractObjective as AbstractObjective
    from hyperaction.agents.objectives import Branching as Branching
    from hyperaction.agents.objectives import Logarithmic as Logarithmic
    from hyperaction.agents.objectives import Losses as Losses
    from hyperaction.agents.objectives import Quantile as Quantile
    from hyperaction.agents.objectives import Soft as Soft
    from hyperaction.agents.optimisers import Adam as Adam
    from hyperaction.agents.optimisers import RMSProp as RMSProp
    from hyperaction.agents.schedules import Linear as Linear
    from hyperaction.agents.state_networks import CNNNetwork as CNNNetwork
    from hyperaction.agents.state_networks import MLPNetwork as MLPNetwork
    from hyperaction.agents.state_networks import ResidualNetwork as ResidualNetwork
    from hyperaction.agents.targets import Copy as Copy
    from hyperaction.agents.targets import Polyak as Polyak
    from hyperaction.api import BDQN as BDQN
    from hyperaction.api import DDPG as DDPG
    from hyperaction.api import DQN as DQN
    from hyperaction.api import HGQN as HGQN
    from hyperaction.api import ActionIn as ActionIn
    from hyperaction.api import HGRainbow as HGRainbow
    from hyperaction.api import Rainbow as Rainbow
    from hyperaction.blocks import Blocks as Blocks
    from hyperaction.blocks import head_width as head_width
    from hyperaction.constraints import Cardinality as Cardinality
    from hyperaction.hypergraph import HIGHEST as HIGHEST
    from hyperaction.hypergraph import Hypergraph as Hypergraph
    from hyperaction.maximise import WAYS as WAYS
    from hyperaction.maximise import Maximiser as Maximiser
    from hyperaction.maximise import maximiser as maximiser
    from hyperaction.maximise import random_actions as random_actions
    from hyperaction.mixers import AbstractMixer as AbstractMixer
    from hyperaction.mixers import Mean as Mean
    from hyperaction.mixers import Monotonic as Monotonic
    from hyperaction.mixers import MonotonicLinear as MonotonicLinear
    from hyperaction.mixers import OrderMean as OrderMean
    from hyperaction.mixers import QMix as QMix
    from hyperaction.mixers import Sum as Sum
    from hyperaction.mixers import Universal as Universal
    from hyperaction.mixers import make_mixer as make_mixer
    from hyperaction.networks import MLP as MLP
    from hyperaction.networks import ActionInNetwork as ActionInNetwork
    from hyperaction.networks import Ensemble as Ensemble
    from hyperaction.networks import LogNetwork as LogNetwork
    from hyperaction.networks import NatureCNN as NatureCNN
    from hyperaction.networks import QNetwork as QNetwork
    from hyperaction.training.callbacks import Callback as Callback
    from hyperaction.training.episodes import Episode as Episode
    from hyperaction.training.evaluation_callbacks import KeepBest as KeepBest
    from hyperaction.training.evaluation_callbacks import StopAtReturn as StopAtReturn
    from hyperaction.training.evaluation_callbacks import StopOnPlateau as StopOnPlateau

# Names are imported when first used, so that the command answers before JAX is loaded.
_HOMES = {
    "hypergraph": ("HIGHEST", "Hypergraph"),
    "constraints": ("Cardinality",),
    "mixers": (
        "AbstractMixer",
        "Mean",
        "Monotonic",
        "MonotonicLinear",
        "OrderMean",
        "QMix",
        "Sum",
        "Universal",
        "make_mixer",
    ),
    "maximise": ("WAYS", "Maximiser", "maximiser", "random_actions"),
    "blocks": ("Blocks", "head_width"),
    "networks": ("MLP", "ActionInNetwork", "Ensemble", "LogNetwork", "NatureCNN", "QNetwork"),
    "api": ("BDQN", "DDPG", "DQN", "HGQN", "ActionIn", "HGRainbow", "Rainbow"),
    "agents.exploration": (
        "AbstractExploration",
        "Boltzmann",
        "Disagreement",
        "EpsilonGreedy",
        "Extended",
        "Ordinal",
        "Policy",
    ),
    "agents.objectives": (
        "TD",
        "AbstractObjective",
        "Branching",
        "Logarithmic",
        "Losses",
        "Quantile",
        "Soft",
    ),
    "agents.optimisers": ("Adam", "RMSProp"),
    "agents.schedules": ("Linear",),
    "agents.state_networks": ("CNNNetwork", "MLPNetwork", "ResidualNetwork"),
    "agents.targets": ("Copy", "Polyak"),
    "training.callbacks": ("Callback",),
    "training.episodes": ("Episode",),
    "training.evaluation_callbacks": ("KeepBest", "StopAtReturn", "StopOnPlateau"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *_HOME_OF]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return import_module(f"hyperaction.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'hyperaction' has no attribute '{name}'")
    return getattr(import_module(f"hyperaction.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME_OF])
