"""Algorithm 4 on one task."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.active import learn
from bmaml.metrics import score
from bmaml.models import features_and_heads, mlp
from tests.active.settings import CLASSES, INNER, NUMBERS, POOL, SETTINGS, take
from tests.test_sharing import Counter, Tanh, learner_with, start

QUICK = {"step_control": INNER.step_control, "kernel": INNER.kernel}
BOTH = pytest.mark.parametrize("setting", SETTINGS.values(), ids=["classes", "numbers"])


def assert_close(left, right, **tolerance):
    jax.tree.map(
        partial(np.testing.assert_allclose, **(tolerance or {"rtol": 2e-4, "atol": 1e-5})), left, right
    )


@BOTH
def test_the_first_round_is_plain_adaptation(setting):
    support, pool, query = setting.parts
    learned = setting.run(support, pool, query, count=0)
    adapted = jax.jit(setting.learner.adapt)(setting.initial, support)
    assert learned.chosen.shape == (0,)
    assert_close(learned.particles, adapted)
    predict = jax.jit(lambda own: score(setting.learner.predict(own, query.x), query.y))
    assert_close(jax.tree.map(lambda leaf: leaf[0], learned.scores), predict(adapted))


def test_rounds_go_on_from_the_current_particles():
    support, pool, query = CLASSES.parts
    learned = CLASSES.run(support, pool, query, count=2)
    adapt = jax.jit(CLASSES.learner.adapt)
    own, labelled = adapt(CLASSES.initial, support), support
    for row in learned.chosen:
        labelled = labelled.join(take(pool, row[None]))
        own = adapt(own, labelled)
    assert_close(learned.particles, own)
    predict = jax.jit(lambda own: score(CLASSES.learner.predict(own, query.x), query.y))
    assert_close(jax.tree.map(lambda leaf: leaf[2], learned.scores), predict(own))


@pytest.mark.parametrize(("setting", "acquisition"), [(CLASSES, "entropy"), (NUMBERS, "random")])
def test_with_restarts_the_order_of_labels_is_forgotten(setting, acquisition):
    support, pool, _ = setting.parts
    learned = setting.run(support, pool, restart=True, acquisition=acquisition)
    assert_close(learned.particles, jax.jit(setting.learner.adapt)(setting.initial, support.join(pool)))
    assert learned.scores == {}


def test_labels_count_for_nothing_before_they_are_revealed():
    support, pool, _ = CLASSES.parts
    compiled = jax.jit(partial(learn, CLASSES.learner, count=2))
    key = jax.random.key(0)
    before = compiled(CLASSES.initial, support, pool, key=key)
    hidden = jnp.ones(POOL, bool).at[before.chosen].set(False)
    other = pool._replace(y=jnp.where(hidden, (pool.y + 1) % 3, pool.y))
    jax.tree.map(
        np.testing.assert_array_equal, before, compiled(CLASSES.initial, support, other, key=key)
    )
    chosen = pool._replace(y=jnp.where(hidden, pool.y, (pool.y + 1) % 3))
    after = compiled(CLASSES.initial, support, chosen, key=key)
    assert after.chosen[0] == before.chosen[0]
    assert np.any(after.particles.weights[0].weight != before.particles.weights[0].weight)


def test_masked_rows_are_never_chosen_and_an_empty_pool_ends_it():
    support, pool, query = CLASSES.parts
    kept = jnp.array([1, 4])
    masked = pool._replace(mask=jnp.zeros(POOL, bool).at[kept].set(True))
    learned = CLASSES.run(support, masked, query, count=4)
    assert sorted(learned.chosen[:2].tolist()) == [1, 4]
    assert learned.chosen[2:].tolist() == [-1, -1]
    assert_close(learned.particles, CLASSES.run(support, take(pool, kept)).particles)
    np.testing.assert_array_equal(learned.scores["nll"][2:], learned.scores["nll"][2])


def test_random_choice_depends_on_the_key_alone():
    support, pool, _ = NUMBERS.parts
    run = jax.jit(partial(learn, NUMBERS.learner, acquisition="random"))
    orders = [run(NUMBERS.initial, support, pool, key=jax.random.key(seed)).chosen for seed in range(5)]
    assert len({tuple(order.tolist()) for order in orders}) == 5
    other = jax.tree.map(lambda leaf: leaf + 0.3, (NUMBERS.initial, support, pool))
    np.testing.assert_array_equal(run(*other, key=jax.random.key(0)).chosen, orders[0])


def test_one_particle_without_disagreement_chooses_at_random():
    learner = learner_with(mlp(1, 1, hidden=(3,)), particles=1, **QUICK)
    support, pool, _ = NUMBERS.parts
    run = jax.jit(partial(learn, learner, acquisition="variance", count=1))
    initial = jax.jit(partial(start, learner))()
    firsts = {
        int(run(initial, support, pool, key=jax.random.key(seed)).chosen[0]) for seed in range(20)
    }
    assert len(firsts) > 2


def test_batches_over_tasks():
    support, pool, query = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf[::-1]]), CLASSES.parts)
    keys = jax.random.split(jax.random.key(5), 2)

    def one(support, pool, query, key):
        return learn(CLASSES.learner, CLASSES.initial, support, pool, query=query, count=3, key=key)

    together = jax.jit(jax.vmap(one))(support, pool, query, keys)
    for index in range(2):
        pick = partial(jax.tree.map, lambda leaf, index=index: leaf[index])
        assert_close(pick(together), jax.jit(one)(*pick((support, pool, query)), keys[index]))


@pytest.mark.parametrize("transductive", [False, True])
def test_rows_pass_shared_features_once(transductive):
    counter = Counter()
    features = Tanh(normalise=True, transductive=transductive, calls=(counter,))
    learner = learner_with(features_and_heads(features, mlp(4, 1, hidden=())), **QUICK)
    initial = jax.jit(partial(start, learner))()
    support, pool, query = NUMBERS.parts
    counter.clear()
    run = jax.jit(partial(learn, learner, count=4))
    learned = run(initial, support, pool, query=query, key=jax.random.key(0))
    known, rest = support.x.shape[0], pool.x.shape[0] + query.x.shape[0]
    assert counter == ([known + rest] if transductive else [known, rest])
    # The particles know how their rows were normalised: a prediction is that of the last round.
    again = jax.jit(lambda own: score(learner.predict(own, query.x), query.y))(learned.particles)
    assert_close(jax.tree.map(lambda leaf: leaf[-1], learned.scores), again)


def test_shared_features_and_no_statistics_agree_with_adapting_to_all_labels():
    learner = learner_with(features_and_heads(Tanh(), mlp(4, 1, hidden=())), **QUICK)
    initial = jax.jit(partial(start, learner))()
    support, pool, _ = NUMBERS.parts
    learned = jax.jit(partial(learn, learner, restart=True))(
        initial, support, pool, key=jax.random.key(0)
    )
    assert_close(learned.particles, jax.jit(learner.adapt)(initial, support.join(pool)))


def test_mistakes_get_a_sentence():
    support, pool, query = CLASSES.parts
    with pytest.raises(ValueError, match="7 labels were asked of a pool of 6 rows"):
        CLASSES.run(support, pool, count=7)
    with pytest.raises(ValueError, match="The pool has no rows"):
        CLASSES.run(support, take(pool, jnp.arange(0)))
    with pytest.raises(ValueError, match="'variance' is not for a ClassificationPrediction"):
        CLASSES.run(support, pool, acquisition="variance")
    with pytest.raises(ValueError, match="query rows without a mask"):
        CLASSES.run(support, pool, query._replace(mask=query.counted()))
