"""Which agents share their compiled functions."""

import jax
import jax.numpy as jnp
import numpy as np

from hyperaction import HGQN
from hyperaction.training.compiled import FlatState, compiled_for
from tests.agents.samples import agent_for, batch_for, init
from tests.test_seams import Weighted
from tests.training.envs import TINY, Counting


def test_equal_agents_share_their_compiled_functions_and_others_do_not():
    shared = compiled_for(agent_for())
    assert compiled_for(agent_for()) is shared
    assert compiled_for(agent_for(double=True)) is not shared
    one, two = (HGQN(Counting(), seed=seed, **TINY) for seed in (1, 2))
    assert one.compiled is two.compiled


class Descent:
    """Gradient descent at a rate that its owner may change."""

    rate = 0.1

    def init(self, parameters):
        return ()

    def update(self, parameters, gradient, state):
        return jax.tree.map(lambda x, step: x - self.rate * step, parameters, gradient), state


def test_a_part_that_may_have_changed_is_looked_at_again():
    optimiser = Descent()
    biases = []
    for rate in (0.1, 0.2):
        optimiser.rate = rate
        agent = agent_for(optimiser=optimiser)
        compiled = compiled_for(agent)
        state, _ = compiled.update(FlatState(init(agent)), batch_for(agent))
        biases.append(state.tree.online.blocks.biases)
    np.testing.assert_allclose(2.0 * biases[0], biases[1], rtol=1e-4, atol=1e-7)
    assert np.any(biases[0])


def test_agents_with_arrays_in_their_parts_have_functions_of_their_own():
    mixers = [Weighted(jnp.array([0.5, value])) for value in (0.1, 0.2)]
    one, two = (agent_for(mixer=mixer, orders=(1,)) for mixer in mixers)
    assert compiled_for(one) is not compiled_for(two)
