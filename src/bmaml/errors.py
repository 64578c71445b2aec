"""What can go wrong outside the mathematics, each told in a sentence for the user."""


class BmamlError(Exception):
    """A sentence that says what happened and what to do; the command line prints it and exits."""


class RunError(BmamlError):
    """A run folder cannot be written, read or continued."""


class DivergedError(BmamlError):
    """Training met a loss or a gradient that is not finite."""


class SimulationError(BmamlError):
    """An environment cannot go on, or a policy's actions cannot be played in it."""


class Interrupted(BmamlError):  # noqa: N818 - not a failure: the run is saved and can go on.
    """Ctrl-C stopped a training whose state is saved."""


LOST_PROCESS = (
    "Another process of this training is gone, and this one cannot go on without it: start all of them "
    "again with --resume, in any number; complete checkpoints are intact."
)


class LostProcessError(BmamlError):
    """Another process of this training is gone; the runtime may abort this one at any moment."""

    def __init__(self) -> None:
        super().__init__(LOST_PROCESS)


class OutsideTrainingWarning(UserWarning):
    """Rows to adapt to or to predict lie far outside what training tasks covered."""
