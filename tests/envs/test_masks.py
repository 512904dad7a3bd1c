"""Masks and constraints as environments give them."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from hyperaction.constraints import Cardinality
from hyperaction.envs.factoring import action_map
from hyperaction.envs.guard import EnvironmentFaultError
from hyperaction.envs.masks import report_unused
from hyperaction.envs.vector import Single, Vector
from hyperaction.envs.wrapper import Factored
from hyperaction.errors import SettingError
from tests.envs.samples import BOX

SPACE = spaces.MultiDiscrete([2, 3])
ROWS = np.array([[1, 0, 1, 1, 0], [1, 1, 0, 1, 1], [0, 1, 1, 0, 1]], bool)
TABLES = np.random.default_rng(0).random((3, 2, 3)) < 0.6


class Masked(gymnasium.Env):
    """Gives the masks of a list in turn, in some form, in some place."""

    action_space = SPACE

    def __init__(self, form, place="info"):
        self.form, self.place, self.count = form, place, 0
        self.observation_space = BOX
        if place == "observation":
            mask = spaces.MultiBinary(np.shape(form(0)))
            self.observation_space = spaces.Dict({"action_mask": mask, "seen": BOX})
        if place == "method":
            self.action_masks = lambda: form(self.count)

    def _given(self):
        seen = np.full(BOX.shape, self.count, np.float32)
        mask = self.form(self.count)
        if self.place == "observation":
            return {"action_mask": np.asarray(mask, np.int8), "seen": seen}, {}
        return seen, {"action_mask": mask} if self.place == "info" else {}

    def reset(self, *, seed=None, options=None):
        self.count = 0
        return self._given()

    def step(self, action):
        self.count += 1
        seen, info = self._given()
        return seen, 0.0, False, self.count == 2, info


def split(row):
    return row[:2], row[2:]


def per_vertex(number):
    return ROWS[number]


FORMS = {
    "row": per_vertex,
    "tuple": lambda number: split(ROWS[number]),
    "by number": lambda number: dict(enumerate(split(ROWS[number]))),
}


def masks_of(env, steps=2):
    """What is allowed in the states that the environment goes through, of its first copy."""
    env.reset(0)
    seen = [env.mask]
    for _ in range(steps):
        seen.append(env.step(np.zeros((env.num_envs, 2), np.int32)).mask)
    return [mask.rows[0] for mask in seen]


def environments(make):
    yield Single(Factored(make(), action_map(SPACE)))
    for mode in (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP):
        yield Vector(SyncVectorEnv([make, make], autoreset_mode=mode), action_map(SPACE))


@pytest.mark.parametrize("place", ["info", "observation", "method"])
def test_masks_are_read_wherever_they_are_given(place):
    def make():
        return Masked(per_vertex, place)

    for env in environments(make):
        if place == "method" and isinstance(env, Vector):
            env.reset(0)  # Which masks the last states have is not known.
            np.testing.assert_array_equal(env.mask.rows, ROWS[[0, 0]])
            env.step(np.zeros((2, 2), np.int32))
            np.testing.assert_array_equal(env.mask.rows, ROWS[[1, 1]])
            continue
        np.testing.assert_array_equal(masks_of(env), ROWS)
        assert env.observation_shape == BOX.shape


@pytest.mark.parametrize("form", FORMS)
def test_masks_per_vertex_mean_the_same_in_any_form(form):
    for env in environments(lambda: Masked(FORMS[form])):
        np.testing.assert_array_equal(masks_of(env), ROWS)


@pytest.mark.parametrize("place", ["info", "observation"])
def test_masks_of_joint_actions_have_an_entry_for_each(place):
    forms = [lambda number: TABLES[number]]
    if place == "info":
        forms.append(lambda number: {(0, 1): TABLES[number]})
        forms.append(lambda number: {"1,0": TABLES[number].T})
    for form in forms:
        for env in environments(lambda form=form: Masked(form, place)):
            rows = np.stack(masks_of(env))
            assert rows[:, :5].all()
            np.testing.assert_array_equal(rows[:, 5:], TABLES.reshape(3, 6))


class Limited(Masked):
    """An environment that allows some actions in no state."""

    action_constraints = Cardinality(at_most=1)


def test_what_the_environment_and_the_user_never_allow_is_not_allowed():
    table = np.array([[1, 1, 0], [1, 1, 1]], bool)
    env = Factored(Limited(per_vertex), action_map(SPACE), {(0, 1): table})
    actions = np.indices((2, 3)).reshape(2, -1).T
    expected = [np.count_nonzero(a) <= 1 and table[tuple(a)] for a in actions]
    np.testing.assert_array_equal(env.masks.always.allows(actions), expected)


def test_rules_of_the_environments_of_a_vector_hold():
    for env in environments(lambda: Limited(per_vertex)):
        assert env.constraints.cardinalities


def test_of_a_vector_too_a_state_without_a_mask_allows_all():
    def form(number):
        return {"0": ROWS[0, :2]} if number != 1 else None

    class Rarely(Masked):
        def _given(self):
            seen, info = super()._given()
            return seen, {} if info["action_mask"] is None else info

    for env in environments(lambda: Rarely(form)):
        rows = masks_of(env, 1)
        np.testing.assert_array_equal(rows, [[1, 0, 1, 1, 1], np.ones(5)])


def test_an_unknown_choice_where_nothing_is_allowed_is_refused():
    with pytest.raises(SettingError, match="unknown choice 'defualt'; did you mean 'default'"):
        Factored(Masked(per_vertex), action_map(SPACE), no_action="defualt")


def test_rules_that_together_leave_nothing_are_refused():
    many = action_map(spaces.MultiDiscrete([3] * 30))
    for actions in (action_map(SPACE), many):
        space = spaces.MultiDiscrete(actions.sizes)
        env = Masked(lambda number, count=sum(actions.sizes): np.ones(count))
        env.action_space = space
        rules = [Cardinality(at_most=1), Cardinality(at_least=2)]
        with pytest.raises(SettingError, match="constraints leave no joint action"):
            Factored(env, actions, rules)
        assert Factored(env, actions, Cardinality(at_least=2, at_most=2)).masks.always.always


NOTHING = np.array([0, 0, 1, 1, 1], bool)


def test_where_no_action_is_left_the_user_chooses():
    def rows(choice):
        env = Factored(Masked(lambda _: NOTHING), action_map(SPACE), no_action=choice)
        return masks_of(Single(env))[0]

    np.testing.assert_array_equal(rows("stop"), NOTHING)
    np.testing.assert_array_equal(rows("ignore"), np.ones(5, bool))
    np.testing.assert_array_equal(rows("default"), [1, 0, 1, 0, 0])


def test_a_mask_on_other_vertices_than_at_first_is_refused():
    def form(number):
        return per_vertex(0) if number == 0 else {(0, 1): TABLES[0]}

    env = Single(Factored(Masked(form), action_map(SPACE)))
    env.reset(0)
    with pytest.raises(EnvironmentFaultError, match=r"an action_mask on \(0, 1\), but none"):
        env.step(np.zeros((1, 2), np.int32))


@pytest.mark.parametrize("name", ["action_masks", "legal_actions", "avail_actions", "mask"])
def test_what_looks_like_a_mask_and_is_not_used_is_reported(name):
    with pytest.warns(UserWarning, match=f"info has '{name}', which looks like an action mask"):
        report_unused({name: ROWS[0]}, BOX)
    with pytest.warns(UserWarning, match=f"observation has '{name}'"):
        report_unused({}, spaces.Dict({name: BOX, "seen": BOX}))


def test_what_is_a_mask_or_nothing_like_one_is_not_reported():
    report_unused({"action_mask": ROWS[0], "legal_actions": [0]}, BOX)
    report_unused({"prob": 1.0, "TimeLimit.truncated": False, "action": 1, 3: 4}, BOX)
