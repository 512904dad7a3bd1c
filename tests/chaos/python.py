"""In Python: interrupts and exceptions inside `learn`, at any moment."""

import os
import signal
import threading

import gymnasium
import numpy as np

from hyperaction import HGQN
from tests.chaos import envs
from tests.chaos.commands import ViolationError, time_limit


class PlannedError(Exception):
    """Of a callback or an environment."""


def _agent():
    env = gymnasium.make("Switches-v0", disable_env_checker=True)
    # As the reference run, whose programs are compiled already.
    return HGQN(env, hidden=(8,), total_width=8, batch_size=8, learning_starts=40)


def interrupt(trial):
    """However `learn` is interrupted, the agent can act, be saved and learn on."""
    agent = _agent()
    if trial.rng.random() < 0.7:  # Else the first interrupts come while it compiles.
        agent.learn(60)
    for _ in range(trial.rng.randrange(1, 8)):
        times, delay = trial.rng.choice((1, 1, 2, 3)), trial.rng.random() * 0.05
        trial.note(f"{times} x SIGINT after {delay:.3f} s")
        _interrupted(agent, times, delay)
        _check(trial, agent)
    _learn_on(trial, agent)


def _interrupted(agent, times, delay):
    """Learns until Ctrl-C."""
    over = threading.Event()

    def press():
        for number in range(1_000):
            if over.wait(delay if number < times else 0.5):
                return
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Outside `learn` it is nobody's.
    try:
        thread.start()
        with time_limit(30, 30):
            agent.learn(1_000_000)
        raise ViolationError("learn went on after Ctrl-C")
    except KeyboardInterrupt:
        return
    finally:
        over.set()
        thread.join()
        signal.signal(signal.SIGINT, before)


def raised(trial):
    """An exception of a callback or of the environment leaves the agent whole."""
    agent = _agent()
    for _ in range(trial.rng.randrange(1, 4)):
        calls, where = trial.rng.randrange(1, 120), trial.rng.choice(("callback", "environment"))
        trial.note(f"an exception in the {where} at call {calls}")
        _raised(agent, where, calls)
        envs.strike(None, 0)
        _check(trial, agent)
    _learn_on(trial, agent)


def _raised(agent, where, calls):
    until = agent.step + calls

    def callback(trainer):
        if where == "callback" and trainer.step >= until:
            raise PlannedError

    def fault(call, answer):
        raise PlannedError

    if where == "environment":
        envs.strike(fault, calls)
    try:
        with time_limit(30, 30):
            agent.learn(1_000, callback)
    except (PlannedError, RuntimeError):
        return
    raise ViolationError("an exception was lost")


def _check(trial, agent):
    """It acts, and is the same after it was saved and loaded."""
    observation = np.zeros(3, np.float32)
    file = trial.written / "agent.safetensors"
    try:
        action = agent.act(observation)
        agent.save(file)
        again = HGQN.load(file).act(observation)
    except Exception as error:
        raise ViolationError(f"the agent is broken: {type(error).__name__}: {error}") from error
    if not envs.Switches.action_space.contains(action):
        raise ViolationError(f"{action} is not an action")
    if not np.array_equal(action, again):
        raise ViolationError("after saving and loading, the agent acts otherwise")


def _learn_on(trial, agent):
    before = agent.step
    try:
        with time_limit(30, 30):
            agent.learn(60)
    except ViolationError:
        raise
    except Exception as error:
        raise ViolationError(f"cannot learn on: {type(error).__name__}: {error}") from error
    if agent.step != before + 60:
        raise ViolationError(f"{agent.step - before} steps, not 60")
    trial.check_clean()
