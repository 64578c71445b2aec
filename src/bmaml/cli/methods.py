"""`bmaml methods`: a table of what there is."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Methods:
    """List the methods: each is a posterior, an inner update and a meta-objective."""

    def run(self) -> None:
        """Print the table, read off the presets themselves."""
        from rich.console import Console
        from rich.table import Table

        from bmaml.inner import INNER_UPDATES
        from bmaml.meta import META_OBJECTIVES
        from bmaml.models import mlp
        from bmaml.posterior import LIKELIHOODS, PRIORS
        from bmaml.presets import METHODS

        def name_of(part: object, registry: dict[str, Any]) -> str:
            return next(name for name, kind in registry.items() if type(part) is kind)

        table = Table(title="method = posterior × inner update × meta-objective")
        for heading in ("method", "M", "likelihood", "prior", "inner", "meta", "what it is"):
            table.add_column(heading, no_wrap=heading != "what it is")
        for name, preset in METHODS.items():
            learner = preset(mlp(1, 1))
            table.add_row(
                name,
                str(learner.num_particles),
                name_of(learner.posterior.likelihood, LIKELIHOODS),
                name_of(learner.posterior.prior, PRIORS),
                name_of(learner.inner, INNER_UPDATES),
                name_of(learner.meta, META_OBJECTIVES),
                (preset.__doc__ or "").splitlines()[0],
            )
        Console().print(table)
        Console().print(_variants())


def _variants() -> "Table":
    """What can be chosen by name, by which option of `bmaml train`, and for which methods."""
    from rich.table import Table

    from bmaml.distances import DISTANCES
    from bmaml.inner import INNER_UPDATES
    from bmaml.kernels import KERNELS
    from bmaml.presets import METHODS, options_of

    table = Table(title="variants (see docs/variants.md)")
    for heading in ("option", "in Python", "names", "for"):
        table.add_column(heading, no_wrap=heading in ("option", "in Python"))
    for option, preset_option, names in (
        ("--sampler", "inner", ", ".join(INNER_UPDATES)),
        ("--kernel", "kernel", f"{', '.join(KERNELS)}; with a fixed bandwidth: rbf-70"),
        ("--temperature", "temperature", "a number, for sgld and hmc"),
        ("--distance", "distance", ", ".join(DISTANCES)),
        ("--learned-steps", "learned_steps", "a step size for every parameter"),
        ("--leader-steps", "leader_steps", "a number; the paper's is 1"),
        ("--leader-step-size", "leader_step_size", "a number; the paper's is a tenth of the step size"),
    ):
        having = [method for method in METHODS if preset_option in options_of(method)]
        table.add_row(option, preset_option, names, ", ".join(having))
    return table
