"""Tasks that are groups of rows of a table, of any number of rows from two on."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Key, Shaped

from bmaml.tables.dealt import DealtTasks, prepare_again
from bmaml.tables.encoding import Encoding
from bmaml.tables.prepare import Prepared, TaskRows
from bmaml.tables.read import read_table
from bmaml.tasks.distinct import distinct
from bmaml.tasks.source import Rows, Split, TaskSource, require_split
from bmaml.tasks.task import Data, Task
from bmaml.tasks.task_set import TaskSet

# Of a task with more rows than this, an episode draws from a stretch of as many, beginning anywhere.
WINDOW = 512
MOST_SHOTS = 10
# So many episodes judge a checkpoint; few tasks are asked several times with other rows.
HELD_OUT_EPISODES = 300
HELD_OUT_KEYS = {"validation": 1, "test": 2}


class RaggedRows(NamedTuple):
    """The rows of many tasks, one task after the other, each in a random order."""

    x: Shaped[Array, "rows features"]
    y: Shaped[Array, "rows ..."]
    starts: Int[Array, " tasks"]
    counts: Int[Array, " tasks"]


class EpisodeNumbers(NamedTuple):
    """What tells one episode from another: its task, its support rows, and its luck."""

    task: Int[Array, "..."]
    support_rows: Int[Array, "..."]
    key: Key[Array, "..."]


@dataclass(frozen=True)
class Episodes:
    """Draws an episode; hashable, so that compiled code is found again.

    A task's rows are put in a random order. The first ones are the query, as many as are left when
    `support` rows, or all but one, are set aside; of those that follow, the first `support_rows` are
    the support. So the query is the same however many rows of support there are.
    """

    support: int
    query: int
    window: int

    def __call__(self, rows: RaggedRows, numbers: EpisodeNumbers) -> Task:
        """The episode, filled up with masked rows."""
        start, count = rows.starts[numbers.task], rows.counts[numbers.task]
        offset_key, order_key = jax.random.split(numbers.key)
        offset = jax.random.randint(offset_key, (), 0, count)
        place = jnp.arange(self.window)
        luck = jnp.where(place < count, jax.random.uniform(order_key, (self.window,)), jnp.inf)
        order = start + (offset + jnp.argsort(luck)) % count
        query_rows = jnp.clip(count - jnp.minimum(self.support, count - 1), 1, self.query)
        query = self._take(rows, order, jnp.zeros_like(count), self.query, query_rows)
        support_rows = jnp.minimum(numbers.support_rows, jnp.minimum(self.support, count - 1))
        return Task(self._take(rows, order, query_rows, self.support, support_rows), query)

    def _take(self, rows: RaggedRows, order: Array, first: Array, size: int, counted: Array) -> Data:
        """`size` places of the order from `first` on, of which `counted` count."""
        place = jnp.arange(size)
        mask: Bool[Array, " size"] = place < counted
        chosen = order[jnp.where(mask, first + place, 0)]
        return Data(rows.x[chosen], rows.y[chosen], mask)


@dataclass(frozen=True)
class TableTasks(TaskSource):
    """Groups of rows of a table as tasks; see `tables.prepare` for how a table becomes one.

    A training episode has a random number of support rows, from none to `shots`, so that what is
    trained serves any number up to there, and up to `query_rows` others as its query.

    Arguments:
        prepared: the rows of each part.
        shots: the most support rows; None is half of a typical task, at most 10.
        query_rows: the most query rows of a training episode; None is twice `shots`, at least 10.
    """

    prepared: Prepared
    shots: int | None = None
    query_rows: int | None = None

    def __post_init__(self) -> None:
        if self.shots is not None and self.shots < 1:
            raise ValueError(f"shots is {self.shots}; a task needs at least one support row.")
        if self.query_rows is not None and self.query_rows < 1:
            raise ValueError(f"query_rows is {self.query_rows}; a task needs at least one.")

    @classmethod
    def from_options(cls, options: Mapping[str, Any], *, new_to_test: bool = False) -> "TableTasks":
        """The tasks of a run, from its table and the encoding that it was trained with.

        Arguments:
            options: of the run.
            new_to_test: whether tasks that have come to the table since training are test tasks.
        """
        options = dict(options)
        path, encoding = options.pop("path"), Encoding.from_json(options.pop("encoding"))
        shots, dealt = options.pop("shots"), options.pop("dealt", None)
        if path is None:
            raise ValueError(
                "This run was trained on a table in memory: say where its data are, with --data FILE."
            )
        prepared = prepare_again(
            read_table(path, text=encoding.text_columns, literal=encoding.literal_columns),
            encoding,
            None if dealt is None else DealtTasks.from_json(dealt),
            options,
            where=path,
            new_to_test=new_to_test,
        )
        return cls(prepared, shots)

    @classmethod
    def rows(cls, options: Mapping[str, Any]) -> Rows:
        """Numbers, and what the encoding says of the target."""
        encoding = Encoding.from_json(options["encoding"])
        return Rows("numbers", encoding.kind, encoding.outputs)

    @cached_property
    def most_support(self) -> int:
        """`shots`, or the number that suits the training tasks."""
        if self.shots is not None:
            return self.shots
        typical = int(np.median(self.prepared.parts["train"].counts))
        return max(1, min(MOST_SHOTS, typical // 2))

    @cached_property
    def most_query(self) -> int:
        """`query_rows`, or the number that suits the support."""
        return self.query_rows or max(2 * self.most_support, MOST_SHOTS)

    def training_set(self, key: Key[Array, ""]) -> RaggedRows:
        """The rows of the training tasks."""
        return ragged(self.prepared.parts["train"])

    def batch(self, training_set: RaggedRows, key: Key[Array, ""], count: int) -> Task:
        """Episodes of `count` different training tasks."""
        available = training_set.counts.shape[0]
        if count > available:
            raise ValueError(
                f"A meta-batch of {count} tasks was asked of a table with {available} training tasks: "
                "lower the batch size or provide more tasks."
            )
        task_key, rows_key, key = jax.random.split(key, 3)
        task = distinct(jax.random.bits(task_key, (count,), jnp.uint32), available)
        most = jnp.minimum(self.most_support, training_set.counts[task] - 1)
        support_rows = jax.random.randint(rows_key, (count,), 0, most + 1)
        numbers = EpisodeNumbers(task, support_rows, jax.random.split(key, count))
        return jax.vmap(self._episodes("train", self.most_query), (None, 0))(training_set, numbers)

    def held_out(self, split: Split) -> TaskSet:
        """Episodes with random numbers of support rows, as in training."""
        require_split(split)
        rows = self._rows(split)
        repeats = math.ceil(HELD_OUT_EPISODES / len(rows.counts))
        numbers = _numbers(rows, np.arange(len(rows.counts)), 0, repeats, HELD_OUT_KEYS[split])
        luck = np.random.default_rng(HELD_OUT_KEYS[split]).random(numbers.task.shape)
        most = np.minimum(self.most_support, rows.counts[np.asarray(numbers.task)] - 1)
        support_rows = jnp.asarray((luck * (most + 1)).astype(np.int32))
        numbers = numbers._replace(support_rows=support_rows)
        return TaskSet(numbers, ragged(rows), self._episodes(split, WINDOW))

    def episodes(
        self, split: Split, support_rows: int, *, repeats: int = 1, seed: int = 0
    ) -> tuple[TaskSet, Int[np.ndarray, " episodes"]]:
        """Episodes with exactly `support_rows` support rows, of the tasks that have so many to spare.

        A task's query rows (in each of the `repeats`) are the same whatever `support_rows` is.

        Returns:
            The episodes, and the number of the task that each is of.
        """
        if not 0 <= support_rows <= self.most_support:
            raise ValueError(
                f"support_rows is {support_rows}; this run was trained for 0 to {self.most_support}."
            )
        rows = self._rows(split)
        tasks = np.flatnonzero(rows.counts > support_rows)
        numbers = _numbers(rows, tasks, support_rows, repeats, HELD_OUT_KEYS[split] + 2 + seed)
        made = TaskSet(numbers, ragged(rows), self._episodes(split, WINDOW))
        return made, np.asarray(numbers.task)

    def _rows(self, split: Split) -> TaskRows:
        rows = self.prepared.parts[split]
        if len(rows.counts) == 0:
            raise ValueError(f"No tasks were kept for {split}: train with a {split} share above 0.")
        return rows

    def _episodes(self, part: Any, most_query: int) -> Episodes:
        largest = int(self.prepared.parts[part].counts.max())
        query = max(1, min(most_query, largest - 1))
        window = max(min(largest, WINDOW), self.most_support + query)
        return Episodes(self.most_support, query, window)


def ragged(rows: TaskRows) -> RaggedRows:
    """On the device; the rows of each task in an order that means nothing.

    Tables are often sorted, by time for example; a stretch of a large task would otherwise be one
    season of it.
    """
    tasks = np.repeat(np.arange(len(rows.counts)), rows.counts)
    luck = np.random.default_rng(0).random(len(tasks))
    order = np.lexsort((luck, tasks))
    starts = np.concatenate([[0], np.cumsum(rows.counts)[:-1]])
    return RaggedRows(
        jnp.asarray(rows.x[order]),
        jnp.asarray(rows.y[order]),
        jnp.asarray(starts, jnp.int32),
        jnp.asarray(rows.counts, jnp.int32),
    )


def _numbers(
    rows: TaskRows, tasks: np.ndarray, support_rows: int, repeats: int, seed: int
) -> EpisodeNumbers:
    """Every repeat of every task; the luck of one depends on nothing but the task, repeat and seed."""
    every = len(rows.counts)
    keys = jax.random.split(jax.random.key(seed), every * repeats)
    place = (np.arange(repeats)[:, None] * every + tasks[None]).reshape(-1)
    task = jnp.asarray(np.tile(tasks, repeats), jnp.int32)
    return EpisodeNumbers(task, jnp.full(task.shape, support_rows, jnp.int32), keys[place])
