"""Atari 2600 games under Dopamine's protocol (Castro et al., 2018; Machado et al., 2018)."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation
from numpy.typing import NDArray

from hyperaction.envs.action_maps import Listed
from hyperaction.envs.roms import cartridge

FRAME_SKIP = 4
STACKED = 4
SIDE = 84
STICKY = 0.25
"""The chance that the emulator repeats the last action instead of the chosen one."""
MAX_EPISODE_STEPS = 27_000

JOYSTICK = Listed(
    sizes=(3, 3, 2),
    # ALE's numbers, by vertical (none, up, down), horizontal (none, left, right), fire (no, yes).
    actions=(0, 1, 4, 12, 3, 11, 2, 10, 7, 15, 6, 14, 5, 13, 9, 17, 8, 16),
    names=("vertical", "horizontal", "fire"),
)
"""All 18 actions as the product of what a joystick can do."""


def register(name: str) -> None:
    """Makes the games known to Gymnasium."""
    for package in ("ale_py", "cv2"):
        if find_spec(package) is None:
            raise ValueError(f"{name} needs Atari: pip install 'hyperaction[atari]'")
    import ale_py

    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    gymnasium.register_envs(ale_py)


def current_id(name: str) -> str | None:
    """The id of a game that older libraries call by another, such as PongNoFrameskip-v4."""
    try:
        register(name)
    except ValueError:  # Atari is not installed.
        return None
    game = name.split("/")[-1].split("-")[0]
    meant = f"ALE/{game.removesuffix('NoFrameskip').removesuffix('Deterministic')}-v5"
    return meant if meant in gymnasium.registry else None


def make_game(
    name: str, max_episode_steps: int = 0, render_mode: str | None = None, roms: str = ""
) -> gymnasium.Env[Any, Any]:
    """A game: sticky actions, four frames to a step, 84 x 84 grey, four of them stacked.

    Its cartridge is the one in the directory `roms`, or else ale-py's.
    """
    env = gymnasium.make(
        _with_cartridge(gymnasium.spec(name), Path(roms)) if roms else name,
        obs_type="grayscale",
        frameskip=1,  # The wrapper below skips.
        repeat_action_probability=STICKY,
        full_action_space=True,
        max_num_frames_per_episode=FRAME_SKIP * (max_episode_steps or MAX_EPISODE_STEPS),
        render_mode=render_mode,
    )
    env = AtariPreprocessing(env, noop_max=0, frame_skip=FRAME_SKIP, screen_size=SIDE)
    return FrameStackObservation(env, STACKED, padding_type="zero")


def _with_cartridge(spec: EnvSpec, folder: Path) -> EnvSpec:
    from ale_py.env import AtariEnv

    inserted = cartridge(folder, spec.kwargs["game"])

    class Game(AtariEnv):
        """Plays what is inserted; ale-py's own would play nothing but ale-py's."""

        def load_game(self) -> None:
            self.ale.loadROM(inserted)

    entry_point: Any = Game
    return replace(spec, entry_point=entry_point)


def make_vector(name: str, count: int, max_episode_steps: int = 0) -> VectorEnv[Any, Any, Any]:
    """So many games side by side, each in a thread of its own, with the same preprocessing."""
    from ale_py.vector_env import AtariVectorEnv

    class Games(AtariVectorEnv):
        """Takes any seed."""

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            return super().reset(seed=None if seed is None else seed % 2**30, options=options)

    return Games(
        gymnasium.spec(name).kwargs["game"],
        count,
        autoreset_mode=AutoresetMode.SAME_STEP,
        max_num_frames_per_episode=FRAME_SKIP * (max_episode_steps or MAX_EPISODE_STEPS),
        repeat_action_probability=STICKY,
        full_action_space=True,
        img_height=SIDE,
        img_width=SIDE,
        stack_num=STACKED,
        frameskip=FRAME_SKIP,
        noop_max=0,
        reward_clipping=False,
        use_fire_reset=False,
    )


def episode_start(
    env: gymnasium.Env[Any, Any], observation: NDArray[np.uint8]
) -> NDArray[np.uint8] | None:
    """A game's state where an episode has just begun; nothing for other environments.

    It is the first frame, then all that the emulator remembers. Later in an episode there would
    also be the last action, which may stick and which the emulator's state does not hold.
    """
    if _stack(env) is None:
        return None
    state = env.unwrapped.ale.cloneState(include_rng=True).serialize()  # type: ignore[attr-defined]
    return np.concatenate([observation[-1].ravel(), np.frombuffer(state, np.uint8)])


def restore_episode_start(
    env: gymnasium.Env[Any, Any], start: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """Puts a game that was just reset back to the start of another episode; its observation."""
    import ale_py

    state = ale_py.ALEState(start[SIDE * SIDE :].tobytes())
    env.unwrapped.ale.restoreState(state)  # type: ignore[attr-defined]
    stack = _stack(env)
    assert stack is not None
    stack.obs_queue[-1] = start[: SIDE * SIDE].reshape(SIDE, SIDE)
    return np.stack(stack.obs_queue)


def is_game(env: gymnasium.Env[Any, Any]) -> bool:
    """Whether an environment was made by `make_game`."""
    return _stack(env) is not None


def _stack(env: gymnasium.Env[Any, Any]) -> FrameStackObservation | None:
    """What stacks the frames of a game as `make_game` made it."""
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, FrameStackObservation) and isinstance(env.env, AtariPreprocessing):
            return env
        env = env.env
    return None
