"""Several processes, on one machine or more, that train together.

Each runs the same program and holds the same particles; each computes its share of the tasks of every
meta-update. The first alone writes to the run folder and shows progress.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jaxtyping import PyTree

from bmaml.errors import BmamlError, LostProcessError

Tree = TypeVar("Tree", bound=PyTree)

# By which variables launchers tell a process how many there are, and which of them it is:
# Slurm, Open MPI, MPICH and its kin, torchrun.
LAUNCHERS = (
    ("SLURM_NTASKS", "SLURM_PROCID"),
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("PMI_SIZE", "PMI_RANK"),
    ("WORLD_SIZE", "RANK"),
)
# A process that nobody has heard of for so long is gone; so is one that never came.
HEARTBEAT_SECONDS = 60
START_SECONDS = 300
# The longest that one may be at work, compiling or playing episodes, after another is done.
EXCHANGE_SECONDS = 600
# What collective operations say when another process is gone.
LOST = ("gloo", "nccl", "connection", "coordination", "heartbeat", "unavailable", "deadline")


class Place(NamedTuple):
    """Where a process finds the others, how many there are, and which it is."""

    coordinator: str
    num_processes: int
    process_id: int


def find_place(
    coordinator: str,
    num_processes: int | None = None,
    process_id: int | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Place:
    """Fill in what was not given from the variables that launchers set.

    Arguments:
        coordinator: HOST:PORT of the first process, or "auto" to take it from
            `JAX_COORDINATOR_ADDRESS`, or `MASTER_ADDR` and `MASTER_PORT`.
        num_processes: how many there are.
        process_id: which this is, from 0.
        environment: the variables.
    """
    if coordinator == "auto":
        host, port = environment.get("MASTER_ADDR"), environment.get("MASTER_PORT")
        known = f"{host}:{port}" if host and port else None
        coordinator = environment.get("JAX_COORDINATOR_ADDRESS") or known or ""
        if not coordinator:
            raise BmamlError(
                "No launcher says where the first process is: give --coordinator HOST:PORT, or set "
                "JAX_COORDINATOR_ADDRESS."
            )
    host, _, port = coordinator.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise BmamlError(
            f"The coordinator is {coordinator!r}: give the first process's HOST:PORT, such as "
            "node1:12345."
        )
    sizes, numbers = zip(*LAUNCHERS, strict=True)
    count = _number("--num-processes", num_processes, sizes, environment)
    place = _number("--process-id", process_id, numbers, environment)
    if not 0 <= place < count:
        raise BmamlError(
            f"--process-id is {place}, but {count} processes are numbered 0 to {count - 1}: give each "
            "its own number."
        )
    return Place(coordinator, count, place)


def _number(
    option: str, given: int | None, names: tuple[str, ...], environment: Mapping[str, str]
) -> int:
    if given is not None:
        return given
    for name in names:
        if environment.get(name, "").isdigit():
            return int(environment[name])
    raise BmamlError(f"{option} is missing, and no launcher's variable, such as {names[0]}, says it.")


def join(place: Place) -> None:
    """Meet the other processes; before anything else is done with JAX."""
    # Or else the runtime ends every process without a word when one is gone.
    jax.config.update("jax_enable_recoverability", True)
    # Or else an exchange gives up after half a minute; the first program to be compiled reads this.
    patience = f"--xla_cpu_collective_timeout_seconds={EXCHANGE_SECONDS}"
    os.environ["XLA_FLAGS"] = f"{patience} {os.environ.get('XLA_FLAGS', '')}"
    try:
        jax.distributed.initialize(
            *place,
            cluster_detection_method="deactivate",
            initialization_timeout=START_SECONDS,
            heartbeat_timeout_seconds=HEARTBEAT_SECONDS,
            shutdown_timeout_seconds=HEARTBEAT_SECONDS,
        )
        met = jax.process_count()  # The devices of all are known only when all are there.
        # Connections are made by the first exchange, which is less patient: before anybody works.
        multihost_utils.sync_global_devices("bmaml: here")
        agree(0, False)
    except Exception as error:
        raise BmamlError(
            f"Process {place.process_id} did not meet the {place.num_processes - 1} others at "
            f"{place.coordinator} within {START_SECONDS} seconds: check that all were started, and "
            "that the address can be reached."
        ) from error
    assert met == place.num_processes


def leave() -> None:
    """Part from the others when all are done; the first stays until the rest are gone."""
    if jax.process_count() == 1:
        return
    with noticing_loss():
        multihost_utils.sync_global_devices("bmaml: done")
    if is_first():
        # They are parting now; whoever loses the first before that would take it for an accident.
        time.sleep(1.0)
    jax.distributed.shutdown()


def is_first() -> bool:
    """Whether this process writes and speaks for all; a process alone does."""
    return jax.process_index() == 0


def agree(end: int, interrupted: bool) -> tuple[int, bool]:
    """What the first says of how far to go, and whether anybody was interrupted."""
    if jax.process_count() == 1:
        return end, interrupted
    with noticing_loss():
        said = multihost_utils.process_allgather(np.array([end, interrupted], np.int32))
    return int(said[0, 0]), bool(np.any(said[:, 1]))


def of_first(tree: Tree) -> Tree:
    """The first's arrays, for all; every process gives a tree of the same shapes."""
    if jax.process_count() == 1:
        return tree
    with noticing_loss():
        return jax.tree.map(jnp.asarray, multihost_utils.broadcast_one_to_all(tree))


@contextmanager
def noticing_loss() -> Iterator[None]:
    """Turn the error of a collective operation that lost a process into one sentence."""
    try:
        yield
    except (ValueError, RuntimeError) as error:
        told = str(error).lower()
        if jax.process_count() == 1 or not any(word in told for word in LOST):
            raise
        raise LostProcessError from error
