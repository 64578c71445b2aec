"""Baselines: each does on its own kind of data what it is there for, and none sees a query target."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bmaml
from bmaml.metrics import score
from bmaml.tables.baselines import BASELINES, network
from bmaml.tables.baselines.offset import variances
from bmaml.tables.grouping import TaskRows
from bmaml.tasks import Data, Task

WIDTH, CLASSES, SUPPORT, QUERY = 2, 3, 6, 7
EVERY = [(kind, name) for kind, group in BASELINES.items() for name in group]


def rows_of(tasks):
    """`TaskRows` of a list of (x, y)."""
    counts = np.array([len(y) for _, y in tasks], np.int32)
    x, y = (np.concatenate(parts) for parts in zip(*tasks, strict=True))
    starts = (np.cumsum(counts) - counts).astype(np.int32)
    return TaskRows(x.astype(np.float32), y, starts, counts, tuple(map(str, range(len(tasks)))))


def numbers(function, tasks=30, rows=20, width=1, noise=0.1, seed=0):
    """Tasks y = function(x, luck) + noise."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(tasks):
        luck, x = random.normal(size=4), random.normal(size=(rows, width))
        y = function(x, luck) + noise * random.normal(size=rows)
        made.append((x.astype(np.float32), y.astype(np.float32)[:, None]))
    return made


def labels(tasks=20, rows=15, seed=0):
    """Tasks whose classes are halves of the plane and a strip between, turned at random."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(tasks):
        x = random.normal(size=(rows, WIDTH)).astype(np.float32)
        y = np.digitize(x @ random.normal(size=WIDTH), [-0.5, 0.5]).astype(np.int32)
        y[:CLASSES] = np.arange(CLASSES)
        made.append((x, y))
    return made


def episodes_of(tasks, support_rows, room=SUPPORT, queries=QUERY):
    """Stacked episodes: the first rows are the support, filled up to `room`, the last the query."""

    def stack(chosen, mask):
        arrays = [np.stack([task[part][chosen] for task in tasks]) for part in (0, 1)]
        return Data(*map(jnp.asarray, arrays), jnp.asarray(np.tile(mask, (len(tasks), 1))))

    return Task(
        stack(np.arange(room) % len(tasks[0][1]), np.arange(room) < support_rows),
        stack(np.arange(-queries, 0), np.ones(queries, bool)),
    )


def make(kind, name, width=WIDTH):
    outputs = 1 if kind == "numbers" else CLASSES
    model = bmaml.models.mlp(width, outputs, hidden=(8,))
    return BASELINES[kind][name](bmaml.bmaml(model, targets=kind, num_particles=2), outputs)


def fitted(kind, name, tasks, width=WIDTH):
    baseline = make(kind, name, width)
    baseline.fit(rows_of(tasks))
    return baseline


def predict(baseline, episodes):
    return baseline.predict_episodes(episodes, lambda ready: None)


score_episodes = jax.jit(jax.vmap(score))


def scores(prediction, query):
    every = score_episodes(prediction, query.y, query.mask)
    return {name: np.asarray(value) for name, value in every.items() if name != "ece"}


@pytest.fixture(autouse=True, scope="module")
def small_blocks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network, "BLOCK", 6)
        yield


@pytest.fixture(scope="module")
def plane():
    """Tasks of both kinds with as many inputs."""
    return {
        "numbers": numbers(lambda x, luck: x[:, 0] * luck[0] + luck[1], width=WIDTH, rows=13),
        "labels": labels(rows=13),
    }


@pytest.fixture(scope="module", params=EVERY, ids=lambda pair: f"{pair[0]}: {pair[1]}")
def case(request, plane):
    kind, name = request.param
    return kind, plane[kind], fitted(kind, name, plane[kind][:20] if kind == "numbers" else plane[kind])


def test_any_number_of_support_rows_gives_finite_scores(case):
    _, tasks, baseline = case
    for support_rows in (0, 1, 2, SUPPORT):
        episodes, heard = episodes_of(tasks[:4], support_rows), []
        every = scores(baseline.predict_episodes(episodes, heard.append), episodes.query)
        assert all(np.all(np.isfinite(values)) for values in every.values())
        assert sum(heard) == 4


def test_query_targets_and_masked_rows_change_nothing(case):
    _, tasks, baseline = case
    episodes = episodes_of(tasks[:3], 3)
    support, query = episodes
    filled = ~support.mask
    other = Task(
        support._replace(
            x=jnp.where(filled[..., None], 50.0, support.x),
            y=jnp.where(
                filled.reshape(filled.shape + (1,) * (support.y.ndim - 2)), 1, support.y
            ).astype(support.y.dtype),
        ),
        query._replace(y=jnp.roll(query.y, 1, axis=1)),
    )
    before, after = predict(baseline, episodes), predict(baseline, other)
    jax.tree.map(np.testing.assert_array_equal, before, after)


def test_one_episode_alone_is_predicted_as_among_others(case):
    _, tasks, baseline = case
    episodes = episodes_of(tasks[:3], SUPPORT)
    alone = baseline.predict(
        *(np.asarray(part[1]) for part in (episodes.support.x, episodes.support.y, episodes.query.x))
    )
    among = jax.tree.map(lambda leaf: leaf[1], predict(baseline, episodes))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-4), alone, among)


@pytest.mark.parametrize(("kind", "name"), [pair for pair in EVERY if "pooled" not in pair[1]])
def test_without_support_the_training_rows_speak(kind, name, plane):
    tasks = plane[kind]
    baseline = fitted(kind, name, tasks)
    prediction = jax.tree.map(lambda leaf: leaf[0], predict(baseline, episodes_of(tasks[:2], 0)))
    y = rows_of(tasks).y
    if kind == "numbers":
        np.testing.assert_allclose(prediction.mean, y.mean(), rtol=1e-4)
        np.testing.assert_allclose(prediction.std, y.std(), rtol=1e-4)
    else:
        expected = np.bincount(y, minlength=CLASSES) / len(y)
        np.testing.assert_allclose(prediction.probabilities[0], expected, rtol=1e-4)


def test_every_baseline_says_what_it_is():
    for group in BASELINES.values():
        assert all(baseline.about for baseline in group.values())


# Numbers.


def test_an_offset_beats_the_pooled_model_where_tasks_differ_by_one():
    tasks = numbers(lambda x, luck: np.sin(2 * x[:, 0]) + luck[0], tasks=60)
    train, test = tasks[:45], tasks[45:]
    pooled, offset = (fitted("numbers", name, train, 1) for name in ("pooled", "pooled + offset"))
    episodes = episodes_of(test, 5)
    without, moved = (scores(predict(each, episodes), episodes.query) for each in (pooled, offset))
    assert moved["mse"].mean() < 0.4 * without["mse"].mean()
    assert moved["nll"].mean() < without["nll"].mean() - 0.5
    nothing = episodes_of(test, 0)
    means = [predict(each, nothing).means for each in (pooled, offset)]
    np.testing.assert_array_equal(*means)


def test_the_offset_learns_that_tasks_do_not_differ():
    tasks = numbers(lambda x, luck: np.sin(2 * x[:, 0]), tasks=40, noise=0.5)
    pooled, offset = (fitted("numbers", name, tasks[:30], 1) for name in ("pooled", "pooled + offset"))
    episodes = episodes_of(tasks[30:], 3)
    without, moved = (scores(predict(each, episodes), episodes.query) for each in (pooled, offset))
    assert moved["mse"].mean() < 1.1 * without["mse"].mean()


@settings(max_examples=25, deadline=None)
@given(
    between=st.floats(0.1, 3.0),
    within=st.floats(0.1, 3.0),
    seed=st.integers(0, 1000),
)
def test_variances_between_and_within_tasks_are_found(between, within, seed):
    random = np.random.default_rng(seed)
    counts = random.integers(2, 20, size=2000)
    offsets = between * random.normal(size=len(counts))
    residuals = np.repeat(offsets, counts) + within * random.normal(size=counts.sum())
    found_between, found_within = variances(residuals, counts)
    assert abs(found_within - within**2) < 0.1 * within**2
    assert abs(found_between - between**2) < 0.15 * (between**2 + within**2 / 5)


def test_one_training_task_has_no_variance_between_tasks():
    between, within = variances(np.array([1.0, 2.0, 3.0]), np.array([3]))
    assert between == 0.0
    assert within == pytest.approx(1.0)
    tasks = numbers(lambda x, luck: x[:, 0], tasks=1, rows=8)
    prediction = predict(fitted("numbers", "pooled + offset", tasks, 1), episodes_of(tasks, 2))
    assert np.all(np.isfinite(prediction.means))


def test_the_pooled_noise_is_that_of_tasks_it_has_not_seen():
    # Each task is a constant, which its one-hot input gives away: trees that have seen it know it.
    random = np.random.default_rng(0)
    tasks = [
        (np.repeat(np.eye(30, dtype=np.float32)[[i]], 30, axis=0), np.full((30, 1), v, np.float32))
        for i, v in enumerate(random.normal(size=30))
    ]
    pooled = fitted("numbers", "pooled", tasks, 30)
    x, y = rows_of(tasks).x, rows_of(tasks).y[:, 0]
    seen = np.sqrt(np.mean(np.square(pooled.trees.predict(x) - y)))
    assert seen < 0.5 * y.std()
    assert pooled.noise > 0.8 * y.std()


def test_ridge_is_exact_on_lines():
    slopes = lambda x, luck: 0.5 * (x @ luck[:2] + luck[2])  # noqa: E731
    tasks = numbers(slopes, width=2, noise=0.0, rows=30)
    episodes = episodes_of(tasks[:10], 20, room=20)
    every = scores(predict(fitted("numbers", "ridge per task", tasks), episodes), episodes.query)
    assert every["mse"].max() < 1e-3
    curved = numbers(lambda x, luck: np.sin(3 * x[:, 0]), width=2, noise=0.0, rows=30)
    bent = episodes_of(curved[:10], 20, room=20)
    assert (
        scores(predict(fitted("numbers", "ridge per task", curved), bent), bent.query)["mse"].min()
        > 0.1
    )


def test_a_gaussian_process_is_calibrated_on_gaussian_processes():
    random = np.random.default_rng(0)
    tasks = []
    for _ in range(30):
        x = random.uniform(-3, 3, size=(60, 1))
        covariance = np.exp(-0.5 * np.square(x - x.T)) + 0.09 * np.eye(60)
        # By Cholesky's factor, which is the same on every machine but for rounding.
        y = np.linalg.cholesky(covariance) @ random.normal(size=60)
        tasks.append((x.astype(np.float32), y.astype(np.float32)[:, None]))
    episodes = episodes_of(tasks, 30, room=30, queries=30)
    every = scores(
        predict(fitted("numbers", "gaussian process per task", tasks, 1), episodes), episodes.query
    )
    # A kernel chosen by the likelihood of 30 rows is a little too sure: 0.82 to 0.90 over four draws of
    # these tasks, where the true kernel has 0.88 to 0.90. Without the noise it would be below 0.5.
    assert 0.8 < every["coverage"].mean() < 0.95
    assert every["mse"].mean() < 0.18  # the noise alone is 0.09
    # Not by one spread for all: where there are no rows nearby it is less sure.
    far = fitted("numbers", "gaussian process per task", tasks, 1).predict(
        tasks[0][0][:30], tasks[0][1][:30], np.array([[0.0], [30.0]], np.float32)
    )
    assert far.std[1, 0] > 1.5 * far.std[0, 0]


def test_a_network_for_each_task_learns_it():
    tasks = numbers(lambda x, luck: x[:, 0] * luck[0] + luck[1], noise=0.05)
    baseline = fitted("numbers", "network per task", tasks, 1)
    few, many = (episodes_of(tasks[:6], count, room=13) for count in (1, 13))
    worse, better = (scores(predict(baseline, each), each.query)["mse"].mean() for each in (few, many))
    assert better < 0.05
    assert better < 0.2 * worse


def test_a_network_for_each_task_learns_its_noise_whatever_the_run_does():
    tasks = numbers(lambda x, luck: 0.0 * x[:, 0], noise=0.05)
    model = bmaml.models.mlp(1, 1, hidden=(8,))
    baseline = BASELINES["numbers"]["network per task"](bmaml.maml(model), 1)
    baseline.fit(rows_of(tasks))
    prediction = predict(baseline, episodes_of(tasks[:2], 13, room=13))
    assert np.all(prediction.noise_variances < 0.5)  # a squared error alone would leave it at one


# Labels.


@pytest.mark.parametrize("name", ["logistic regression per task", "gaussian process per task"])
def test_one_row_of_all_tasks_counts_beside_the_support(name, plane):
    baseline = fitted("labels", name, plane["labels"])
    x = np.zeros((3, WIDTH), np.float32)
    alike = baseline.predict(x, np.full(3, 1, np.int32), x[:1]).probabilities[0]
    expected = baseline.frequencies / 4 + np.array([0, 3, 0]) / 4
    np.testing.assert_allclose(alike, expected, rtol=1e-3)
    two = baseline.predict(
        x + np.arange(3)[:, None], np.array([0, 1, 1], np.int32), x[:1]
    ).probabilities[0]
    assert two[2] == pytest.approx(baseline.frequencies[2] / 4, rel=1e-3)  # no row of it, yet possible


@pytest.mark.parametrize(
    "name", ["logistic regression per task", "gaussian process per task", "network per task"]
)
def test_a_classifier_for_each_task_beats_the_pooled_one_where_classes_are_turned(name):
    tasks = labels(tasks=30, rows=45)
    episodes = episodes_of(tasks[20:], 30, room=30, queries=15)
    pooled, own = (
        scores(predict(fitted("labels", each, tasks[:20]), episodes), episodes.query)["accuracy"].mean()
        for each in ("pooled", name)
    )
    assert own > pooled + 0.15


def test_a_class_that_training_lacks_is_still_possible():
    tasks = [(x, np.minimum(y, 1)) for x, y in labels()]
    for name in BASELINES["labels"]:
        prediction = predict(fitted("labels", name, tasks), episodes_of(tasks[:2], 4))
        assert prediction.logits.shape[-1] == CLASSES
        assert np.all(np.isfinite(prediction.logits))
