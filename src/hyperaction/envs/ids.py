"""What an environment id means; read without loading Gymnasium."""

from __future__ import annotations


def name_of(env: str) -> str:
    """An id without the module that registers it and without its version."""
    return env.split(":")[-1].rsplit("-v", 1)[0]


def game_of(env: str) -> str:
    """The game of an id such as ALE/BankHeist-v5; empty for other environments."""
    space, _, game = name_of(env).partition("/")
    return game if space == "ALE" else ""


def names_code(env: str) -> bool:
    """Whether an id names a module, which runs when it is imported."""
    return ":" in env


def is_pybullet(env: str) -> bool:
    """Whether an id names one of the PyBullet domains."""
    return "Bullet" in env and not names_code(env)


MUJOCO = (
    "Ant", "HalfCheetah", "Hopper", "Humanoid", "HumanoidStandup", "InvertedDoublePendulum",
    "InvertedPendulum", "Pusher", "Reacher", "Swimmer", "Walker2d",
)  # fmt: skip


def is_robot(env: str) -> bool:
    """Whether an id names a robot of PyBullet, or of MuJoCo in Gymnasium."""
    return is_pybullet(env) or (name_of(env) in MUJOCO and not names_code(env))
