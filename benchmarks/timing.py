"""Interleaved timing: the best of many short rounds, every contestant in every round."""

import time
from collections.abc import Callable


def best_seconds(contestants: dict[str, Callable[[], object]], rounds: int = 30) -> dict[str, float]:
    for run in contestants.values():
        run()
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(rounds):
        for name, run in contestants.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best
