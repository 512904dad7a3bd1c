"""A study on scripted workers: what is asked, pruned, resumed, failed and counted."""

import pytest

from hyperaction.runs import Run
from hyperaction.runs.directory import AGENT_FILE
from hyperaction.runs.progress import Progress, write_progress
from hyperaction.sweeps import scheduler
from hyperaction.sweeps.scheduler import Sweep
from hyperaction.training.config import parse_train

optuna = pytest.importorskip("optuna")

from hyperaction.errors import SettingError  # noqa: E402
from hyperaction.tuning.results import trials, write_csv  # noqa: E402
from hyperaction.tuning.space import search_space  # noqa: E402
from hyperaction.tuning.study import FILE, open_study  # noqa: E402
from hyperaction.tuning.tuner import Tuner  # noqa: E402

ARGS = ("Env-v0", "--steps", "6")
SPACE = search_space(parse_train(ARGS), [], (3, 3), only=["n_step", "discount"])
EVALUATIONS = 6


class Scripted:
    """Workers whose runs write an evaluation with every look at them; what it is, a test says."""

    queues = False

    def __init__(self, value, count=2, fails=()):
        self.value, self.count, self.fails = value, count, fails
        self.runs, self.stopped, self.started = {}, [], []

    def is_free(self):
        return len(self.runs) < self.count

    def start(self, cell, out):
        run = Run(out, cell.config.as_dict())
        run.resume()
        self.runs[cell] = (run, 0)
        self.started.append(cell)

    def ended(self):
        for cell, (run, step) in list(self.runs.items()):
            if cell.agent in self.fails:
                self._end(cell, step)
                yield cell, "it broke"
                continue
            run.log("eval", {"step": step + 1, "return": self.value(cell, step + 1)})
            self.runs[cell] = (run, step + 1)
            if cell in self.stopped or step + 1 == EVALUATIONS:
                self._end(cell, step + 1)
                yield cell, ""

    def _end(self, cell, step):
        run, _ = self.runs.pop(cell)
        (run.out / AGENT_FILE).write_text("agent")
        write_progress(run.out, Progress(step, 1.0, 1.0, step == EVALUATIONS))
        run.__exit__()

    def stop_cell(self, cell):
        self.stopped.append(cell)

    def stop(self):
        for cell, (_, step) in list(self.runs.items()):
            self._end(cell, step)
        return []

    def kill(self):
        self.stop()


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(scheduler, "POLL_INTERVAL_S", 0.0)


def tune(out, workers, *, count, stops_after=None, args=ARGS, prune=True):
    study = open_study(out, SPACE, args, seed=0, prune=prune)
    tuner = Tuner(study, SPACE, args, seed=0, trials=count)
    looks = iter(range(10**6))
    Sweep([], out, workers, 0).run(
        lambda sweep: None,
        lambda: stops_after is not None and next(looks) >= stops_after,
        tuner.plan,
    )
    return study


def by_n_step(cell, step):
    return -abs(cell.config.config.n_step - 6) + step / 100


def states(study):
    return [trial.state.name for trial in study.trials]


def test_the_first_trial_is_the_preset_unchanged_and_the_best_is_found(tmp_path):
    workers = Scripted(by_n_step)
    study = tune(tmp_path, workers, count=12, prune=False)
    assert workers.started[0].args == (*ARGS, "--seed", "0")
    assert states(study) == ["COMPLETE"] * 12
    best, *_ = found = trials(study)
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    assert abs(best.params["n_step"] - 6) <= abs(SPACE.baseline["n_step"] - 6)
    # A score is the mean of the last half of the evaluations.
    assert best.score == pytest.approx(-abs(best.params["n_step"] - 6) + 0.05)
    lines = write_csv(tmp_path, study, SPACE).read_text().splitlines()
    assert lines[0] == "trial,state,score,evaluations,n_step,discount"
    assert len(lines) == 13


def test_the_figure_shows_which_setting_decides_the_score(tmp_path):
    figures = pytest.importorskip("hyperaction.tuning.figure")
    study = tune(tmp_path, Scripted(by_n_step), count=12, prune=False)
    importances = figures._importances(study)
    assert max(importances, key=importances.get) == "n_step"
    assert figures.draw(study, tmp_path).stat().st_size > 1_000


def test_trials_that_are_worse_than_the_median_are_stopped_and_the_baseline_never_is(tmp_path):
    def worsens(cell, step):
        return -float(cell.agent.removeprefix("trial-")) if cell.agent != "trial-000" else -1e6

    workers = Scripted(worsens, count=1)
    study = tune(tmp_path, workers, count=9)
    assert states(study)[:5] == ["COMPLETE"] * 5
    assert states(study)[5:] == ["PRUNED"] * 4
    assert [cell.agent for cell in workers.stopped] == [f"trial-00{n}" for n in range(5, 9)]
    pruned = study.trials[5]
    assert len(pruned.intermediate_values) < EVALUATIONS


@pytest.mark.parametrize("damage", [b"", b'{"op_code":'])
def test_a_study_that_was_stopped_goes_on_with_the_same_trials(tmp_path, damage):
    first = Scripted(by_n_step)
    study = tune(tmp_path, first, count=3, stops_after=4)
    under_way = [trial.params for trial in study.trials]
    assert states(study) == ["RUNNING"] * 2
    with (tmp_path / FILE).open("ab") as journal:
        journal.write(damage)  # Of a process that was killed.
    (tmp_path / f"{FILE}.lock").symlink_to(tmp_path / FILE)
    second = Scripted(by_n_step)
    study = tune(tmp_path, second, count=3)
    assert states(study) == ["COMPLETE"] * 3
    assert [trial.params for trial in study.trials[:2]] == under_way
    assert second.started[:2] == first.started
    third = Scripted(by_n_step)
    assert states(tune(tmp_path, third, count=3)) == ["COMPLETE"] * 3
    assert not third.started
    assert len(tune(tmp_path, third, count=4).trials) == 4


def test_a_study_of_other_settings_is_not_gone_on_with(tmp_path):
    tune(tmp_path, Scripted(by_n_step), count=1)
    with pytest.raises(SettingError, match="holds a study of other settings: it trains Env-v0"):
        tune(tmp_path, Scripted(by_n_step), count=1, args=(*ARGS, "--batch-size", "8"))


def test_a_trial_that_fails_is_replaced_when_the_command_is_rerun(tmp_path):
    study = tune(tmp_path, Scripted(by_n_step, fails=["trial-001"]), count=3)
    assert sorted(states(study)) == ["COMPLETE", "COMPLETE", "FAIL"]
    assert [each.reason for each in trials(study) if each.reason] == ["it broke"]
    study = tune(tmp_path, Scripted(by_n_step), count=3)
    assert states(study).count("COMPLETE") == 3


def test_where_the_preset_fails_nothing_else_is_tried(tmp_path):
    study = tune(tmp_path, Scripted(by_n_step, count=1, fails=["trial-000"]), count=5)
    assert states(study) == ["FAIL"]


def test_a_return_that_is_not_finite_is_a_failure(tmp_path):
    study = tune(tmp_path, Scripted(lambda cell, step: float("nan"), count=1), count=2)
    assert states(study) == ["FAIL"]
