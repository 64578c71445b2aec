import jax
import numpy as np
import pytest

from bmaml.tasks import Arrays, Data, Sinusoid, Task


def data(tasks=6, rows=5, targets=None):
    random = np.random.default_rng(0)
    return Data(random.normal(size=(tasks, rows, 1)), random.normal(size=(tasks, targets or rows, 1)))


GOOD = Task(data(), data())


def with_value(value):
    whole = data()
    whole.y[3, 2] = value
    return whole


@pytest.mark.parametrize(
    ("tasks", "told"),
    [
        (Task(data(20), data(6)), "train has 20 support sets and 6 query sets: give each task"),
        (
            Task(data(), data(targets=4)),
            r"query has x of shape \(6, 5, 1\), y of shape \(6, 4, 1\)",
        ),
        (Task(data()._replace(mask=np.ones((6, 4), bool)), data()), r"mask of shape \(6, 4\)"),
        (Task(Data(np.zeros(5), np.zeros(5)), data()), r"same \(tasks, rows\)"),
        (Task(data(), with_value(np.nan)), r"train\.query\.y has values that are NaN or infinite"),
        (Task(with_value(np.inf), data()), r"train\.support\.y has values that are NaN or infinite"),
    ],
)
def test_arrays_that_do_not_belong_together_are_refused(tasks, told):
    with pytest.raises(ValueError, match=told):
        Arrays(train=tasks, validation=GOOD)
    with pytest.raises(ValueError, match=told.replace("train", "test")):
        Arrays(train=GOOD, validation=GOOD, test=tasks)


def test_labels_without_an_axis_of_their_own_and_masks_are_fine():
    labels = Data(np.zeros((6, 5, 2)), np.zeros((6, 5), int), np.ones((6, 5), bool))
    Arrays(train=Task(labels, labels), validation=Task(labels, labels))


def test_arrays_may_be_made_under_a_transformation():
    stacked = Sinusoid(num_tasks=8).training_set(jax.random.key(0))

    def first(tasks):
        return Arrays(train=tasks, validation=tasks).held_out("validation").support.x[0]

    np.testing.assert_array_equal(jax.jit(first)(stacked), stacked.support.x[0])
