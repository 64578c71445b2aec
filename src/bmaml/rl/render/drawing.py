"""A picture or an animation of a few test tasks, before adaptation above and after it below."""

from pathlib import Path
from typing import Any

from bmaml.errors import BmamlError
from bmaml.rl.envs.environment import TaskEnvironment
from bmaml.rl.envs.locomotion import Locomotion
from bmaml.rl.envs.navigation import Navigation
from bmaml.rl.render.recording import Recording, record
from bmaml.rl.render.scene import Scene
from bmaml.rl.trained import TrainedPolicies
from bmaml.writing import reporting_write_errors

PICTURES = (".png", ".svg", ".pdf")
FRAMES = 50
FRAMES_A_SECOND = 15


def require_picture_name(path: Path) -> None:
    """Refuse a name that says neither picture nor animation, before any work is done."""
    if path.is_dir():
        raise BmamlError(f"{path} is a folder: give the name of a file to draw into.")
    if path.suffix.lower() not in (*PICTURES, ".gif"):
        raise BmamlError(
            f"{path} cannot be drawn: end its name in .png, .svg or .pdf for a picture, or in .gif "
            "for an animation."
        )
    existing = next(place for place in path.absolute().parents if place.exists())
    if not existing.is_dir():
        raise BmamlError(f"{existing} is a file, so nothing can be drawn into {path}.")


def render(trained: TrainedPolicies, path: Path, *, tasks: int = 4, steps: int | None = None) -> None:
    """Draw the best particle of each of `tasks` test tasks, by what the name of the file says.

    Arguments:
        trained: meta-trained policies for navigation, cheetah or ant.
        path: a picture (.png, .svg, .pdf) or an animation (.gif).
        tasks: how many, side by side.
        steps: of adaptation; None is as trained.
    """
    import matplotlib

    matplotlib.use("Agg")
    require_picture_name(path)
    scene = scene_of(trained.environment)
    recordings = record(trained, tasks, steps=steps)
    with reporting_write_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix.lower() == ".gif":
            _animate(scene, recordings, path)
        else:
            figure, axes = _panels(scene, recordings)
            _draw(scene, recordings, axes, _longest(recordings) - 1, trail=True)
            figure.savefig(path, dpi=120, bbox_inches="tight")


def scene_of(environment: TaskEnvironment) -> Scene:
    """What draws an environment."""
    if isinstance(environment, Navigation):
        from bmaml.rl.render.navigation import NavigationScene

        return NavigationScene()
    if isinstance(environment, Locomotion):
        from bmaml.rl.render.robot import RobotScene

        return RobotScene(environment)
    raise BmamlError(
        f"There is no drawing of {type(environment).__name__}: there is one of navigation, cheetah "
        "and ant."
    )


def _longest(recordings: list[Recording]) -> int:
    return max(len(episode.states) for one in recordings for episode in (one.before, one.after))


def _panels(scene: Scene, recordings: list[Recording]) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    width = 2.6 / scene.proportion**0.5
    size = (width * len(recordings), 2 * (width * scene.proportion + 0.5))
    figure = Figure(figsize=size, layout="compressed")
    return figure, figure.subplots(2, len(recordings), squeeze=False)


def _draw(scene: Scene, recordings: list[Recording], axes: Any, time: int, *, trail: bool) -> None:
    for column, recording in enumerate(recordings):
        for axis, when in zip(axes[:, column], ("before", "after"), strict=True):
            episode = getattr(recording, when)
            axis.clear()
            scene.draw(axis, recording.task, episode, time, trail=trail)
            words = f"{when}: return {episode.total:.1f}"
            goal = scene.title(recording.task)
            axis.set_title(f"{goal}\n{words}" if when == "before" else words, fontsize=8)
            axis.tick_params(labelsize=7)


def _animate(scene: Scene, recordings: list[Recording], path: Path) -> None:
    from matplotlib.animation import FuncAnimation, PillowWriter

    figure, axes = _panels(scene, recordings)
    longest = _longest(recordings)
    count = min(FRAMES, longest)
    moments = [round(at * (longest - 1) / max(count - 1, 1)) for at in range(count)]

    def show(time: int) -> None:
        _draw(scene, recordings, axes, time, trail=False)

    # Laid out once, for the last frame: doing it for each would take most of the time.
    show(moments[-1])
    figure.draw_without_rendering()
    figure.set_layout_engine("none")

    animation = FuncAnimation(figure, show, frames=moments, init_func=lambda: None)
    animation.save(path, writer=PillowWriter(fps=FRAMES_A_SECOND), dpi=70)
