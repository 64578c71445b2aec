"""`bmaml methods`: a table of what there is."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Methods:
    """List the methods: each is a posterior, an inner update and a meta-objective."""

    def run(self) -> None:
        """Print the table, read off the presets themselves."""
        from rich.console import Console
        from rich.table import Table

        from bmaml.models import mlp
        from bmaml.presets import METHODS

        table = Table(title="method = posterior × inner update × meta-objective")
        for heading in (
            "method",
            "likelihood",
            "prior",
            "inner update",
            "meta-objective",
            "M",
            "what",
        ):
            table.add_column(heading)
        for name, preset in METHODS.items():
            learner = preset(mlp(1, 1))
            table.add_row(
                name,
                type(learner.posterior.likelihood).__name__,
                type(learner.posterior.prior).__name__,
                type(learner.inner).__name__ + (" (first order)" if learner.inner.first_order else ""),
                type(learner.meta).__name__,
                str(learner.num_particles),
                (preset.__doc__ or "").split(".")[0],
            )
        Console().print(table)
