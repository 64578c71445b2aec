"""The `bmaml` command. Nothing here imports JAX: `bmaml --help` answers at once."""

import contextlib
import errno
import os
import sys
from importlib.metadata import version
from typing import Annotated, Any

import tyro

from bmaml.cli import watched
from bmaml.cli.compare import Compare
from bmaml.cli.evaluate import Evaluate
from bmaml.cli.maybe import REGISTRY
from bmaml.cli.methods import Methods
from bmaml.cli.predict import Predict
from bmaml.cli.reproduce import ReproduceCommand
from bmaml.cli.rl import ReinforcementLearning
from bmaml.cli.suggest import Suggest
from bmaml.cli.train import TrainCommand, name_the_kind
from bmaml.cli.usage import in_one_sentence
from bmaml.cli.wording import in_options
from bmaml.errors import BmamlError, Interrupted, LostProcessError

TOO_LARGE = (
    "this is more than the machine can hold: ask for fewer particles, shots, tasks or steps, a smaller "
    "batch, or use --tasks-at-once."
)

Command = (
    TrainCommand
    | Annotated[Evaluate, tyro.conf.subcommand("evaluate")]
    | Annotated[Compare, tyro.conf.subcommand("compare")]
    | Annotated[Predict, tyro.conf.subcommand("predict")]
    | Annotated[Suggest, tyro.conf.subcommand("suggest")]
    | Annotated[ReinforcementLearning, tyro.conf.subcommand("rl")]
    | ReproduceCommand
    | Annotated[Methods, tyro.conf.subcommand("methods")]
)


def main(arguments: list[str] | None = None) -> None:
    """Parse, run, and turn an error that a user can mend into one sentence and exit code 1."""
    # Closed by whoever started this (`>&-`), they are None, which printing to is an error.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    given = sys.argv[1:] if arguments is None else arguments
    command = None
    try:
        try:
            if given == ["--version"]:
                print(f"bmaml {version('bmaml')}")
                return
            if not given:
                _print_help()
                sys.exit(2)
            words = name_the_kind(given)
            command = in_one_sentence(lambda: _parse(words), given)
            command.run()
        finally:  # Here, where what goes wrong with it is told: also the help, which ends by an exit.
            sys.stdout.flush()
    except LostProcessError:
        watched.end_after_loss()
    except BmamlError as error:
        print(f"bmaml: {in_options(str(error), command)}", file=sys.stderr, flush=True)
        sys.exit(130 if isinstance(error, Interrupted) else 1)
    except BrokenPipeError:  # whoever reads the output has seen enough, such as `| head`
        _discard_output()
        sys.exit(1)
    except OSError as error:
        told = f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}."
        if error.errno == errno.ENOSPC:
            _discard_output()
            told = "the disk is full: make room for what this prints or writes."
        print(f"bmaml: {told}", file=sys.stderr)
        sys.exit(1)
    except (MemoryError, OverflowError):
        print(f"bmaml: {TOO_LARGE}", file=sys.stderr)
        sys.exit(1)
    except RuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error) and "Out of memory" not in str(error):
            raise
        print(f"bmaml: {TOO_LARGE}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("bmaml: interrupted.", file=sys.stderr)
        sys.exit(130)


def _parse(words: list[str]) -> Any:
    with REGISTRY:
        return tyro.cli(
            Command,  # type: ignore[arg-type]
            prog="bmaml",
            description="Bayesian few-shot learning: train, evaluate, compare, predict, suggest, "
            "reproduce. `bmaml --version` says which it is.",
            args=words,
        )


def _print_help() -> None:
    with contextlib.suppress(SystemExit):
        _parse(["--help"])


def _discard_output() -> None:
    """Nothing more can be written there, nor should the interpreter try as it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
