"""Image files to arrays, in parallel and with a progress bar."""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TypeVar

import numpy as np

from bmaml.tasks.images.cache import Block

Item = TypeVar("Item")
Result = TypeVar("Result")
# Small enough for a bar that moves, large enough that handing them out costs nothing.
FILES_AT_ONCE = 100


def decode_classes(
    name: str,
    files: Mapping[str, Sequence[Path]],
    decode: Callable[[Path], np.ndarray | None],
) -> Iterator[Block]:
    """The images of every class; `decode` may return None for a file to be left out.

    Threads, because Pillow lets others run while it decodes, and because processes would import
    the user's script anew.
    """
    jobs = [
        (label, paths[start : start + FILES_AT_ONCE])
        for label, paths in files.items()
        for start in range(0, len(paths), FILES_AT_ONCE)
    ]

    def run(job: tuple[str, Sequence[Path]]) -> Block:
        label, paths = job
        images = [image for image in map(decode, paths) if image is not None]
        return label, np.stack(images) if images else np.zeros((0, 0, 0, 0), np.uint8)

    total = sum(map(len, files.values()))
    with show_progress(f"Preparing {name}", total) as advance:
        for (_, paths), block in zip(jobs, in_parallel(run, jobs), strict=True):
            advance(len(paths))
            if len(block[1]):
                yield block


def in_parallel(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Results in order; only a few wait to be taken, so that memory stays small."""
    workers = min(8, os.cpu_count() or 1)
    waiting: deque[Future[Result]] = deque()
    remaining = iter(items)
    pool = ThreadPoolExecutor(workers)
    try:
        waiting.extend(pool.submit(function, item) for item in islice(remaining, 3 * workers))
        while waiting:
            yield waiting.popleft().result()
            waiting.extend(pool.submit(function, item) for item in islice(remaining, 1))
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def show_progress(what: str, total: int, ending: str = ", once") -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, elsewhere a line; called with the number of images done since."""
    if not sys.stderr.isatty():
        print(f"{what}: {total} images{ending}.", file=sys.stderr, flush=True)
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count: bar.advance(task, count)
