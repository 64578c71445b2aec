"""Meta reinforcement learning: policies as particles, adapted to a task by a few episodes.

```python
from bmaml import rl

trained = rl.fit(rl.Settings("navigation", "svpg-trpo", particles=5), out="runs/navigation")
trained.evaluate()      # returns on held-out tasks, before and after adaptation
```
"""

from bmaml.rl.policy import GaussianPolicy, gaussian_policy
from bmaml.rl.presets import METHODS, Method
from bmaml.rl.settings import Settings
from bmaml.rl.train import fit
from bmaml.rl.trained import TrainedPolicies

__all__ = [
    "METHODS",
    "GaussianPolicy",
    "Method",
    "Settings",
    "TrainedPolicies",
    "fit",
    "gaussian_policy",
]
