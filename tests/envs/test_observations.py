"""How observations become arrays: any space, one at a time or many, stored and read again."""

import json

import jax
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector.utils import concatenate, create_empty_array
from hypothesis import given
from hypothesis import strategies as st

from hyperaction.envs.encodings import MAX_ONE_HOT
from hyperaction.envs.observations import Observations
from hyperaction.networks.combined import parts_of, unpacked

FLOATS = spaces.Box(-1, 1, (3,))


@st.composite
def leaf_spaces(draw):
    """Spaces without parts."""
    shape = tuple(draw(st.lists(st.integers(1, 3), max_size=3)))
    kind = draw(st.integers(0, 6))
    if kind == 0:
        dtype = draw(st.sampled_from([np.float32, np.float64, np.int32]))
        return spaces.Box(-100, 100, shape, dtype)
    if kind == 1:  # A grid.
        dtype = draw(st.sampled_from([np.int8, np.uint8, np.int64]))
        return spaces.Box(0, draw(st.integers(1, 40)), shape, dtype)
    if kind == 2:
        return spaces.Box(0, 255, (4, 5, draw(st.integers(1, 3))), np.uint8)
    if kind == 3:
        size = draw(st.sampled_from([1, 2, 7, MAX_ONE_HOT, MAX_ONE_HOT + 1, 10**9, 2**62]))
        return spaces.Discrete(size, start=draw(st.integers(-5, 5)))
    if kind == 4:
        sizes = draw(st.lists(st.sampled_from([1, 3, 10, 10**6]), min_size=1, max_size=3))
        return spaces.MultiDiscrete(sizes, start=[draw(st.integers(-3, 3)) for _ in sizes])
    return spaces.MultiBinary(draw(st.integers(1, 4)))


def nested_spaces():
    """Spaces with parts in parts."""
    keys = st.text("abc", min_size=1, max_size=2)
    return st.recursive(
        leaf_spaces(),
        lambda inner: (
            st.dictionaries(keys, inner, min_size=1, max_size=3).map(spaces.Dict)
            | st.lists(inner, min_size=1, max_size=3).map(spaces.Tuple)
        ),
        max_leaves=5,
    )


def sampled(space, count=3, seed=0):
    space.seed(seed)
    return [space.sample() for _ in range(count)]


def batched(space, observations):
    """As Gymnasium's vector environments stack them."""
    return concatenate(space, observations, create_empty_array(space, len(observations)))


@given(space=nested_spaces())
def test_arrays_have_the_shape_and_type_that_networks_are_made_for(space):
    observations = Observations.of(space)
    for one in sampled(space):
        array = observations(one)
        assert (array.shape, array.dtype) == (observations.shape, observations.dtype)
        assert array.size <= 4 * sum(leaf_limit(leaf) for leaf in leaves(space))


def leaves(space):
    if isinstance(space, spaces.Dict | spaces.Tuple):
        parts = space.values() if isinstance(space, spaces.Dict) else space.spaces
        return [leaf for part in parts for leaf in leaves(part)]
    return [space]


def leaf_limit(leaf):
    return MAX_ONE_HOT + 64 * int(np.prod(leaf.shape or (1,)))


@given(space=nested_spaces())
def test_a_batch_is_its_observations_one_by_one_in_any_form(space):
    observations, several = Observations.of(space), sampled(space)
    each = np.stack([observations(one) for one in several])
    for form in (batched(space, several), several):
        array, single = observations.read(form)
        np.testing.assert_array_equal(array, each)
        assert not single
    np.testing.assert_array_equal(observations.batch(batched(space, several), 3), each)
    array, single = observations.read(several[0])
    np.testing.assert_array_equal(array, each[:1])
    assert single
    array, single = observations.read(each.astype(observations.dtype))  # Encoded already.
    np.testing.assert_array_equal(array, each)
    assert not single
    assert observations.read([])[0].shape == (0, *observations.shape)


@given(space=nested_spaces())
def test_what_is_stored_as_json_encodes_alike(space):
    observations = Observations.of(space)
    again = Observations.restored(json.loads(json.dumps(observations.described())))
    assert (again.shape, again.dtype, again.layout) == (
        observations.shape,
        observations.dtype,
        observations.layout,
    )
    for one in sampled(space):
        np.testing.assert_array_equal(again(one), observations(one))


def slow(space, value):
    """The numbers of a part, slowly: what is categorical one-hot if that is short, or in bits."""
    if isinstance(space, spaces.Dict):
        return np.concatenate([slow(space[key], value[key]) for key in space])
    if isinstance(space, spaces.Tuple):
        return np.concatenate([slow(*pair) for pair in zip(space.spaces, value, strict=True)])
    flat = np.ravel(value).tolist()
    if isinstance(space, spaces.Discrete):
        sizes, starts = [int(space.n)], [int(space.start)]
    elif isinstance(space, spaces.MultiDiscrete):
        sizes, starts = np.ravel(space.nvec).tolist(), np.ravel(space.start).tolist()
    else:
        is_grid = isinstance(space, spaces.Box) and space.dtype.kind in "iu"
        is_image = space.dtype == np.uint8 and len(space.shape) == 3
        if not is_grid or is_image or not 3 <= space.high.flat[0] - space.low.flat[0] + 1 <= 32:
            return np.array(flat, np.float32)
        sizes = [int(space.high.flat[0] - space.low.flat[0]) + 1] * len(flat)
        starts = [int(space.low.flat[0])] * len(flat)
    rows = []
    for number, size, start in zip(flat, sizes, starts, strict=True):
        if sum(sizes) <= MAX_ONE_HOT:
            rows.append([float(number - start == each) for each in range(size)])
        else:
            bits = max((size - 1).bit_length(), 1)
            rows.append([float((number - start) // 2**bit % 2) for bit in range(bits)])
    return np.concatenate(rows).astype(np.float32)


@given(space=nested_spaces())
def test_networks_get_the_numbers_of_every_part_in_order(space):
    observations = Observations.of(space)
    for one in sampled(space):
        flat = np.ravel(unpacked(observations.layout, observations(one)))
        np.testing.assert_array_equal(flat, slow(space, one))


def test_floats_are_what_gymnasium_flattens_to():
    space = spaces.Dict(
        a=FLOATS, b=spaces.Tuple([spaces.Discrete(500, start=3), spaces.MultiBinary(4)])
    )
    observations, plain = Observations.of(space), Observations.of(space, plain=True)
    for one in sampled(space):
        flat = spaces.flatten(space, one).astype(np.float32)
        np.testing.assert_array_equal(observations(one), flat)
        np.testing.assert_array_equal(plain(one), flat)


def test_a_box_of_floats_or_an_image_of_bytes_stays_as_it_is():
    image = spaces.Box(0, 9, (4, 6, 2), np.uint8)  # Bytes of few values are an image still.
    for space in (image, spaces.Box(-np.inf, np.inf, (2, 3), np.float64), FLOATS):
        observations = Observations.of(space)
        assert observations.layout is None
        assert observations.shape == space.shape
        for one in sampled(space):
            np.testing.assert_array_equal(observations(one), one.astype(observations.dtype))
    ram = spaces.Box(0, 255, (128,), np.uint8)
    assert (Observations.of(ram).shape, Observations.of(ram).dtype) == ((128,), np.uint8)
    switches = spaces.Box(0, 1, (5, 5), np.int8)
    assert Observations.of(switches).shape == (5, 5)


def test_images_stay_bytes_beside_numbers():
    space = spaces.Dict(
        far=spaces.Box(0, 255, (6, 7, 3), np.uint8),
        near=spaces.Box(0, 255, (1, 4, 4), np.uint8),
        speed=FLOATS,
    )
    observations = Observations.of(space)
    assert observations.shape == (6 * 7 * 3 + 4 * 4 + 4 * 3,)
    assert observations.frames_in() == 1  # Replay stores each once.
    [one] = sampled(space, 1)
    parts = jax.jit(lambda array: parts_of(observations.layout, array))(observations(one))
    for part, value in zip(parts, one.values(), strict=True):
        np.testing.assert_array_equal(part, value)
        assert part.dtype == value.dtype


HUGE = [
    spaces.Discrete(10**9),
    spaces.MultiDiscrete([10**9, 2**40, 3]),
    spaces.Dict(a=spaces.Discrete(2**62, start=-7), b=spaces.Tuple([spaces.Discrete(10**12)])),
]


@pytest.mark.parametrize("space", HUGE, ids=["discrete", "multi-discrete", "dict"])
def test_huge_spaces_take_few_numbers_and_differ_everywhere(space):
    observations = Observations.of(space)
    assert observations.shape[0] < 150
    arrays = {tuple(observations(one)) for one in sampled(space, 50)}
    assert len(arrays) == 50


REFUSED = {
    "text": spaces.Text(4),
    "sequence": spaces.Sequence(FLOATS),
    "graph": spaces.Graph(FLOATS, None),
    "one of": spaces.OneOf([FLOATS, spaces.Discrete(2)]),
}


@pytest.mark.parametrize("space", REFUSED.values(), ids=REFUSED)
def test_spaces_of_no_fixed_length_are_refused_with_what_would_work(space):
    for outer, where in ((space, ""), (spaces.Dict(a=spaces.Tuple([FLOATS, space])), "part a.1")):
        with pytest.raises(ValueError, match=f"{where}.*Box of any shape .*Transform") as error:
            Observations.of(outer, "Env-v0")
        assert len(str(error.value).splitlines()) == 1


SPACE = spaces.Dict(a=FLOATS, b=spaces.Tuple([spaces.Discrete(4), spaces.Discrete(3)]))


@pytest.mark.parametrize(
    ("observation", "message"),
    [
        ({"a": np.zeros(3)}, "it has no part 'b'"),
        ({"a": np.zeros(3), "b": (0, 0), "c": 1}, "it has the unknown part 'c'"),
        ({"a": np.zeros(2), "b": (0, 0)}, r"its part a has shape \(2,\), not \(3,\)"),
        ({"a": np.zeros(3), "b": (4, 0)}, r"its part b.0 has the value 4; it must be 0 to 3"),
        ({"a": np.zeros(3), "b": (0.5, 0)}, r"its part b.0 has the value 0.5"),
        ({"a": np.zeros(3), "b": 1}, "its part b is not a tuple of 2 parts"),
        ({"a": ["x", "y", "z"], "b": (0, 0)}, "its part a is <U1, not numbers"),
        ({"a": np.zeros((2, 3)), "b": (np.zeros(2, int), np.zeros(3, int))}, "several lengths"),
        (7, "it is not a dictionary"),
        ([7], "it is not a dictionary"),
    ],
)
def test_what_is_no_observation_is_refused_with_what_is_expected(observation, message):
    with pytest.raises(ValueError, match=rf"{message}.*expected is Dict\(a: numbers of shape"):
        Observations.of(SPACE).read(observation)


def test_lists_of_pairs_are_observations_and_tuples_of_arrays_are_gymnasiums_batch():
    observations = Observations.of(spaces.Tuple([spaces.Discrete(4), spaces.Discrete(4)]))
    pairs, _ = observations.read([(0, 1), (2, 3)])
    columns, _ = observations.read((np.array([0, 2]), np.array([1, 3])))
    np.testing.assert_array_equal(pairs, columns)
    assert observations.read((0, 1))[1]
