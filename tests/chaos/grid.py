"""A sweep of two runs, each that of the trials but for its seed."""

from tests.chaos.trial import TRAIN

CELLS = ("Switches-v0/one/seed-0", "Switches-v0/one/seed-1")


def grid(folder, env):
    """The file of the grid, with this id of the environment."""
    options = dict(zip(TRAIN[2:-1:2], TRAIN[3:-1:2], strict=True))
    lines = [f'environments = ["{env}"]', "seeds = 2", "[options]", "loggers = []"]
    lines += [f"{name.removeprefix('--')} = {value}" for name, value in options.items()]
    file = folder / "grid.toml"
    file.write_text("\n".join([*lines, "[agents.one]", 'agent = "hgqn"', ""]))
    return file
