"""Every setting of an agent by name, for completion and type checkers.

Written from the configurations by `python -m tests.api.settings`; a test compares them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict


class Settings(TypedDict, total=False):
    """Settings of agents, of their parts, and the parts themselves."""

    discount: float
    """What a reward is worth one step later (gamma)."""
    n_step: int
    """Steps of reward before bootstrapping."""
    batch_size: int
    """Transitions per update."""
    buffer_size: int
    """Transitions that replay holds; of images, frames."""
    learning_starts: int
    """Steps before learning starts."""
    train_frequency: int
    """Environment steps between updates."""
    gradient_steps: int
    """Updates each time: with a train_frequency of 1, the replay ratio."""
    prioritised: bool
    """Sample in proportion to the square root of the last loss."""
    priority_exponent: float
    """The exponent of that root (alpha)."""
    weight_exponent: float
    """How far weights of the loss correct the bias of priorities (beta); 1 is in full."""
    reward_clip: float
    """Rewards are clipped to plus and minus this for learning; 0 is no limit."""
    overlap: bool
    """Step the environment while an update is computed; actions are then those of the parameters
    before that update."""
    target: Literal["copy", "polyak"] | Any
    """How the target network follows the online network."""
    exploration: (
        Literal["epsilon-greedy", "extended", "ordinal", "boltzmann", "disagreement", "policy"]
        | Any
    )
    """What the agent does besides its best."""
    orders: Sequence[int]
    """Orders of the hyperedges; -1 is the highest."""
    edges: str | Sequence[str | Sequence[int]]
    """Hyperedges given one by one instead, of vertices by number or name, such as 0 1 hip,knee;
    kinematic stands for those of a robot's joints, and auto for pairs that are chosen by what
    they explain (--structure auto)."""
    mixer: (
        Literal["sum", "mean", "order-mean", "universal", "monotonic-linear", "monotonic", "qmix"]
        | Any
    )
    """What turns the hyperedges' values into one value; module:Class is one of your own."""
    maximise: (
        Literal[
            "decentralised",
            "components",
            "elimination",
            "branch-and-bound",
            "ascent",
            "sampling",
            "enumeration",
        ]
        | Any
    )
    """How best joint actions are found, in acting and in targets, instead of the cheapest way
    that is exact; sampling looks at the actions of a batch too."""
    budget: float
    """How long exact ways may take to find best joint actions, in times of all else that a
    training step takes; past it, approximate ones are taken that take less."""
    act_by: Literal["online", "target"]
    """The network whose best actions are taken, also in evaluations: the one that learns, or the
    target network, which under `target` polyak is the average of the last ones."""
    network: Literal["mlp", "cnn", "residual", "combined"] | Any
    """The state network; module:Class is one of your own."""
    normalise_observations: bool
    """Normalise observations by their running mean and variance, over the batches of updates."""
    objective: Literal["td", "branching", "quantile", "soft", "logarithmic"] | Any
    """What is learned from a transition."""
    optimiser: Literal["adam", "rmsprop"] | Any
    """What turns gradients into steps."""
    structure: Literal["fixed", "grow-edges", "auto"] | Any
    """How the hyperedges change while the agent learns."""
    grow: Literal["none", "linear", "adaptive"] | Any
    """When more sub-actions are added: --bins 3 5 9 are then levels, the coarsest first."""
    interval: int
    """Environment steps between copies."""
    rate: float
    """The share of the online network."""
    final: float
    """Epsilon in the end."""
    decay_steps: int
    """Steps over which epsilon falls linearly from 1, after learning starts."""
    evaluation: float
    """Epsilon in evaluations."""
    per_vertex: bool
    """Each vertex explores by itself with probability epsilon, instead of all at once."""
    exponent: float
    """Of the zeta distribution: a duration of n steps has probability proportional to n **
    -exponent; longer ones than 10,000 are cut."""
    noise: Literal["ou", "pink"]
    """Pink noise, or an Ornstein-Uhlenbeck process."""
    scale: float | Any
    """The noise's standard deviation, where actions go from -1 to 1; or a schedule of it over the
    steps since learning started."""
    pull: float
    """How strongly the Ornstein-Uhlenbeck process is pulled back to zero at every step."""
    by: Literal["bound", "critic"]
    """The best joint action where every entry of the hyperedges' tables is the critics' mean plus
    a bonus (no joint action's spread is more than the sum of its entries'), or that of one critic
    that is drawn for every episode (Osband et al., 2016)."""
    bonus: float | Any
    """The bonus in standard deviations of the critics, or a schedule of it over the steps since
    learning started."""
    total_width: int
    """Hidden units over all heads, and of the value stream; 0: heads are linear."""
    width_multiple: int
    """Each head's share of them is rounded up to a multiple of this."""
    dueling: bool
    """A value stream beside the centred mixed values."""
    critics: int
    """Networks that estimate values side by side; actions are those of their mean."""
    shared_state: bool
    """Critics share the state network, instead of one each."""
    hierarchical: bool
    """With `grow`, a sub-action has the value of its parent on the coarser grid plus its own,
    which starts at zero."""
    action_in: bool
    """The action goes into the network, which gives its one value: no heads, and no
    hyperedges."""
    hidden: Sequence[int]
    """Hidden units of each layer."""
    layer_norm: bool
    """Normalise each layer."""
    padding: Literal["same", "valid"]
    """What happens at the borders of an image: pad it with zeros, as Dopamine does, or stay
    inside it."""
    width: int
    """Units of every layer."""
    num_blocks: int
    """Blocks of two layers."""
    part_width: int
    """Units of the layer after an image's convolutions, and of the layer of the numbers."""
    joint_hidden: Sequence[int]
    """Hidden units of each layer after these are joined."""
    joint_layer_norm: bool
    """Normalise each of these layers."""
    double: bool
    """Double Q-learning: the online network chooses the next action, the target network evaluates
    it."""
    loss: Literal["mse", "huber"]
    """The loss of a temporal-difference error."""
    target_critics: Literal["mean", "min", "pair"]
    """What a target takes of several critics' values: their mean, their minimum, or the minimum
    of two that are drawn for every update."""
    towards: Literal["mean", "max", "independent"]
    """What hyperedges learn towards: the mean or the largest of their next values, or each its
    own."""
    quantiles: int
    """Quantiles of every entry of the hyperedges' tables."""
    drop_quantiles: int
    """Quantiles per critic that targets leave out, the largest of all critics' together."""
    kappa: float
    """The error up to which the quantile Huber loss is quadratic."""
    target_entropy: float
    """The entropy that the temperature adjusts itself to, as a share of the largest possible; 0
    leaves the temperature as it is."""
    temperature_rate: float
    """How fast the temperature adjusts itself."""
    munchausen: float
    """How much of the log-probability is added to the reward; 0.9 in Munchausen DQN."""
    munchausen_floor: float
    """The lowest that temperature times log-probability can be there."""
    c: float
    """How far apart logarithms lie."""
    k: int
    """The lowest value that is told from zero is that of a reward of 1 after so many steps."""
    beta_reg: float
    """The share of a sample in the average whose logarithm is learned."""
    q_init: float
    """The values that the network of what is won starts around."""
    learning_rate: float | Any
    """The step size; a schedule counts updates."""
    gradient_clip: float
    """The largest norm of a gradient; 0 is no limit."""
    weight_decay: float
    """The share of every weight that is taken away per step, times the step size (AdamW)."""
    at: Sequence[int]
    """The steps at which hyperedges are added, as many at each."""
    prune_at: int
    """The step at which pairs are dropped."""
    choose: Literal["tree", "best"]
    """Keep the best tree of pairs, on which maximisation is exact at any size, or the best pairs
    whatever they form."""
    keep: int
    """The most pairs that are kept; 0: as many as a tree has."""
    triples: int
    """The most triples that are added, where all three of their pairs are kept."""
    states: int
    """States of replay over which variances are averaged."""
    steps: int
    """The steps that the levels share; of three, the second begins after a third of them."""
    levels: Sequence[int]
    episodes: int
    """Episodes of each of the two means."""
    margin: float
    """The share of the standard deviation that the mean must gain for the level to stay."""
    actor_learning_rate: float
    """The actor's step size of Adam."""
