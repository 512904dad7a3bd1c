"""Which agents share their compiled functions."""

import jax.numpy as jnp

from hyperaction import HGQN
from hyperaction.training.compiled import compiled_for
from tests.agents.samples import agent_for
from tests.test_seams import Weighted
from tests.training.envs import TINY, Counting


def test_equal_agents_share_their_compiled_functions_and_others_do_not():
    shared = compiled_for(agent_for())
    assert compiled_for(agent_for()) is shared
    assert compiled_for(agent_for(double=True)) is not shared
    one, two = (HGQN(Counting(), seed=seed, **TINY) for seed in (1, 2))
    assert one.compiled is two.compiled


def test_agents_with_arrays_in_their_parts_have_functions_of_their_own():
    mixers = [Weighted(jnp.array([0.5, value])) for value in (0.1, 0.2)]
    one, two = (agent_for(mixer=mixer, orders=(1,)) for mixer in mixers)
    assert compiled_for(one) is not compiled_for(two)
