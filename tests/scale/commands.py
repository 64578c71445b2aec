"""The command in processes of its own, alone or two together."""

import os
import socket
import subprocess
import sys
import time

SINUSOID = ("train", "sinusoid", "--particles=2", "--batch-size=4", "--validate-every=10")
# A process that hears nothing from another gives up within this time, and these tests some time later.
PATIENCE = 600


def start(command, folder, *options, **variables):
    """`bmaml COMMAND --out FOLDER OPTIONS` with some more environment variables."""
    # JAX sets this one in a process that imports it, such as this.
    environment = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    return subprocess.Popen(
        [sys.executable, "-m", "bmaml.cli.main", *command, "--quiet", f"--out={folder}", *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment | variables,
    )


def start_pair(command, folder, *options, **variables):
    """The same in two processes that train together; the second is told a folder of its own."""
    with socket.socket() as unused:
        unused.bind(("localhost", 0))
        port = unused.getsockname()[1]
    together = ("--coordinator", f"localhost:{port}", "--num-processes", "2")
    return [
        start(command, told, *options, *together, f"--process-id={number}", **variables)
        for number, told in enumerate((folder, folder_of_second(folder)))
    ]


def folder_of_second(folder):
    """Where the second process would write, if it did."""
    return folder.with_name(f"{folder.name}-second")


def finish(process):
    """Its exit code, and what it said."""
    try:
        out, errors = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    return process.returncode, out, errors


def checkpoints(folder):
    """The steps of all that are there, 0 first."""
    found = [path.name for path in folder.glob("checkpoints/*")]
    return [0, *sorted(int(name) for name in found if name.isdigit())]


def wait_for_checkpoint(folder, process, after=0):
    """Until there is one of a later step."""
    deadline = time.monotonic() + PATIENCE
    while checkpoints(folder)[-1] <= after:
        assert time.monotonic() < deadline
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)


def survivor_of(pair, folder, victim):
    """What is left to say to the other of a pair when one is killed: its exit code and sentences."""
    try:
        wait_for_checkpoint(folder, pair[1 - victim])
    finally:
        pair[victim].kill()
        (code, _, errors), _ = finish(pair[1 - victim]), finish(pair[victim])
    # Gloo, which carries the exchange, says that it is connected.
    return code, [line for line in errors.splitlines() if not line.startswith("[Gloo]")]


def goes_on(command, folder, *options, **variables):
    """Resume with one process; fails unless there is a later checkpoint."""
    before = checkpoints(folder)[-1]
    alone = start(command, folder, "--resume", *options, **variables)
    try:
        wait_for_checkpoint(folder, alone, after=before)
    finally:
        alone.kill()
        finish(alone)
