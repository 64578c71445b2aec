import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.errors import BmamlError
from bmaml.tasks import Task
from bmaml.tasks.images.episode import turn
from bmaml.tasks.task_set import TaskSet
from tests.tasks.images.made_up import MadeUp


def identities(x):
    """Class and row that the pixels of made-up images say."""
    pixels = np.rint(np.asarray(x)[..., 0] * 255).astype(int)
    return pixels[..., 0, 0], pixels[..., 0, 1]


def check_task(task, ways, shots, query_shots):
    support, query = task
    assert support.x.shape == (ways * shots, 3, 3, 1)
    assert query.x.shape == (ways * query_shots, 3, 3, 1)
    assert support.x.dtype == query.x.dtype == jnp.float32
    assert support.y.dtype == query.y.dtype == jnp.int32
    np.testing.assert_array_equal(support.y, np.repeat(np.arange(ways), shots))
    np.testing.assert_array_equal(query.y, np.repeat(np.arange(ways), query_shots))
    support_class, support_row = identities(support.x)
    query_class, query_row = identities(query.x)
    # A label is one class, and no two labels are the same class.
    names = support_class.reshape(ways, shots)[:, 0]
    assert len(set(names)) == ways
    np.testing.assert_array_equal(support_class, names[np.asarray(support.y)])
    np.testing.assert_array_equal(query_class, names[np.asarray(query.y)])
    seen = list(zip(support_class, support_row, strict=True))
    asked = list(zip(query_class, query_row, strict=True))
    assert len(set(seen + asked)) == ways * (shots + query_shots)


def draw(source, count, seed=0):
    """A batch, compiled as one, which is faster than operation by operation."""
    batch = jax.jit(lambda training_set, key: source.batch(training_set, key, count))
    return batch(source.training_set(jax.random.key(0)), jax.random.key(seed))


expand = jax.jit(lambda tasks: tasks[:])


def one_of(tasks, i):
    return jax.tree.map(lambda leaf: np.asarray(leaf)[i], tasks)


@pytest.mark.parametrize(("ways", "shots", "query_shots"), [(2, 1, 1), (5, 1, 3), (8, 5, 5)])
@pytest.mark.parametrize("uneven", [False, True])
def test_classes_are_distinct_and_support_and_query_disjoint(ways, shots, query_shots, uneven):
    source = MadeUp(
        ways=ways, shots=shots, query_shots=query_shots, classes=8, instances=10, uneven=uneven
    )
    tasks = draw(source, 50)
    for i in range(50):
        check_task(one_of(tasks, i), ways, shots, query_shots)


def test_all_images_of_a_class_are_used_even_where_classes_differ_in_size():
    source = MadeUp(classes=7, instances=3, uneven=True, ways=3)
    batch = draw(source, 800)
    classes, rows = identities(batch.support.x)
    for number in range(7):
        assert set(rows[classes == number]) == set(range(3 + number))


def test_tasks_follow_from_the_key():
    source = MadeUp()
    one, same, other = (draw(source, 4, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.query.x, same.query.x)
    assert not np.array_equal(one.query.x, other.query.x)


def test_it_works_under_jit_and_vmap_over_seeds():
    source = MadeUp(num_tasks=10, turned=True)
    keys = jax.random.split(jax.random.key(0), 3)

    @jax.jit
    def batches(keys):
        return jax.vmap(lambda key: source.batch(source.training_set(key), key, 4))(keys)

    together = batches(keys)
    for i, key in enumerate(keys):
        alone = source.batch(source.training_set(key), key, 4)
        np.testing.assert_array_equal(together.support.x[i], alone.support.x)
        np.testing.assert_array_equal(together.query.y[i], alone.query.y)


def test_images_first_loaded_while_compiling_stay_usable():
    source = MadeUp(classes=39)
    jax.jit(lambda key: source.training_set(key).images.counts)(jax.random.key(0))
    assert isinstance(source.training_set(jax.random.key(0)).images.pixels, jax.Array)
    source.batch(source.training_set(jax.random.key(0)), jax.random.key(0), 2)


def test_seeds_and_sources_share_one_array_of_images_which_is_no_constant():
    one, other = MadeUp(ways=5), MadeUp(ways=3, shots=4, num_tasks=7)
    sets = [one.training_set(jax.random.key(0)), one.training_set(jax.random.key(1))]
    sets.append(other.training_set(jax.random.key(0)))
    assert all(each.images.pixels is sets[0].images.pixels for each in sets)
    compiled = jax.make_jaxpr(lambda training_set, key: one.batch(training_set, key, 4))
    assert all(constant.size < 100 for constant in compiled(sets[0], jax.random.key(0)).consts)


def test_fixed_tasks_are_that_many_different_ones_and_no_others():
    source = MadeUp(num_tasks=300)
    training_set = source.training_set(jax.random.key(0))
    assert training_set.tasks.support.shape == (300, 5, 1)
    rows = np.concatenate([training_set.tasks.support, training_set.tasks.query], axis=2)
    assert len(np.unique(rows.reshape(300, -1), axis=0)) == 300
    fixed = {task.tobytes() for task in rows}
    batch = source.batch(training_set, jax.random.key(5), 300)
    classes, rows_in_class = identities(np.stack([batch.support.x, batch.query.x], axis=2))
    drawn = (20 * classes + rows_in_class).astype(rows.dtype)
    assert {np.ascontiguousarray(task).tobytes() for task in drawn} == fixed
    with pytest.raises(ValueError, match="meta-batch of 301"):
        source.batch(training_set, jax.random.key(5), 301)


def test_eight_hundred_thousand_tasks_take_a_few_dozen_megabytes():
    source = MadeUp(num_tasks=800_000, classes=1000, instances=20, turned=True)
    shapes = jax.eval_shape(source.training_set, jax.random.key(0))
    assert sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(shapes.tasks)) < 40e6


def test_more_tasks_than_are_drawn_at_once_all_differ():
    training_set = MadeUp(num_tasks=10_000).training_set(jax.random.key(0))
    rows = np.concatenate([training_set.tasks.support, training_set.tasks.query], axis=2)
    assert len(np.unique(rows.reshape(10_000, -1), axis=0)) == 10_000


def test_turned_classes_are_turned_and_count_as_classes():
    source = MadeUp(turned=True, ways=7, classes=2)
    batch = draw(source, 20)
    x = np.rint(np.asarray(batch.support.x) * 255).astype(int)[..., 0]
    for task in x:
        corners = {(image[0, 0], image[0, 2], image[2, 2], image[2, 0]) for image in task}
        # Class 0 says nothing by its corner, so that only the turns of class 1 can be counted.
        assert sum(any(corner) for corner in corners) >= 3
    image = jnp.arange(2 * 4 * 4 * 1, dtype=jnp.uint8).reshape(2, 4, 4, 1)
    for quarters in range(4):
        turned = turn(image, jnp.asarray(quarters, jnp.uint8))
        np.testing.assert_array_equal(turned, np.rot90(image, quarters, axes=(1, 2)))


def test_held_out_tasks_are_of_their_own_classes_and_the_same_for_all():
    source = MadeUp(validation_tasks=6, test_tasks=600, shots=2, held_out_query=15)
    tasks = source.held_out("test")
    assert isinstance(tasks, TaskSet)
    assert len(tasks) == 600
    assert len(source.held_out("validation")) == 6
    expanded = expand(tasks)
    check_task(one_of(expanded, 0), 5, 2, 15)
    classes, _ = identities(expanded.support.x)
    assert classes.min() >= 100
    again = MadeUp(validation_tasks=6, num_tasks=9, shots=2).held_out("test")
    np.testing.assert_array_equal(tasks.compact.query, again.compact.query)
    assert not np.array_equal(source.held_out("validation").compact.query, tasks.compact.query[:6])


def test_a_task_set_passes_through_jit_without_being_compiled_anew():
    source = MadeUp(validation_tasks=6)
    traces = []

    @jax.jit
    def first(tasks: TaskSet) -> Task:
        traces.append(tasks)
        return tasks[0]

    first(source.held_out("validation"))
    first(source.held_out("validation"))
    assert len(traces) == 1


def test_unknown_classes_have_the_label_minus_one_and_no_support():
    tasks = MadeUp(validation_tasks=20, held_out_query=3).held_out_with_unknown("validation")
    expanded = expand(tasks)
    for i in range(20):
        task = one_of(expanded, i)
        assert task.query.x.shape[0] == 30
        known, _ = identities(task.support.x)
        asked, _ = identities(task.query.x)
        y = np.asarray(task.query.y)
        assert np.sum(y == -1) == 15
        assert not set(asked[y == -1]) & set(known)
        np.testing.assert_array_equal(asked[y >= 0], known[y[y >= 0]])
    few = MadeUp(validation_tasks=2, classes=7).held_out_with_unknown("validation")
    assert few.compact.query.shape == (2, 7, 15)


def test_what_cannot_be_is_said():
    with pytest.raises(BmamlError, match="Tasks of 5 classes were asked of 4 training classes"):
        MadeUp(classes=4).training_set(jax.random.key(0))
    with pytest.raises(BmamlError, match="Only 0 of the 40 training classes have the 21 images"):
        MadeUp(shots=20).training_set(jax.random.key(0))
    with pytest.raises(BmamlError, match="Only 28 of the 40 test classes have the 22 images"):
        MadeUp(shots=7, uneven=True).held_out("test")
    with pytest.raises(BmamlError, match="Tasks of 6 classes"):
        MadeUp(classes=5).held_out_with_unknown("test")
    for wrong in ({"ways": 1}, {"shots": 0}, {"num_tasks": 0}, {"test_tasks": 0}):
        with pytest.raises(ValueError, match="at least"):
            MadeUp(**wrong)
