"""`bmaml methods`: a table of what there is."""

from dataclasses import dataclass
from typing import Any


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
