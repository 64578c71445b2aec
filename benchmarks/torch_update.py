"""The BMAML meta-gradient in PyTorch: `torch.func` over particles and tasks, without a Python loop."""

import itertools
import math

import torch
from torch.func import grad, vmap

SIZES = (1, 40, 40, 40, 1)


def make(num_particles: int, shots: int, num_tasks: int, step_size: float):
    torch.manual_seed(0)
    weights = [
        torch.randn(num_particles, fan_in, fan_out) * math.sqrt(2 / (fan_in + fan_out))
        for fan_in, fan_out in itertools.pairwise(SIZES)
    ]
    biases = [0.01 * torch.randn(num_particles, fan_out) for fan_out in SIZES[1:]]
    precisions = (torch.full((num_particles,), math.log(100.0)), torch.zeros(num_particles))
    particles = (*weights, *biases, *precisions)
    tasks = [torch.randn(num_tasks, shots, 1) for _ in range(4)]
    layers = len(weights)

    def log_density(particle, x, y):
        hidden = x
        for index in range(layers):
            hidden = hidden @ particle[index] + particle[layers + index]
            if index < layers - 1:
                hidden = torch.relu(hidden)
        log_noise, log_weight = particle[-2], particle[-1]
        parts = particle[: 2 * layers]
        square = sum((part * part).sum() for part in parts)
        dimension = sum(part.numel() for part in parts)
        noise, weight = log_noise.exp(), log_weight.exp()
        return (
            0.5 * y.numel() * log_noise
            - 0.5 * noise * ((hidden - y) ** 2).sum()
            + 0.5 * dimension * log_weight
            - 0.5 * weight * square
            + (2.0 * log_noise - 0.2 * noise)
            + (2.0 * log_weight - 2.0 * weight)
        )

    scores_of = vmap(grad(log_density), (0, None, None))
    upper = torch.triu_indices(num_particles, num_particles, 1)

    def step(particles, x, y):
        scores = scores_of(particles, x, y)
        flat = torch.cat([part.reshape(num_particles, -1) for part in particles], 1)
        flat_scores = torch.cat([part.reshape(num_particles, -1) for part in scores], 1)
        centred = flat - flat.mean(0)
        gram = centred @ centred.T
        norms = gram.diagonal()
        distances = (norms[:, None] + norms[None] - 2 * gram).clamp_min(0)
        bandwidth = distances.detach()[upper[0], upper[1]].median() / math.log(num_particles + 1)
        kernel = torch.exp(-distances / bandwidth)
        spread = (2 / bandwidth) * (torch.diag_embed(kernel.sum(1)) - kernel)
        direction = (kernel @ flat_scores + spread @ flat) / num_particles
        moved, offset = [], 0
        for part in particles:
            size = part[0].numel()
            move = direction[:, offset : offset + size].reshape(part.shape)
            moved.append(part + step_size * move)
            offset += size
        return tuple(moved)

    def loss(particles, x, y, query_x, query_y):
        chaser = step(particles, x, y)
        # A constant from here on, so that no graph is recorded through the leader's step.
        begin = tuple(part.detach() for part in chaser)
        leader = step(begin, torch.cat([x, query_x]), torch.cat([y, query_y]))
        return sum(((a - b) ** 2).sum() for a, b in zip(chaser, leader, strict=True))

    def total(particles):
        return vmap(loss, (None, 0, 0, 0, 0))(particles, *tasks).sum()

    gradient = grad(total)
    return lambda: gradient(particles)
