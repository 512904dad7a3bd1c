"""Runs, explained: their agents are loaded, played, and looked into."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from hyperaction import environments
from hyperaction.agents.value import ValueAgent
from hyperaction.environments.faults import unguarded
from hyperaction.hypergraph import Hypergraph
from hyperaction.insight.explaining import Explanation, WeightsName, joint_names, policy_weights
from hyperaction.insight.watching import Seen, watch
from hyperaction.learners import LEARNERS, Learner
from hyperaction.options import run_config


class MakeEnv(Protocol):
    """Makes the environment of a run."""

    def __call__(self, render_mode: str | None = None) -> Any:
        """The environment, which may be rendered."""
        ...


class Trained(NamedTuple):
    """The agent of a run, and what makes its environment."""

    env: str
    learner: Learner
    hypergraph: Hypergraph
    make_env: MakeEnv

    @property
    def fps(self) -> float:
        """Steps per second, as the environment says."""
        with closing(self.make_env()) as env:
            return float(env.metadata.get("render_fps") or 30)

    @property
    def affine(self) -> bool:
        """Whether its values are weighted sums over hyperedges."""
        return bool(self.learner.state.online.mixer.affine)


def explain_runs(
    runs: Sequence[Path],
    steps: int,
    weights: WeightsName,
    seed: int,
    progress: Callable[[int, int], None],
) -> dict[str, Any]:
    """What the agents of runs with the same hyperedges have learned, ready for JSON."""
    agents = [trained(out) for out in runs]
    hypergraph = agents[0].hypergraph
    for out, agent in zip(runs, agents, strict=True):
        if agent.hypergraph != hypergraph:
            raise ValueError(f"{out} has other hyperedges than {runs[0]}: explain them one by one")
        if agent.env != agents[0].env:
            raise ValueError(
                f"{out} is of {agent.env}, not {agents[0].env}: explain them one by one"
            )
    total = len(agents) * steps * (2 if weights == "policy" else 1)
    done = 0

    def seen() -> Iterator[Seen]:
        nonlocal done
        for agent in agents:
            for some in watch(agent.learner, agent.make_env(), steps, seed):
                done += len(some.actions)
                progress(done, total)
                yield some

    chosen = None
    if weights == "policy":  # The same seed: what is counted is what is looked at next.
        chosen = policy_weights(hypergraph, (some.actions for some in seen()))
    affine = all(agent.affine for agent in agents)
    explanation = Explanation(hypergraph, affine=affine, weights=chosen)
    for some in seen():
        explanation.add(some)
    names = names_of(agents[0], seed)
    return {"names": names, "weights": weights, "agents": len(agents), **explanation.as_json()}


def trained(out: Path) -> Trained:
    """The agent of a run."""
    config = run_config(out)
    learner = LEARNERS[config["agent"]].load(out)
    if not isinstance(learner.agent, ValueAgent):
        raise ValueError(f"{out}: {config['agent']} has no hyperedges to look into")

    def make_env(render_mode: str | None = None) -> Any:
        name, limit, roms = config["env"], config["max_episode_steps"], config["roms"]
        return environments.make_env(name, limit, unguarded, render_mode, roms)

    return Trained(config["env"], learner, learner.agent.hypergraph, make_env)


def names_of(agent: Trained, seed: int) -> list[str]:
    """What the environment calls the dimensions of its actions, if it says."""
    with closing(agent.make_env()) as env:
        env.reset(seed=seed)  # Some simulators have their joints only then.
        return joint_names(env, agent.learner.actions)
