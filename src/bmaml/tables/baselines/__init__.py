"""What a user would try before meta-learning: one method a file, by the name it has in reports."""

from bmaml.tables.baselines.baseline import Baseline, Prediction
from bmaml.tables.baselines.gaussian_process import GaussianProcessLabels, GaussianProcessNumbers
from bmaml.tables.baselines.logistic import Logistic
from bmaml.tables.baselines.network import Network
from bmaml.tables.baselines.offset import PooledOffset
from bmaml.tables.baselines.pooled import PooledLabels, PooledNumbers
from bmaml.tables.baselines.ridge import Ridge

# A new baseline is one line here, for the kind of target it predicts.
BASELINES: dict[str, dict[str, type[Baseline]]] = {
    "numbers": {
        "pooled": PooledNumbers,
        "pooled + offset": PooledOffset,
        "ridge per task": Ridge,
        "gaussian process per task": GaussianProcessNumbers,
        "network per task": Network,
    },
    "labels": {
        "pooled": PooledLabels,
        "logistic regression per task": Logistic,
        "gaussian process per task": GaussianProcessLabels,
        "network per task": Network,
    },
}

__all__ = ["BASELINES", "Baseline", "Prediction"]
