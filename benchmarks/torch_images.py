"""The image network in PyTorch: the same blocks, layer normalisation, forward and backward."""

import torch
from torch import nn


def make(rows: int, size: int, channels: int, blocks: int, channels_last: bool):
    torch.manual_seed(0)
    layers = []
    for block in range(blocks):
        layers += [
            nn.Conv2d(channels if block == 0 else 64, 64, 3, padding=1, bias=False),
            nn.GroupNorm(1, 64),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
        ]
    layout = torch.channels_last if channels_last else torch.contiguous_format
    network = nn.Sequential(*layers, nn.Flatten()).to(memory_format=layout)
    images = torch.randn(rows, channels, size, size).contiguous(memory_format=layout)

    def run() -> None:
        network.zero_grad(set_to_none=True)
        network(images).square().sum().backward()

    return run
