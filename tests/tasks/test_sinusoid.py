import jax
import numpy as np
import pytest

from bmaml.tasks import Arrays, Sinusoid, Task
from bmaml.tasks.sinusoid import draw_wave


def test_tasks_have_the_shapes_asked_for():
    source = Sinusoid(num_tasks=20, shots=5, query_shots=7, held_out_tasks=11, held_out_query=13)
    training = source.training_set(jax.random.key(0))
    assert training.support.x.shape == (20, 5, 1)
    assert training.query.y.shape == (20, 7, 1)
    assert source.held_out("test").query.x.shape == (11, 13, 1)


def test_parameters_fill_their_ranges():
    wave = jax.vmap(draw_wave)(jax.random.split(jax.random.key(0), 5000))
    for values, low, high in (
        (wave.amplitude, 0.1, 5.0),
        (wave.frequency, 0.5, 2.0),
        (wave.phase, 0.0, 2 * np.pi),
    ):
        values = np.asarray(values)
        assert low <= values.min() < low + 0.02 * (high - low)
        assert high - 0.02 * (high - low) < values.max() <= high


def test_noise_is_one_percent_of_the_amplitude():
    clean = Sinusoid(num_tasks=2000, noise=0.0).training_set(jax.random.key(3))
    noisy = Sinusoid(num_tasks=2000, noise=0.01).training_set(jax.random.key(3))
    difference = np.asarray(noisy.support.y - clean.support.y)
    # Amplitudes are uniform on [0.1, 5]: E[A²] = (5³ − 0.1³) / (3 · 4.9).
    expected = 0.01 * np.sqrt((5.0**3 - 0.1**3) / (3 * 4.9))
    np.testing.assert_allclose(difference.std(), expected, rtol=0.05)


def test_validation_test_and_training_tasks_are_apart():
    source = Sinusoid(num_tasks=500, held_out_tasks=500)
    sets = [
        set(np.asarray(tasks.support.x).ravel().tolist())
        for tasks in (
            source.training_set(jax.random.key(0)),
            source.held_out("validation"),
            source.held_out("test"),
        )
    ]
    for i in range(3):
        for j in range(i):
            assert len(sets[i] & sets[j]) < 5  # float32 draws may meet by chance


def test_held_out_tasks_do_not_depend_on_the_number_of_training_tasks():
    few, many = Sinusoid(num_tasks=100), Sinusoid(num_tasks=1000)
    np.testing.assert_array_equal(few.held_out("test").query.y, many.held_out("test").query.y)


def test_a_batch_holds_different_fixed_tasks_and_fresh_ones_without_a_limit():
    source = Sinusoid(num_tasks=12)
    training = source.training_set(jax.random.key(0))
    batch = source.batch(training, jax.random.key(1), 10)
    assert len(np.unique(np.asarray(batch.support.x)[:, 0, 0])) == 10
    assert set(np.asarray(batch.support.x).ravel()) <= set(np.asarray(training.support.x).ravel())
    endless = Sinusoid(num_tasks=None)
    one, other = (endless.batch(None, jax.random.key(seed), 4) for seed in (0, 1))
    assert not np.array_equal(one.support.x, other.support.x)


def test_a_batch_larger_than_the_set_and_impossible_sizes_are_refused():
    source = Sinusoid(num_tasks=3)
    with pytest.raises(ValueError, match="meta-batch of 10"):
        source.batch(source.training_set(jax.random.key(0)), jax.random.key(1), 10)
    with pytest.raises(ValueError, match="at least one support"):
        Sinusoid(shots=0)
    with pytest.raises(ValueError, match="num_tasks is 0"):
        Sinusoid(num_tasks=0)


def test_arrays_serve_tasks_as_given():
    stacked = Sinusoid(num_tasks=8).training_set(jax.random.key(0))
    source = Arrays(train=stacked, validation=stacked)
    assert isinstance(source.batch(source.training_set(jax.random.key(0)), jax.random.key(0), 3), Task)
    with pytest.raises(ValueError, match="no test split"):
        source.held_out("test")
