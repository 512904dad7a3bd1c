"""Compiled programs on disk: results are the same with and without, whatever befalls the files."""

import os
import resource
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src import compilation_cache

from hyperaction import Hypergraph, kernels, maximiser
from hyperaction.agents import moments
from hyperaction.training import compile_cache
from hyperaction.training.compile_cache import ENTRY, PART, Programs, directory, usage


@pytest.fixture
def hits(tmp_path, monkeypatch):
    """The cache of a user in a directory of its own, in use; how many entries were found there."""
    settings = (
        "jax_compilation_cache_dir",
        "jax_persistent_cache_min_compile_time_secs",
        "jax_persistent_cache_enable_xla_caches",
    )
    before = {name: getattr(jax.config, name) for name in settings}
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(compilation_cache, "get_file_cache", compilation_cache.get_file_cache)
    jax.config.update("jax_compilation_cache_dir", None)
    compilation_cache.reset_cache()
    found = []
    jax.monitoring.register_event_listener(
        lambda event, **_: found.append(event) if event.endswith("/cache_hits") else None
    )
    yield found
    jax.monitoring.clear_event_listeners()
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()
    jax.clear_caches()


HYPERGRAPH = Hypergraph.complete((3, 2), 2)


def step(tables, state):
    """A step of Adam, by its kernel where there is one."""
    settings = {"learning_rate": 0.1, "epsilon": 1e-8, "gradient_clip": 0.0}
    return moments.update(moments.ADAM, tables, jnp.tanh(tables), state, **settings)


def step_and_act(tables, state):
    """The same, and the best actions."""
    tables, state = step(tables, state)
    return tables, state, maximiser(HYPERGRAPH).argmax(tables)


def compute(program):
    """The results of a program that is not in this process's memory yet."""
    jax.clear_caches()
    compile_cache._surroundings.cache_clear()
    tables = np.random.default_rng(0).normal(size=(4, HYPERGRAPH.num_outputs)).astype(np.float32)
    state = moments.Moments(np.int32(3), np.zeros_like(tables), np.ones_like(tables))
    return jax.tree.leaves(jax.jit(program)(tables, state))


def test_results_are_the_same_bits_without_the_cache_and_newly_stored_and_from_it(hits):
    without = compute(step_and_act)
    assert not directory().exists()
    compile_cache.use()
    new = compute(step_and_act)
    assert directory().exists()
    assert not hits
    found = compute(step_and_act)
    assert hits
    for each in zip(without, new, found, strict=True):
        assert len({np.asarray(array).tobytes() for array in each}) == 1


def test_what_changes_a_program_finds_no_entry_of_another(hits, monkeypatch):
    compile_cache.use()
    compute(step)
    first = stored()
    others = {*kernels.machine_sets()[:1], "none"} - {kernels.chosen_set() or "none"}
    for variable, value in [
        ("PJRT_NPROC", "3"),
        ("XLA_FLAGS", f"{os.environ['XLA_FLAGS']} --xla_cpu_enable_fast_min_max=false"),
        *(("HYPERACTION_ISA", isa) for isa in sorted(others)),
    ]:
        before = stored()
        with monkeypatch.context() as changed:
            changed.setenv(variable, value)
            compute(step)
        assert stored() > before, (variable, value)
    hits.clear()
    compute(step)
    assert hits
    before = stored()
    monkeypatch.setattr(compile_cache, "__version__", "another")
    hits.clear()
    compute(step)
    assert not hits
    assert len(stored() - before) == len(first)


def stored():
    return {file.name for file in directory().iterdir()}


def test_the_cache_is_left_alone_where_the_user_has_chosen_another_or_none(hits, monkeypatch):
    monkeypatch.setenv("HYPERACTION_CACHE", "none")
    compile_cache.use()
    assert not jax.config.jax_compilation_cache_dir
    monkeypatch.setenv("HYPERACTION_CACHE", "of")
    with pytest.raises(ValueError, match="HYPERACTION_CACHE=of cannot be used: none switches"):
        compile_cache.use()
    monkeypatch.delenv("HYPERACTION_CACHE")
    jax.config.update("jax_compilation_cache_dir", "/tmp/mine")
    compile_cache.use()
    assert jax.config.jax_compilation_cache_dir == "/tmp/mine"


@pytest.mark.parametrize("content", [b"", b"short", bytes(100)], ids=["empty", "short", "wrong"])
def test_a_damaged_entry_is_removed_and_can_be_stored_again(tmp_path, content):
    programs = Programs(tmp_path)
    programs.put("key", b"program")
    assert programs.get("key") == b"program"
    (file,) = tmp_path.iterdir()
    file.write_bytes(content)
    assert programs.get("key") is None
    assert not file.exists()
    programs.put("key", b"program")
    assert programs.get("key") == b"program"


def test_a_folder_that_cannot_be_written_stores_nothing_and_raises_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    programs = Programs(tmp_path / "file")
    programs.put("key", b"program")
    assert programs.get("key") is None


def test_a_full_disk_leaves_no_part_of_an_entry(tmp_path):
    programs = Programs(tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, hard))
    try:
        programs.put("key", bytes(1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert programs.get("key") is None
    assert not list(tmp_path.iterdir())


def test_entries_that_were_not_used_for_longest_make_room_and_other_files_stay(tmp_path):
    (tmp_path / "mine.txt").write_text("x" * 1000)
    left_by_a_kill = tmp_path / f"1{ENTRY}.2{PART}"
    left_by_a_kill.write_bytes(bytes(50))
    os.utime(left_by_a_kill, (1, 1))
    programs = Programs(tmp_path, limit=400)
    for number, key in enumerate("abc"):
        programs.put(key, bytes(80))
        os.utime(programs._file(key), (10 + number, 10 + number))
    assert programs.get("a") is not None  # It was used just now.
    programs.put("d", bytes(80))
    assert {key for key in "abcd" if programs.get(key)} == {"a", "c", "d"}
    assert not left_by_a_kill.exists()
    assert (tmp_path / "mine.txt").exists()
    assert usage(tmp_path).bytes <= 400
    programs.put("too large", bytes(500))
    assert usage(tmp_path).entries == 3


def test_several_runs_at_once_read_whole_entries_or_none(tmp_path):
    programs, wrong = Programs(tmp_path, limit=3000), []

    def work():
        for number in range(60):
            key = str(number % 7)
            value = programs.get(key)
            if value not in (None, key.encode() * 600):
                wrong.append(value)
            programs.put(key, key.encode() * 600)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert usage(tmp_path).entries
    assert not list(tmp_path.glob(f"*{PART}"))
