"""Where a training runs: on how many devices, alone or together with other processes."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bmaml.cli.maybe import Maybe


@dataclass(frozen=True)
class Where:
    """Options for more than one device, process or machine."""

    devices: Maybe[int] = None
    """devices that share the tasks of a meta-update; a processor is divided into as many (default: 1,
    for images one for each core)"""
    coordinator: Maybe[str] = None
    """HOST:PORT of the first of several processes that train together, the same for all; auto takes
    it from a launcher's variables"""
    num_processes: Maybe[int] = None
    """how many processes (default: what Slurm, MPI or torchrun say)"""
    process_id: Maybe[int] = None
    """which of them this is, from 0 (default: what Slurm, MPI or torchrun say)"""

    @contextmanager
    def together(self) -> Iterator[bool]:
        """Meet the other processes and part from them in the end; whether this one speaks for all."""
        if self.devices is not None and self.devices < 1:
            from bmaml.errors import BmamlError

            raise BmamlError("--devices must be at least 1.")
        if self.coordinator is None:
            self._refuse_halves()
            self._divide_processor()
            yield True
            return
        # The runtime's own remarks are no news for a user; its errors still are.
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        from bmaml.cli import watched
        from bmaml.errors import DivergedError, Interrupted
        from bmaml.scale import processes

        place = processes.find_place(self.coordinator, self.num_processes, self.process_id)
        if place.process_id > 0 and not watched.is_watched():
            sys.exit(watched.run())
        self._divide_processor()
        processes.join(place)
        try:
            yield processes.is_first()
        except (Interrupted, DivergedError):  # in all processes at the same step
            processes.leave()
            raise
        processes.leave()

    def _divide_processor(self) -> None:
        if self.devices is not None:
            import jax

            jax.config.update("jax_num_cpu_devices", self.devices)

    def _refuse_halves(self) -> None:
        if self.num_processes is not None or self.process_id is not None:
            from bmaml.errors import BmamlError

            raise BmamlError(
                "--num-processes and --process-id need --coordinator HOST:PORT, where the first "
                "process is."
            )
