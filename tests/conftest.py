"""Every test runs under strict settings; shapes in signatures are checked at run time."""

import atexit
import os
import shutil
import tempfile
from importlib.metadata import version

# One compilation cache for all workers and subprocesses of a test run: most of the time goes into
# compiling the same small programs. Before JAX is imported, so that every process sees it.
if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
    os.environ["JAX_COMPILATION_CACHE_DIR"] = tempfile.mkdtemp(prefix="bmaml-test-cache-")
    atexit.register(shutil.rmtree, os.environ["JAX_COMPILATION_CACHE_DIR"], ignore_errors=True)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

# Compiling costs far more than running programs this small; results are the same up to rounding.
os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "1")
# XLA's older way to compile loops takes a third less time than its new one. A flag that XLA does not
# know ends the process, so only where it is known to be there.
if version("jaxlib").startswith("0.10."):
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = f"{flags} --xla_cpu_use_fusion_emitters=false".strip()

import jax
from jaxtyping import install_import_hook

install_import_hook("bmaml", "beartype.beartype")

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")
