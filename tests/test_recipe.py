import pytest

from bmaml.errors import BmamlError
from bmaml.recipe import Recipe


@pytest.mark.parametrize("norm", ["task", "transductive"])
def test_a_network_that_shares_nothing_is_not_normalised_by_a_task(norm):
    recipe = Recipe("glyphs", "reptile", model_options={"norm": norm})
    with pytest.raises(BmamlError, match=r"reptile adapts the whole network.*use the norm example"):
        recipe.learner()
    Recipe("glyphs", "emaml", model_options={"norm": norm}).learner()


def test_other_norms_are_for_every_method():
    for norm in ("example", "none"):
        Recipe("glyphs", "reptile", model_options={"norm": norm}).learner()
