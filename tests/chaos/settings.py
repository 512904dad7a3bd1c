"""Settings that make an agent diverge: called so, and never blamed on the environment."""

from tests.chaos.commands import ViolationError

EXTREMES = (
    ("--learning-rate", ("1e30", "1e10", "nan", "inf", "-1", "1e-40")),
    ("--optimiser.epsilon", ("nan", "inf", "0", "1e-45")),
    ("--discount", ("nan", "inf", "1", "0", "1.5")),
    ("--batch-size", ("1", "200", "0")),
    ("--buffer-size", ("1", "8", "99999999999")),
)


def extreme(trial):
    """Extreme settings are refused, learn, or diverge in one line that says so."""
    flag, values = trial.rng.choice(EXTREMES)
    value = trial.rng.choice(values)
    trial.note(f"{flag} {value}")
    result = trial.train(flag, value, seconds=120)
    for blamed in ("mask", "environment"):
        if result.code and blamed in result.err:
            raise ViolationError(f"divergence is blamed on the {blamed}: {result.err.strip()}")
    if result.code == 2 and trial.run.exists():
        raise ViolationError("refused, but a directory was made")
    trial.check_others()
    trial.check_clean()
