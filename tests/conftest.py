import atexit
import os
import shutil
import tempfile

from hypothesis import settings

# Compiling is slow and its time uneven; the same examples every time, so that failures repeat.
settings.register_profile("hyperaction", deadline=None, derandomize=True, max_examples=25)
settings.load_profile("hyperaction")

# The same program is compiled once for all tests and the commands that they start.
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    cache = tempfile.mkdtemp(prefix="hyperaction-tests-")
    atexit.register(shutil.rmtree, cache, ignore_errors=True)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = cache
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.05"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"

# As in a run, so that those made by tests compare equal with those of commands.
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false --xla_backend_optimization_level=1"
