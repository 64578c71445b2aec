from collections import Counter

import jax
import numpy as np
from scipy import stats

from bmaml.tasks.distinct import distinct


def test_every_ordered_choice_is_equally_likely():
    bits = jax.random.bits(jax.random.key(0), (30_000, 3))
    drawn = np.asarray(jax.jit(jax.vmap(lambda one: distinct(one, 5)))(bits))
    counts = Counter(map(tuple, drawn.tolist()))
    assert len(counts) == 5 * 4 * 3
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3


def test_all_can_be_drawn_and_the_number_available_may_be_traced():
    bits = jax.random.bits(jax.random.key(1), (6,))
    assert sorted(np.asarray(jax.jit(distinct)(bits, np.int32(6))).tolist()) == list(range(6))
    many = np.asarray(jax.jit(distinct)(jax.random.bits(jax.random.key(2), (50,)), 800_000))
    assert len(set(many.tolist())) == 50
    assert many.min() >= 0
    assert many.max() < 800_000
