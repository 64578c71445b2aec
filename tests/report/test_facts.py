from bmaml.recipe import Recipe
from bmaml.report.facts import describe_run


def test_facts_name_method_data_and_seeds():
    options = {"num_particles": 7, "step_size": 0.1}
    recipe = Recipe("sinusoid", "bmaml", options, {"shots": 4, "num_tasks": None})
    facts = describe_run(recipe, {"steps": 70, "seeds": [3], "batch_size": 4, "bmaml": "0.1.0"})
    assert facts["method"] == "bmaml, num particles 7, step size 0.1"
    assert facts["tasks"] == "sinusoid, shots 4"
    assert facts["seeds"] == "3"
    assert facts["meta-updates"] == "70 of 4 tasks"
