"""Every test runs under strict settings; shapes in signatures are checked at run time."""

import jax
from jaxtyping import install_import_hook

install_import_hook("bmaml", "beartype.beartype")

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")
