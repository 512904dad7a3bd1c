"""Command-line arguments from dataclasses: what they mean, what help shows, what is refused."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperaction.arguments import ArgumentError, Positional, docstrings, keys_of, options_of, parse
from hyperaction.errors import SettingError
from hyperaction.maximise import WAYS
from hyperaction.mixers import MIXERS
from hyperaction.training.config import parse_train


@dataclass(frozen=True)
class Slow:
    """A part."""

    rate: float = 0.5
    """How slow."""
    patience: int = 3
    """How long to wait."""


@dataclass(frozen=True)
class Fast:
    """Another part."""

    rate: float = 2.0
    """How fast."""


@dataclass(frozen=True)
class Size:
    """A group."""

    rate: int = 7
    """How many."""
    width: int = 10
    """How wide,
    in metres."""


@dataclass(frozen=True)
class Base:
    """What is inherited."""

    seed: int = 0
    """The seed."""


@dataclass(frozen=True)
class Options(Base):
    """Does 100% of nothing."""

    place: Annotated[Path, Positional("DIR")] = Path("here")
    """Where it is."""
    name: str = "x"
    """What it is called."""
    switch: bool = False
    """Turns it on."""
    on: bool = True
    share: float = 0.5
    kind: Literal["big", "small"] = "big"
    many: tuple[int, ...] = (1, 2)
    limit: int | None = None
    secret: int = field(default=1, metadata={"hidden": True})
    speed: Slow | Fast = field(default=Slow(), metadata={"registry": {"slow": Slow, "fast": Fast}})
    """How it goes."""

    def __post_init__(self):
        if self.seed < 0:
            raise SettingError(f"`seed` must be at least 0, not {self.seed}")


@dataclass(frozen=True)
class Required:
    """Needs to know."""

    places: Annotated[tuple[Path, ...], Positional("DIR")]
    """Where."""
    count: int
    """How many."""


def given_to(*args, kind=Options):
    return parse(kind, "test", list(args))


def help_of(capsys, call):
    with pytest.raises(SystemExit) as left:
        call()
    assert left.value.code == 0
    return " ".join(capsys.readouterr().out.split())


def test_nothing_given_is_every_default():
    assert given_to() == Options()


def test_docstrings_below_fields_are_help_inherited_ones_too(capsys):
    assert docstrings(Options)["seed"] == "The seed."
    assert docstrings(Size) == {"rate": "How many.", "width": "How wide,\nin metres."}
    shown = help_of(capsys, lambda: given_to("--help"))
    for text in (
        "usage: hyperaction test DIR [OPTIONS]", "Does 100% of nothing.", "DIR Where it is.",
        "--seed INT The seed. (default: 0)", "--name TEXT What it is called. (default: x)",
        "--switch Turns it on. (default: off)", "--on (default: on; --no-...)",
        "--kind {big,small} (default: big)", "--many INT ... (default: 1 2)", "--limit INT",
        "--speed {slow,fast} How it goes. (default: slow)",
    ):  # fmt: skip
        assert text in shown
    assert "secret" not in shown


def test_values_have_the_types_of_their_fields():
    found = given_to(
        "--name", "-", "--switch", "--no-on", "--share", "1e-3", "--kind", "small", "--many", "4",
        "1e5", "--limit", "3", "there", "--seed=9",
    )  # fmt: skip
    assert found == Options(9, Path("there"), "-", True, False, 0.001, "small", (4, 100_000), 3)
    assert given_to("--many").many == ()


@pytest.mark.parametrize(
    ("text", "number"), [("1e5", 100_000), ("12", 12), ("2.0", 2), ("2**3", None), ("0.5", None),
                         ("1e400", None), ("nan", None), ("", None)],
)  # fmt: skip
def test_whole_numbers_may_be_written_with_an_exponent(text, number):
    if number is None:
        with pytest.raises(ArgumentError, match="is not a whole number"):
            given_to("--seed", text)
    else:
        assert given_to("--seed", text).seed == number
        assert type(given_to("--seed", text).seed) is int


@given(st.permutations([["--seed", "3"], ["there"], ["--switch"], ["--name", "y"]]))
def test_arguments_mean_the_same_in_any_order(groups):
    expected = Options(seed=3, place=Path("there"), switch=True, name="y")
    assert given_to(*(arg for group in groups for arg in group)) == expected


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--sead", "3"], "unknown option --sead; did you mean --seed?"),
        (["--sead=3"], "unknown option --sead; did you mean --seed?"),
        (["--see", "3"], "unknown option --see; did you mean --seed?"),  # No abbreviations.
        (["--seed"], "--seed expected 1 argument"),
        (["--seed", "x"], "--seed 'x' is not a whole number"),
        (["--seed", "-1"], "--seed must be at least 0, not -1"),
        (["--share", "half"], "--share 'half' is not a number"),
        (["--kind", "bigg"], "--kind: unknown name 'bigg'; did you mean 'big'?"),
        (["--speed", "fest"], "--speed: unknown name 'fest'; did you mean 'fast'?"),
        (["--limit", "x"], "--limit 'x' is not int"),
        (["here", "there"], "unexpected argument there"),
        (["--secret", "3"], "unknown option --secret"),
    ],
)
def test_mistakes_are_refused_in_one_line_that_names_the_option(args, message):
    with pytest.raises(ArgumentError) as error:
        given_to(*args)
    assert message in str(error.value)
    assert str(error.value).endswith(" (hyperaction test --help)")
    assert "\n" not in str(error.value)


def test_what_has_no_default_must_be_given():
    found = given_to("a", "--count", "2", "b", kind=Required)
    assert found == Required((Path("a"), Path("b")), 2)
    with pytest.raises(ArgumentError, match=r"^--count is missing"):
        given_to("a", kind=Required)
    with pytest.raises(ArgumentError, match=r"^DIR is missing"):
        given_to("--count", "2", kind=Required)


def test_fields_of_groups_and_of_default_parts_are_options_of_their_own():
    @dataclass(frozen=True)
    class Grouped:
        size: Size = Size()
        speed: Slow | Fast = field(
            default=Slow(), metadata={"registry": {"slow": Slow, "fast": Fast}}
        )

    # The source of a class within a function is found, too.
    names = {each.name: each for each in options_of(Grouped)}
    assert set(names) == {
        "size.rate", "size.width", "speed", "speed.rate", "speed.patience",
    }  # fmt: skip
    assert names["size.rate"].flag == "--size.rate"
    assert names["speed.rate"].default == 0.5
    assert names["speed"].choices == ("slow", "fast")
    assert names["size.rate"].group == "size"


def test_only_the_settings_of_chosen_parts_are_shown(capsys):
    def shown(*args):
        return help_of(capsys, lambda: parse_train(["CartPole-v1", *args, "--help"]))

    default, polyak = shown("--preset", "physical"), shown("--target", "polyak")
    assert "--mixer {sum,mean,order-mean,universal," in default
    assert "--target.interval" in default
    assert "--target.rate" not in default
    assert "--target.interval" not in polyak
    assert "--target.rate FLOAT The share of the online network. (default: 0.005)" in polyak
    assert "--objective.towards" in shown("--objective", "branching")
    assert "--objective.towards" not in default
    ddpg = shown("--agent", "ddpg")
    assert "--exploration.pull" in ddpg
    assert "--actor-learning-rate" in ddpg
    assert "--orders INT" not in ddpg
    assert "(default: 50000000)" in help_of(capsys, lambda: parse_train(["ALE/Pong-v5", "-h"]))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--target", "copy", "--target.rate", "0.1"], "does not belong to the chosen parts"),
        (["--target", "copy", "--rate", "0.1"], "--rate does not belong to the chosen parts"),
        (["--agent", "ddpg", "--orders", "1"], "--orders does not belong to the chosen parts"),
        (["--target", "polyak", "--target.interval", "9"], "does not belong to the chosen parts"),
        (["--epsilon", "0.1"], "--epsilon does not belong"),
        (["--learning-rat", "0.1"], "unknown option --learning-rat; did you mean --learning-rate?"),
        (["--optimiser.epsilon", "0"], "--optimiser.epsilon must be above 0, not 0.0"),
        (["--agent", "dqm"], "--agent: unknown agent 'dqm'; did you mean 'dqn'?"),
        (["--mixer", "som"], "--mixer: unknown name 'som'; did you mean 'sum'?"),
        (["--loggers", "wandbb"], "--loggers: unknown name 'wandbb'; did you mean 'wandb'?"),
    ],
)
def test_options_of_parts_that_were_not_chosen_are_refused(args, message):
    with pytest.raises(ArgumentError) as error:
        parse_train(["CartPole-v1", *args])
    assert message in str(error.value)


def test_names_of_a_registry_are_read_without_importing_it():
    assert keys_of("hyperaction.mixers:MIXERS") == tuple(MIXERS)
    assert keys_of("hyperaction.maximise.planner:WAYS") == tuple(WAYS)
    with pytest.raises(LookupError, match="there is no registry"):
        keys_of("hyperaction.mixers:MIXER")


def test_options_of_parts_are_written_whole_or_by_their_last_name():
    whole = parse_train([
        "CartPole-v1", "--optimiser.learning-rate", "linear:0.1:0:9", "--target", "polyak",
        "--target.rate", "0.1", "--network.hidden", "8", "8",
    ])  # fmt: skip
    short = parse_train([
        "CartPole-v1", "--hidden", "8", "8", "--rate", "0.1", "--target", "polyak",
        "--learning-rate", "linear:0.1:0:9",
    ])  # fmt: skip
    assert whole == short
    assert whole.config.target.rate == 0.1
    assert whole.config.network.hidden == (8, 8)
