"""Train on sinusoids, adapt to a new one from three points, and draw the prediction with its band.

Run: python examples/sinusoid.py [steps] [picture]
"""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import bmaml

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
picture = sys.argv[2] if len(sys.argv) > 2 else "sinusoid.png"

tasks = bmaml.tasks.Sinusoid(num_tasks=100, shots=5)
learner = bmaml.bmaml(bmaml.models.mlp(1, 1), num_particles=10)
trained = bmaml.fit(learner, tasks, steps=steps, seed=0)

x = np.array([[-2.0], [0.0], [1.0]])
y = 2.0 * np.sin(x + 1.0)
grid = np.linspace(-5, 5, 201)[:, None]
prediction = trained.adapt(x, y, steps=10).predict(grid)
lower, upper = prediction.interval(0.9)

plt.fill_between(grid[:, 0], lower[:, 0], upper[:, 0], alpha=0.2, label="90 % interval")
plt.plot(grid, prediction.mean, label="mean")
plt.plot(grid, 2.0 * np.sin(grid + 1.0), "k--", label="truth")
plt.plot(x, y, "ko", label="three observations")
plt.legend()
plt.savefig(picture, dpi=150)
print(f"drawn to {picture}")
