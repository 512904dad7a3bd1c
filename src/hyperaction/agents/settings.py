"""What an agent is: its settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

from hyperaction.hypergraph import Hypergraph

MixerName = Literal["sum", "mean", "universal", "monotonic-linear", "monotonic", "qmix"]
BranchingName = Literal["none", "mean", "max", "independent"]


def _check_kind(option: str, value: Any, kind: Any) -> None:
    """Python takes what a command line would have refused."""
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            names = ", ".join(get_args(kind))
            raise ValueError(f"{_flag(option)} {value!r} is not one of {names}")
    elif get_origin(kind) is tuple:
        inner = get_args(kind)[0]
        if not isinstance(value, tuple) or not all(isinstance(part, inner) for part in value):
            raise ValueError(f"{_flag(option)} {value!r} is not a list of {inner.__name__}")
    elif not isinstance(value, (int, float) if kind is float else kind):
        raise ValueError(f"{_flag(option)} {value!r} is not of the kind {kind.__name__}")


def _flag(option: str) -> str:
    return f"--{option.replace('_', '-')}"


@dataclass(frozen=True)
class LoopSettings:
    """What the training loop needs to know of any agent."""

    n_step: int = 1
    """Steps of reward before bootstrapping."""
    prioritised: bool = False
    """Sample in proportion to the square root of the last loss."""
    discount: float = 0.99
    """What a reward is worth one step later."""
    minibatch: int = 64
    """Transitions per update."""
    update_period: int = 1
    """Environment steps per update."""
    target_period: int = 2_000
    """Steps between copies of the online to the target network."""
    polyak: float = 0.0
    """The share of the online network mixed into the target at every update, instead of copies."""
    replay_size: int = 100_000
    """Transitions that are kept; of images, frames."""
    replay_start: int = 10_000
    """Steps before learning starts."""
    reward_clip: float = 0.0
    """The largest reward to learn from, and the lowest below zero; 0 is no limit."""

    def __post_init__(self) -> None:
        for option, kind in get_type_hints(type(self)).items():
            _check_kind(option, getattr(self, option), kind)
        for option in ("n_step", "minibatch", "update_period", "target_period", "replay_size"):
            if getattr(self, option) < 1:
                raise ValueError(f"{_flag(option)} {getattr(self, option)} is below 1")
        for option in ("discount", "polyak", "epsilon"):
            if not 0.0 <= getattr(self, option, 0.0) <= 1.0:
                raise ValueError(f"{_flag(option)} {getattr(self, option)} is not in 0 to 1")
        if not 0.0 <= self.reward_clip < float("inf"):
            raise ValueError(f"--reward-clip {self.reward_clip} is not a number from 0 on")
        for option in ("learning_rate", "actor_learning_rate", "optimiser_epsilon", "noise"):
            if getattr(self, option, 1.0) <= 0.0:
                raise ValueError(f"{_flag(option)} {getattr(self, option)} is not above 0")
        if self.replay_size < self.minibatch:
            raise ValueError(
                f"--replay-size {self.replay_size} is below --minibatch {self.minibatch}"
            )
        if self.replay_start < self.minibatch:
            raise ValueError(
                f"--replay-start {self.replay_start} is below --minibatch {self.minibatch}"
            )


@dataclass(frozen=True)
class ValueSettings(LoopSettings):
    """A Q-learning agent whose parts are switches."""

    orders: tuple[int, ...] = (1,)
    """Orders of the hyperedges; -1 is the highest."""
    edges: tuple[str, ...] = ()
    """Hyperedges given by hand instead, such as 0 1 2 0,2."""
    mixer: MixerName = "sum"
    """What makes one value of the hyperedges' values."""
    branching: BranchingName = "none"
    """Learn every vertex's value by itself: towards the mean or the largest of the vertices' next
    values, or each towards its own."""
    network: Literal["mlp", "cnn"] = "mlp"
    """The state network: fully connected layers, or DQN's convolutions for images of bytes."""
    padding: Literal["same", "valid"] = "same"
    """What the convolutions do at the borders of an image: pad it with zeros, as Dopamine's do, or
    stay inside it."""
    hidden: tuple[int, ...] = (600, 400)
    """Hidden units of the fully connected state network's layers."""
    total_width: int = 400
    """Hidden units over all heads, and of the value stream."""
    width_multiple: int = 5
    """Each head's share of them is rounded up to a multiple of this."""
    layer_norm: bool = False
    """Normalise the fully connected state network's layers."""
    dueling: bool = False
    """A value stream beside the centred mixed values."""
    double: bool = False
    """Double Q-learning: the online network chooses, the target network judges."""
    loss: Literal["mse", "huber"] = "mse"
    """The loss of a temporal-difference error."""
    optimiser: Literal["adam", "rmsprop"] = "adam"
    """Adam, or RMSProp with centred squares and a decay of 0.95."""
    learning_rate: float = 0.00001
    """The optimiser's step size."""
    optimiser_epsilon: float = 0.0003125
    """The optimiser's constant for numerical stability; Adam's is epsilon-hat."""
    gradient_clip: float = 0.0
    """The largest norm of a gradient; 0 is no limit."""
    epsilon: float = 0.05
    """The share of random actions in the end."""
    epsilon_steps: int = 50_000
    """Steps over which that share falls from one, after learning starts."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon_steps < 1:
            raise ValueError(f"--epsilon-steps {self.epsilon_steps} is below 1")
        if self.gradient_clip < 0:
            raise ValueError(f"--gradient-clip {self.gradient_clip} is below 0")
        if min((self.total_width, self.width_multiple, *self.hidden)) < 1:
            raise ValueError("--hidden, --total-width and --width-multiple are 1 at least")
        if self.network == "cnn" and self.layer_norm:
            raise ValueError("--layer-norm is for --network mlp; the convolutions have none")
        if self.branching != "none" and self.mixer not in ("sum", "mean"):
            raise ValueError(
                f"--branching {self.branching} mixes nothing, so --mixer stays sum or mean"
            )

    def hypergraph(self, sizes: tuple[int, ...]) -> Hypergraph:
        """The agent's hyperedges on an action space."""
        hypergraph = self._hypergraph(sizes)
        vertices = sorted(vertex for edge in hypergraph.edges for vertex in edge)
        if self.branching != "none" and vertices != list(range(len(sizes))):
            raise ValueError(
                f"--branching {self.branching} learns hyperedges by themselves, so every vertex "
                f"must be in exactly one of them, as with --rank 1"
            )
        return hypergraph

    def _hypergraph(self, sizes: tuple[int, ...]) -> Hypergraph:
        if not self.edges:
            try:
                return Hypergraph.of_orders(sizes, self.orders)
            except ValueError as error:
                highest = max(self.orders, default=0)
                rank = self.orders == tuple(range(1, highest + 1))
                given = f"--rank {highest}, " if rank else ""
                orders = " ".join(map(str, self.orders))
                raise ValueError(f"{given}--orders {orders}: {error}") from None
        try:
            edges = [[int(vertex) for vertex in edge.split(",")] for edge in self.edges]
        except ValueError:
            raise ValueError(
                f"--edges {' '.join(self.edges)}: a hyperedge is vertices joined by commas, "
                f"such as 0,3"
            ) from None
        return Hypergraph(sizes, edges)


@dataclass(frozen=True)
class DDPGSettings(LoopSettings):
    """Deep deterministic policy gradients, with the settings of Lillicrap et al. (2016)."""

    hidden: tuple[int, ...] = (400, 300)
    """Hidden units of both networks' layers; the action enters the critic at the second."""
    learning_rate: float = 0.001
    """The critic's step size of Adam."""
    actor_learning_rate: float = 0.0001
    """The actor's step size of Adam."""
    weight_decay: float = 0.01
    """How strongly the critic's weights are pulled to zero, added to their gradient."""
    noise_kind: Literal["ou", "gaussian"] = "ou"
    """Noise that wanders from step to step (Ornstein-Uhlenbeck), or that is drawn anew."""
    noise: float = 0.2
    """The noise's scale, where actions go from -1 to 1."""
    noise_pull: float = 0.15
    """How strongly the wandering noise is pulled back to zero."""
    polyak: float = 0.001
    replay_size: int = 1_000_000

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.polyak:
            raise ValueError("--polyak 0: DDPG's targets follow slowly, above 0")
        if self.prioritised:
            raise ValueError("--prioritised is not for ddpg, which weighs all transitions alike")
        if len(self.hidden) < 2 or min(self.hidden) < 1:
            raise ValueError("--hidden needs two layers at least: the action enters at the second")
