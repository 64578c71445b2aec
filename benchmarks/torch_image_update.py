"""A whole meta-gradient on images in PyTorch: EMAML, and BMAML with SVGD and the chaser loss.

Tasks and particles are axes of batched matrix products, so that an inner step is a few calls whatever
their number; images pass the extractor once.
"""

import math

import torch
from torch.nn import functional


def tensor(array) -> torch.Tensor:
    return torch.tensor(array, dtype=None if array.dtype.kind == "i" else torch.float32)


class Heads:
    """Linear heads (tasks, particles, weights) on features (tasks, rows, features)."""

    def __init__(self, features: int, ways: int):
        self.features, self.ways = features, ways

    def losses(self, heads, encoded, labels):
        """The mean cross-entropy of every task and particle."""
        kernel = heads[..., : self.features * self.ways]
        kernel = kernel.reshape(*heads.shape[:2], self.features, self.ways)
        logits = encoded[:, None] @ kernel + heads[..., None, self.features * self.ways :]
        log_probs = functional.log_softmax(logits, -1)
        picked = log_probs.gather(-1, labels[:, None, :, None].expand(*log_probs.shape[:3], 1))
        return -picked.mean((-2, -1))

    def scores(self, heads, encoded, labels, create_graph: bool):
        total = -self.losses(heads, encoded, labels).sum()
        return torch.autograd.grad(total, heads, create_graph=create_graph)[0]


def stein(heads, scores):
    """SVGD's direction in every task."""
    count = heads.shape[1]
    centred = heads - heads.mean(1, keepdim=True)
    gram = centred @ centred.mT
    norms = gram.diagonal(dim1=1, dim2=2)
    distances = (norms[:, :, None] + norms[:, None] - 2 * gram).clamp_min(0)
    row, column = torch.triu_indices(count, count, 1)
    # `quantile`, not `median`, which takes the lower one of two in the middle.
    middle = distances.detach()[:, row, column].quantile(0.5, dim=1)
    bandwidth = (middle / math.log(count + 1))[:, None, None]
    kernel = torch.exp(-distances / bandwidth)
    apart = (2 / bandwidth) * (torch.diag_embed(kernel.sum(2)) - kernel)
    return (kernel @ scores + apart @ centred) / count


def make(
    shared, heads, tasks, ways: int, method: str, step_size: float, steps: int, channels_last: bool
):
    """The loss and its gradient as a function to call; weights and tasks come as numpy arrays."""
    layout = torch.channels_last if channels_last else torch.contiguous_format
    blocks = [
        (
            tensor(block.kernel).permute(3, 2, 0, 1).contiguous(memory_format=layout).requires_grad_(),
            tensor(block.scale).requires_grad_(),
            tensor(block.shift).requires_grad_(),
        )
        for block in shared
    ]
    heads = tensor(heads).requires_grad_()
    (support_x, support_y), (query_x, query_y) = [tuple(map(tensor, pair)) for pair in tasks]
    labels, query_labels = support_y.long(), query_y.long()
    count, shots = labels.shape
    images = torch.cat([support_x, query_x], 1).flatten(0, 1).permute(0, 3, 1, 2)
    images = images.contiguous(memory_format=layout)
    leaves = [heads, *(weight for block in blocks for weight in block)]

    def encode():
        x = images
        for kernel, scale, shift in blocks:
            x = functional.group_norm(functional.conv2d(x, kernel, padding=1), 1, scale, shift)
            x = functional.max_pool2d(functional.relu(x, inplace=True), 2)
        x = x.permute(0, 2, 3, 1).flatten(1)
        x = functional.layer_norm(x, x.shape[1:], eps=1e-5) * (64 / x.shape[1]) ** 0.5
        return x.reshape(count, -1, x.shape[1])

    def loss():
        encoded = encode()
        support, query = encoded[:, :shots], encoded[:, shots:]
        on = Heads(encoded.shape[2], ways)
        adapted = heads.expand(count, *heads.shape)
        for _ in range(steps):
            scores = on.scores(adapted, support, labels, create_graph=True)
            adapted = adapted + step_size * (scores if method == "emaml" else stein(adapted, scores))
        if method == "emaml":
            return on.losses(adapted, query, query_labels).sum()
        together = torch.cat([labels, query_labels], 1)
        leader, known = adapted.detach(), encoded.detach()
        for _ in range(steps):
            leader = leader.requires_grad_()
            scores = on.scores(leader, known, together, create_graph=False)
            leader = (leader + step_size * stein(leader, scores)).detach()
        return (adapted - leader).square().sum()

    def run():
        return torch.autograd.grad(loss(), leaves)

    return run
