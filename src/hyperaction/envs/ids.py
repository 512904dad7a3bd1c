"""What an environment id means; read without loading Gymnasium."""

from __future__ import annotations

from hyperaction.envs import suites


def name_of(env: str) -> str:
    """An id without the module that registers it and without its version."""
    return env.split(":")[-1].rsplit("-v", 1)[0]


def suite_of(env: str) -> str:
    """The suite of an id such as jumanji:BinPack-v2; empty for other environments."""
    return suites.split(env)[0]


def game_of(env: str) -> str:
    """The game of an id such as ALE/BankHeist-v5; empty for other environments."""
    space, _, game = name_of(env).partition("/")
    return game if space == "ALE" and not suite_of(env) else ""


def names_code(env: str) -> bool:
    """Whether an id names a module, which runs when it is imported, other than a suite's own."""
    suite, inner = suites.split(env)
    if not suite:
        return ":" in env
    modules = suites.SUITES[suite].modules
    return bool(modules) and inner.split(".")[0] not in modules


def is_pybullet(env: str) -> bool:
    """Whether an id names one of the PyBullet domains."""
    return "Bullet" in env and ":" not in env


MUJOCO = (
    "Ant", "HalfCheetah", "Hopper", "Humanoid", "HumanoidStandup", "InvertedDoublePendulum",
    "InvertedPendulum", "Pusher", "Reacher", "Swimmer", "Walker2d",
)  # fmt: skip


def is_robot(env: str) -> bool:
    """Whether an id names a robot of PyBullet, of MuJoCo in Gymnasium or of dm_control."""
    is_mujoco = name_of(env) in MUJOCO and ":" not in env
    return is_pybullet(env) or is_mujoco or suite_of(env) == "dmc"
