import atexit
import gc
import os
import shutil
import signal
import sys
import tempfile
from importlib.metadata import version

from hypothesis import settings
from packaging.version import Version

from tests.examples import EXAMPLES

# Compiling is slow and its time uneven; the same examples every time, so that failures repeat.
settings.register_profile("hyperaction", deadline=None, derandomize=True, max_examples=EXAMPLES)
settings.load_profile("hyperaction")

# Bytecode is kept, or every command that tests start would compile the whole package again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Tracing makes many small objects that live on: looking through all of them often is a waste.
gc.set_threshold(100_000, 20, 50)

# Programs do not say which lines of Python they are from, which only errors inside XLA would show.
os.environ["JAX_TRACEBACK_IN_LOCATIONS_LIMIT"] = "0"

# The same program is compiled once for all tests and the commands that they start.
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    folder = tempfile.mkdtemp(prefix="hyperaction-tests-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = folder
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0.05"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"

# One thread as in a run, so that those made by tests compare equal with those of commands; and what
# compiles fastest, as tests run a program a few times only.
FLAGS = [
    "--xla_cpu_multi_thread_eigen=false",
    "--xla_backend_optimization_level=0",
    "--xla_cpu_parallel_codegen_split_count=1",
]
if Version(version("jaxlib")) < Version("0.11"):  # Later versions know no other code generator.
    FLAGS.append("--xla_cpu_use_fusion_emitters=false")
os.environ["XLA_FLAGS"] = " ".join(FLAGS)
os.environ["PJRT_NPROC"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # Its threads wait for each other in busy loops.
os.environ["OMP_NUM_THREADS"] = "1"  # So do PyTorch's.


# Commands that tests start hear signals as from a terminal, also where the tests run under nohup.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


# Workers take whole files in this order; with the longest first, they end at about the same time.
LONGEST = [
    "test_ray", "test_sweeps", "test_bandits", "test_resume", "test_atari",
    "test_bench", "test_newcomer", "test_suites", "test_docs",
]  # fmt: skip


def pytest_collection_modifyitems(items):
    """The longest files come first."""
    first = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: first.get(item.path.stem, len(LONGEST)))
