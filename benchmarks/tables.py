"""A large table: training on 10,000 tasks of 50 rows, predicting 100,000 rows of 1,000 tasks, one task.

Every time is also given as a multiple of reading the same rows with pandas in the same run, which is
what a machine's day can be compared by.
"""

import argparse
import io
import resource
import statistics
import time

import numpy as np
import pandas

from bmaml.tables.model import TableModel
from bmaml.tables.prepare import prepare

FEATURES = 5


def make_table(tasks: int, rows: int, seed: int = 0) -> pandas.DataFrame:
    """Every task a random function of five features."""
    random = np.random.default_rng(seed)
    task = np.repeat(np.arange(tasks), rows)
    x = random.normal(size=(tasks * rows, FEATURES)).astype(np.float32)
    slope, phase = random.normal(size=(tasks, FEATURES)), random.uniform(0, 6, tasks)
    y = np.sum(slope[task] * x, axis=1) + np.sin(x[:, 0] + phase[task])
    frame = pandas.DataFrame(x, columns=[f"x{i}" for i in range(FEATURES)])
    return frame.assign(task=task, y=y + 0.1 * random.normal(size=len(y)))


def seconds(function, repeats=1):
    """The median of several runs."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=50)
    parser.add_argument("--asked-tasks", type=int, default=1_000)
    parser.add_argument("--asked-rows", type=int, default=100)
    parser.add_argument("--updates", type=int, default=300)
    settings = parser.parse_args()

    table = make_table(settings.tasks, settings.rows)
    text = table.to_csv(index=False)
    unit = seconds(lambda: pandas.read_csv(io.StringIO(text)), 3)
    found = []

    def tell(what, value):
        found.append((what, value))
        print(f"{what:58s} {value:9.4f} s {value / unit:9.3f} × reading the table", flush=True)

    tell(f"reading {len(table):,} rows with pandas", unit)
    tell(
        "prepare: split, learn the encoding, encode",
        seconds(lambda: prepare(table, task="task", target="y")),
    )
    prepared = prepare(table, task="task", target="y")
    begin = time.perf_counter()
    TableModel.fit(prepared, steps=1, progress=False)
    compile_seconds = time.perf_counter() - begin
    begin = time.perf_counter()
    model = TableModel.fit(prepared, steps=settings.updates, progress=False)
    training = time.perf_counter() - begin
    tell("compiling the training, and one update", compile_seconds)
    tell(f"{settings.updates} meta-updates, with validations", training - compile_seconds)

    asked = make_table(settings.asked_tasks, settings.asked_rows + 5, seed=1)
    place = asked.groupby("task").cumcount()
    support, query = asked[place < 5], asked[place >= 5]
    tell("first prediction of all (compiles)", seconds(lambda: model.predict(query, support)))
    many = seconds(lambda: model.predict(query, support), 3)
    tell(f"{len(query):,} rows of {settings.asked_tasks:,} tasks, 5 support rows each", many)
    one_support, one_query = support[support.task == 0], query[query.task == 0][:10]
    model.predict(one_query, one_support)
    tell(
        "one task: adapt to 5 rows, predict 10",
        seconds(lambda: model.predict(one_query, one_support), 50),
    )
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
