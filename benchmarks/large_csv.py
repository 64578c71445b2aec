"""Training on a CSV file of gigabytes: does it work, in how much memory, beside pandas reading it all.

The file has ten columns, of which two features, the task and the target are used.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas

ROWS = 200_000

MEASURED = """
import resource, runpy, sys
try:
    {work}
finally:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory {{peak:.2f}} GiB", flush=True)
"""
TRAIN = "from bmaml.cli.main import main; main(sys.argv[1:])"
PANDAS = "import pandas; print(len(pandas.read_csv(sys.argv[1])), 'rows')"


def write(path: Path, size: float) -> None:
    """Blocks of other tasks each, until there are `size` bytes."""
    random, number = np.random.default_rng(0), 0
    with open(path, "w") as file:
        while file.tell() < size:
            frame = pandas.DataFrame(random.normal(size=(ROWS, 8)).round(6), columns=list("abcdefgh"))
            frame["task"] = number + random.integers(0, 1000, ROWS)
            frame["y"] = (frame.a * np.sin(frame.task) + 0.1 * frame.b).round(6)
            frame.to_csv(file, index=False, header=number == 0)
            number += 1000


def run(name: str, work: str, *arguments: str) -> None:
    begin = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", MEASURED.format(work=work), *arguments], capture_output=True, text=True
    )
    seconds, told = time.perf_counter() - begin, done.stdout.splitlines()[-2:]
    print(f"{name}: exit {done.returncode}, {seconds:.0f} s, {'; '.join(told)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gigabytes", type=float, default=2.0)
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.csv"
        write(path, settings.gigabytes * 1e9)
        print(f"{os.path.getsize(path) / 1e9:.2f} GB of CSV", flush=True)
        options = ["--task", "task", "--target", "y", "--features", "a", "b", "--steps", "1", "--quiet"]
        run("bmaml train", TRAIN, "train", str(path), *options, "--out", f"{folder}/run")
        run("pandas.read_csv of all columns", PANDAS, str(path))


if __name__ == "__main__":
    main()
