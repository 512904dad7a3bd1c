"""Libraries of kernels that were built for another version of JAX."""

import shutil
import subprocess
import sys
from pathlib import Path

import jaxlib
import pytest

SOURCE = """
#include "xla/ffi/api/c_api.h"

extern "C" XLA_FFI_Error* hyperaction_adam(XLA_FFI_CallFrame* frame) {
  for (auto* each = frame->extension_start; each; each = each->next)
    if (each->type == XLA_FFI_Extension_Metadata)
      ((XLA_FFI_Metadata_Extension*)each)->metadata->api_version.major_version = 99;
  return nullptr;
}
"""

CODE = """
import sys
from pathlib import Path
from hyperaction.kernels import library

assert not library.load(Path(sys.argv[1]), "later", ("adam",))
print(library.REFUSED["_later.so"])
import jax
assert jax.numpy.ones(2).sum() == 2
"""


@pytest.mark.skipif(shutil.which("c++") is None, reason="there is no compiler")
def test_a_library_for_another_interface_is_refused_in_one_line_and_jax_works(tmp_path):
    (tmp_path / "later.cc").write_text(SOURCE)
    include = Path(jaxlib.__file__).parent / "include"
    build = ["c++", "-std=c++17", "-shared", "-fPIC", f"-I{include}", "-o", "_later.so", "later.cc"]
    subprocess.run(build, cwd=tmp_path, check=True)
    # In a process of its own: JAX has not started there.
    command = [sys.executable, "-c", CODE, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "API version (99." in done.stdout
    assert done.stdout.count("\n") == 1
