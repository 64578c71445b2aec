"""The choice of a method's inner step size: on validation tasks, from one grid for every method."""

from pathlib import Path

from bmaml.errors import DivergedError
from bmaml.experiments.grid import Part, Scale
from bmaml.experiments.result_files import commit, require_same, write_record
from bmaml.train import fit


def tune(
    part: Part, scale: Scale, out: Path, progress: bool, devices: int | None = None
) -> float | None:
    """The step size with the best validation score after a short training (seed 0).

    Every try is written down before the next, so that an interruption costs one of them.
    """
    if not scale.step_sizes:
        return None
    path = out / "parts" / f"{part}-tuning.json"
    name, higher_is_better = part.recipe(None).learner().posterior.likelihood.selection
    expected = {"part": part.to_json(), "steps": scale.tuning_steps, "tried": scale.step_sizes}
    record = {**expected, f"validation_{name}": {}, "chosen": None, "seed": 0, "commit": commit()}
    if path.exists():
        record = require_same(path, **expected)
        if record["chosen"] is not None:
            return record["chosen"]
    scores = record[f"validation_{name}"]  # by step size as text, as JSON has it
    for step_size in scale.step_sizes:
        if str(step_size) in scores:
            continue
        if progress:
            print(f"{part}: trying step size {step_size}")
        scores[str(step_size)] = _try(part, scale, step_size, name, progress, devices)
        write_record(path, record)
    reached = {size: score for size, score in scores.items() if score is not None}
    if not reached:
        raise DivergedError(
            f"{part} diverged with every step size of {', '.join(map(str, scale.step_sizes))}: leave "
            "it out, or change the grid of the experiment."
        )
    best = (max if higher_is_better else min)(reached, key=lambda size: reached[size])
    write_record(path, {**record, "chosen": float(best)})
    return float(best)


def _try(
    part: Part, scale: Scale, step_size: float, name: str, progress: bool, devices: int | None
) -> float | None:
    """The validation score that a step size reaches; None if it is too large."""
    recipe = part.recipe(step_size)
    try:
        trained = fit(
            recipe.learner(),
            recipe.task_source(),
            steps=scale.tuning_steps,
            batch_size=scale.batch_size,
            seed=0,
            validate_every=scale.tuning_steps,
            progress=progress,
            devices=devices,
        )
    except DivergedError:
        return None
    return trained.history[-1]["validation"][name]
