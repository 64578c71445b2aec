"""What all sources of image episodes share."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from typing import Any, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Key

from bmaml.errors import BmamlError
from bmaml.tasks.distinct import distinct
from bmaml.tasks.images.cache import ImageTable
from bmaml.tasks.images.episode import EpisodeIndex, ImageClasses, draw_episodes, make_task
from bmaml.tasks.images.image_file import ImageForm
from bmaml.tasks.images.looks import Ranges, ranges_of
from bmaml.tasks.images.skipped import warn_of_small_classes
from bmaml.tasks.source import Rows, Split, TaskSource, require_split, require_task_count
from bmaml.tasks.task import Task
from bmaml.tasks.task_set import TaskSet

Part = Literal["train", "validation", "test"]

# What held-out tasks depend on, beside the images: a key for each split and kind of task.
HELD_OUT_KEYS = {"validation": 1, "test": 2}
UNKNOWN_KEYS = {"validation": 3, "test": 4}
# Tasks drawn at a time: 800,000 at once would need gigabytes of random bits on their way.
DRAWN_AT_ONCE = 4096
EPISODE_OPTIONS = ("ways", "shots", "query_shots", "unknown_ways", "rotations")


class EpisodeSet(NamedTuple):
    """What stays fixed during one meta-training: the images, and |T| tasks unless they never end."""

    images: ImageClasses
    tasks: EpisodeIndex | None


@dataclass(frozen=True, kw_only=True)
class ImageEpisodes(TaskSource):
    """N = `ways`, K = `shots` classification of classes that training has not seen.

    A training task has `query_shots` query images of each class, a held-out one `held_out_query`;
    no image is in both support and query. `num_tasks` tasks are drawn once, as row numbers into
    the images; None draws fresh tasks without end. Pixels are in [0, 1], an image is
    height × width × channels, and rows of a task are sorted by class.

    The images themselves are loaded at the first use and kept on the device, once for all sources
    that differ only in their episodes. They travel in the training set and in held-out task sets:
    pass these to compiled functions as arguments, and call `training_set` outside of them, lest the
    images become constants of the program.
    """

    # Or else a class with too few images for a task is an error, as in a published data set.
    leaves_out_small_classes: ClassVar[bool] = False

    ways: int = 5
    shots: int = 1
    query_shots: int = 1
    num_tasks: int | None = None
    validation_tasks: int = 200
    test_tasks: int = 600
    held_out_query: int = 15

    def __post_init__(self) -> None:
        if self.ways < 2:
            raise ValueError(f"ways is {self.ways}; telling classes apart takes at least 2.")
        if min(self.shots, self.query_shots, self.held_out_query) < 1:
            raise ValueError("A task needs at least one support and one query image of each class.")
        require_task_count(self.num_tasks)
        if min(self.validation_tasks, self.test_tasks) < 1:
            raise ValueError("validation_tasks and test_tasks must be at least 1.")

    @classmethod
    def rows(cls, options: Mapping[str, Any]) -> Rows:
        """Images, and a label of each."""
        return Rows("images", "labels", options.get("ways", cls.ways))

    @abstractmethod
    def read(self, part: Part) -> ImageTable:
        """The images of one part, whose classes are in no other part."""

    @property
    def form(self) -> ImageForm:
        """What its images look like, and so what a picture from elsewhere must be made into."""
        raise BmamlError(
            f"{type(self).__name__} does not say what its images look like: give it a property `form`."
        )

    def ranges(self) -> Ranges:
        """How bright, rich in contrast, detailed and colourful its training images are."""
        return ranges_of(self._table("train").pixels)

    def rotates(self, part: Part) -> bool:
        """Whether classes turned by 90°, 180° and 270° are classes as well."""
        return False

    def training_set(self, key: Key[Array, ""]) -> EpisodeSet:
        """The images, the same array for every key, and the fixed tasks if there are any."""
        images = self._images("train", self.ways, self.shots + self.query_shots)
        if self.num_tasks is None:
            return EpisodeSet(images, None)
        return EpisodeSet(images, self._draw(images, key, self.num_tasks, "train", self.query_shots))

    def batch(self, training_set: EpisodeSet, key: Key[Array, ""], count: int) -> Task:
        """`count` different ones of the fixed tasks, or fresh tasks."""
        images, tasks = training_set
        if tasks is None:
            chosen = self._draw(images, key, count, "train", self.query_shots)
        else:
            available = tasks.support.shape[0]
            if count > available:
                raise ValueError(
                    f"A meta-batch of {count} tasks was asked of a set of {available}: lower the "
                    "batch size or raise num_tasks."
                )
            rows = distinct(jax.random.bits(key, (count,), jnp.uint32), available)
            chosen = jax.tree.map(lambda leaf: leaf[rows], tasks)
        return jax.vmap(make_task, (None, 0))(images, chosen)

    def held_out(self, split: Split) -> TaskSet:
        """Tasks of classes that training never sees, the same ones whatever the training seed."""
        require_split(split)
        return self._held_out(split, HELD_OUT_KEYS[split], 0)

    def with_test_tasks(self, count: int) -> "ImageEpisodes":
        """The same with so many test tasks."""
        return replace(self, test_tasks=count)

    def held_out_with_unknown(self, split: Split) -> TaskSet:
        """Held-out tasks that ask about unknown classes, too: these query rows have the label −1.

        There are as many unknown as known classes, or as many as the split still has.
        """
        require_split(split)
        usable = self._usable(split, self.shots + self._held_out_query(split))
        available = int(np.sum(usable)) * (4 if self.rotates(split) else 1)
        unknown_ways = max(1, min(self.ways, available - self.ways))
        return self._held_out(split, UNKNOWN_KEYS[split], unknown_ways)

    def _held_out(self, split: Split, fold: int, unknown_ways: int) -> TaskSet:
        query_shots = self._held_out_query(split)
        images = self._images(split, self.ways + unknown_ways, self.shots + query_shots)
        key = jax.random.fold_in(jax.random.key(20180611), fold)
        count = self.validation_tasks if split == "validation" else self.test_tasks
        tasks = self._draw(images, key, count, split, query_shots, unknown_ways)
        return TaskSet(tasks, images, make_task)

    def _held_out_query(self, split: Split) -> int:
        return self.held_out_query

    def _draw(
        self,
        images: ImageClasses,
        key: Key[Array, ""],
        count: int,
        part: Part,
        query_shots: int,
        unknown_ways: int = 0,
    ) -> EpisodeIndex:
        return _draw_many(
            images,
            key,
            count=count,
            ways=self.ways,
            shots=self.shots,
            query_shots=query_shots,
            unknown_ways=unknown_ways,
            rotations=self.rotates(part),
        )

    def _images(self, part: Part, ways: int, instances: int) -> ImageClasses:
        """The images of a part on the device, if they suffice for such tasks."""
        table, usable = self._table(part), self._usable(part, instances)
        name = {"train": "training"}.get(part, part)
        available = int(np.sum(usable)) * (4 if self.rotates(part) else 1)
        if available < ways:
            enough, mend = "", "lower `ways`, or provide more classes"
            if not usable.all():
                enough = f" with at least {instances} images"
                mend = "lower `ways`, `shots` or `query_shots`, or provide more images"
            raise BmamlError(
                f"Tasks of {ways} classes were asked of {available} {name} classes{enough}: {mend}."
            )
        too_few = table.counts < instances
        if np.any(too_few & usable):
            raise BmamlError(
                f"Only {np.sum(~too_few)} of the {len(usable)} {name} classes have the {instances} "
                "images that a task takes for support and query: lower `shots`, `query_shots` or "
                "`held_out_query`, or provide more images."
            )
        images = _on_device(self._without_episodes(), part)
        if usable.all():
            return images
        warn_of_small_classes(table.names, usable, name, instances)
        chosen = np.flatnonzero(usable)
        with jax.ensure_compile_time_eval():
            return images._replace(offsets=images.offsets[chosen], counts=images.counts[chosen])

    def _usable(self, part: Part, instances: int) -> Bool[np.ndarray, " classes"]:
        """Which classes tasks are drawn from: all, unless too small ones are to be left out."""
        counts = self._table(part).counts
        return counts >= (instances if self.leaves_out_small_classes else 0)

    def _table(self, part: Part) -> ImageTable:
        return _read(self._without_episodes(), part)

    def _without_episodes(self) -> "ImageEpisodes":
        """The source with default episodes: what the images depend on."""
        episodes = {field.name: field.default for field in fields(ImageEpisodes)}
        return replace(self, **episodes)


@partial(jax.jit, static_argnames=("count", *EPISODE_OPTIONS))
def _draw_many(
    images: ImageClasses, key: Key[Array, ""], *, count: int, **options: Any
) -> EpisodeIndex:
    if count <= DRAWN_AT_ONCE:
        return draw_episodes(images, key, count, **options)
    keys = jax.random.split(key, -(-count // DRAWN_AT_ONCE))
    tasks = jax.lax.map(lambda key: draw_episodes(images, key, DRAWN_AT_ONCE, **options), keys)
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:])[:count], tasks)


@lru_cache(maxsize=32)
def _read(source: ImageEpisodes, part: Part) -> ImageTable:
    return source.read(part)


@lru_cache(maxsize=32)
def _on_device(source: ImageEpisodes, part: Part) -> ImageClasses:
    table = _read(source, part)
    offsets = np.cumsum(table.counts) - table.counts
    # Even if a caller is being compiled, these are arrays to keep.
    with jax.ensure_compile_time_eval():
        return ImageClasses(
            jnp.asarray(table.pixels),
            jnp.asarray(offsets, jnp.int32),
            jnp.asarray(table.counts, jnp.int32),
        )
