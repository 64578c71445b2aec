"""Which options of `bmaml train` are options of its method, and under what name."""

from typing import Any

# Those whose names differ from the presets'.
PRESET_NAMES = {"particles": "num_particles", "sampler": "inner"}
OPTION_NAMES = {preset: option for option, preset in PRESET_NAMES.items()}
# Those that a run folder knows by another name.
OPTION_OF = {"seed": "split_seed", "seeds": "seed", **OPTION_NAMES}
LEADER = ("leader_steps", "leader_step_size", "leader_rows")
POSTERIOR = ("likelihood", "prior", "prior_precision")
VARIANTS = ("sampler", "kernel", "temperature", "distance", "learned_steps", *POSTERIOR, *LEADER)
NAMES = ("particles", "step_size", "inner_steps", "meta_step_size", "settings", *VARIANTS)


def method_options(command: Any) -> dict[str, Any]:
    """The options of the method that were given; a variant that it does not have is refused."""
    from bmaml.errors import BmamlError
    from bmaml.presets import METHODS, options_of

    options = {}
    for name in NAMES:
        value, preset_name = getattr(command, name), PRESET_NAMES.get(name, name)
        if value is None or value is False:
            continue
        if preset_name in options_of(command.method):
            options[preset_name] = value
        elif name in VARIANTS:
            having = [method for method in METHODS if preset_name in options_of(method)]
            raise BmamlError(
                f"{command.method} has no --{name.replace('_', '-')}: leave it out, or choose a "
                f"--method that has it: {', '.join(having)}."
            )
    return options
