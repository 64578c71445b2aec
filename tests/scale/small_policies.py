"""Meta-updates of policies on one, two and four devices, in float64; run beside the tests."""

import sys

import jax
import numpy as np

from bmaml.errors import BmamlError
from bmaml.rl import Settings
from bmaml.rl.sharing import make_update
from bmaml.scale import task_mesh
from tests.helpers import as_float64
from tests.rl.small import POLICY, initial_particles, meta_batch

TASKS = 4
# One trust region for all particles, one for each, one for each while the others stand still; Adam.
KINDS = {
    "together": Settings(method="svpg-trpo"),
    "apart": Settings(method="vpg-trpo"),
    "still": Settings(method="svpg-trpo", settings="authors"),
    "chaser": Settings(method="svpg-chaser"),
}
# Each on some number of devices; every combination would only compile for longer.
SHARED = [("together", 2), ("together", 4), ("apart", 4), ("still", 2), ("chaser", 4)]


def updated(settings, devices):
    """All that a meta-update returns, as one vector."""
    method = settings.build_method()
    particles, batch = as_float64((initial_particles(2), meta_batch(TASKS, 2)))
    update = make_update(POLICY, method, TASKS, task_mesh(devices))
    result = update(particles, method.meta.init(particles), batch)
    return np.concatenate([np.ravel(leaf).astype(float) for leaf in jax.tree.leaves(result)])


def refused(tasks, devices):
    """The sentence that tasks get which cannot be shared out."""
    try:
        make_update(POLICY, Settings().build_method(), tasks, task_mesh(devices))
    except BmamlError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    np.savez(
        sys.argv[1],
        refused=refused(3, 2),
        **{
            f"{kind}-{devices}": updated(KINDS[kind], devices)
            for kind, devices in [*((kind, 1) for kind in KINDS), *SHARED]
        },
    )
