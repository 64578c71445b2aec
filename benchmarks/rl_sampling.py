"""Environment steps a second: episodes of policies, bare physics, Gymnasium's vector environments.

python benchmarks/rl_sampling.py --robots cheetah ant --policies 200 --episodes 10 --steps 50
python benchmarks/rl_sampling.py --robots ant --ends --steps 200 --others 0    # ants that fall are out
"""

import argparse

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from timing import best_seconds

from bmaml.rl import gaussian_policy
from bmaml.rl.envs import Locomotion
from bmaml.rl.envs.locomotion import SUBSTEPS
from bmaml.rl.rollout import draw_tasks, make_rollout

GYMNASIUM = {"cheetah": ("HalfCheetah-v5", {}), "ant": ("Ant-v5", {"terminate_when_unhealthy": False})}


class Endless(Locomotion):
    """No episode ends before its time, so that all contestants simulate as many steps."""

    def _ended(self):
        return np.zeros(len(self.positions), bool)


def contestants(
    robot: str, physics: str, policies: int, episodes: int, steps: int, others: int, ends: bool
) -> dict:
    """Functions that simulate, and how many environment steps each of them takes."""
    family = Locomotion if ends else Endless
    world = family(robot, "velocity", physics=physics, horizon=steps)
    policy = gaussian_policy(world.action_size)
    example = jnp.zeros((1, world.observation_size))
    particles = jax.vmap(lambda key: policy.init(key, example))(
        jax.random.split(jax.random.key(0), policies)
    )
    particles = jax.tree.map(lambda leaf: leaf[:, None], particles)
    tasks = draw_tasks(world, jax.random.key(1), policies)
    rollout = make_rollout(world, policy, episodes)
    total = policies * episodes

    bare = family(robot, "velocity", physics=physics, horizon=steps)
    # The actions that the policies take, so that all contestants meet about as many contacts.
    played = rollout(particles, tasks, jax.random.key(3))
    actions = np.asarray(played.actions, np.float64)
    controls = np.moveaxis(np.clip(actions, -1, 1).reshape(total, steps, -1), 1, 0)
    active = np.moveaxis(np.asarray(played.mask).reshape(total, steps), 1, 0)
    taken = int(active.sum())
    keys = jax.random.split(jax.random.key(2), total)

    def limit() -> None:
        """Actions that were drawn before, and nothing looked at but what rewards need."""
        bare.reset(np.zeros(total), keys)
        for action, now in zip(controls, active, strict=True):
            bare.controls[:] = action
            ids = None if now.all() else np.flatnonzero(now).astype(np.int32)
            bare.batch.step(ids, nstep=SUBSTEPS[physics], stage=bare.stage)

    runs = {
        "episodes of policies": (
            lambda: jax.block_until_ready(rollout(particles, tasks, jax.random.key(3))),
            taken,
        ),
        "bare physics": (limit, taken),
    }
    if taken < total * steps:
        print(f"{taken / (total * steps):.2f} of all steps are taken before an episode ends")
    if physics == "gymnasium" and others > 0:
        name, options = GYMNASIUM[robot]
        for kind in ("sync", "async"):
            vector = gymnasium.make_vec(name, num_envs=others, vectorization_mode=kind, **options)

            def play(vector=vector) -> None:
                vector.reset(seed=0)
                for action in controls[:, :others]:
                    vector.step(action.astype(np.float32))

            runs[f"gymnasium {kind}, {others} environments"] = (play, others * steps)
    return runs


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--robots", nargs="+", default=["cheetah", "ant"])
    parser.add_argument("--policies", type=int, default=200)
    parser.add_argument("--episodes", type=int, default=10)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--others", type=int, default=32, help="environments of Gymnasium's; 0: none")
    parser.add_argument("--ends", action="store_true", help="episodes end where the tasks end them")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    for robot in options.robots:
        for physics in ("gymnasium", "authors"):
            print(f"\n{robot}, {physics} physics")
            runs = contestants(
                robot,
                physics,
                options.policies,
                options.episodes,
                options.steps,
                options.others,
                options.ends,
            )
            best = best_seconds({name: run for name, (run, _) in runs.items()}, options.rounds)
            rates = {name: count / best[name] for name, (_, count) in runs.items()}
            for name, rate in rates.items():
                share = rate / rates["bare physics"]
                print(f"{name:>36}: {rate:>10.0f} steps/s, {share:.2f} of bare physics")


if __name__ == "__main__":
    main()
