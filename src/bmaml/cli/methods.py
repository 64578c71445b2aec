"""`bmaml methods`: a table of what there is."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bmaml.cli.method_options import PRESET_NAMES

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
    from bmaml.meta.chaser import LEADER_ROWS
    from bmaml.posterior import LIKELIHOODS, PRIORS
    from bmaml.presets import METHODS, options_of

    table = Table(title="variants (see docs/variants.md)")
    for heading in ("option", "names", "for"):
        table.add_column(heading, no_wrap=heading == "option", overflow="fold")
    for option, names in (
        ("sampler", f"{', '.join(INNER_UPDATES)} (in Python: inner=)"),
        ("kernel", f"{', '.join(KERNELS)}; with a fixed bandwidth: rbf-70"),
        ("temperature", "a number, for sgld and hmc"),
        ("distance", ", ".join(DISTANCES)),
        ("learned_steps", "a step size for every parameter"),
        ("likelihood", ", ".join(LIKELIHOODS)),
        ("prior", ", ".join(PRIORS)),
        ("prior_precision", "a number; the authors' is 1"),
        ("leader_steps", "a number; the paper's is 1"),
        ("leader_step_size", "a number; the paper's is a tenth of the step size"),
        ("leader_rows", ", ".join(LEADER_ROWS)),
    ):
        having = [
            method for method in METHODS if PRESET_NAMES.get(option, option) in options_of(method)
        ]
        told = "all" if len(having) == len(METHODS) else ", ".join(having)
        table.add_row(f"--{option.replace('_', '-')}", names, told)
    return table
