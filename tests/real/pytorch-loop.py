# SPDX-License-Identifier: Apache-2.0
"""pytorch-loop.py MODEL MIB STEPS [BATCH [WORKERS]]: train mlp or transformer.

MIB is what weights, gradients, AdamW's two moments and the data set take
together. The data set is one big tensor of the parent; forked workers (2) read
it, and new ones are forked after every few steps. One line a step: the loss
with every bit of it. What differs from run to run (seconds a step) goes to
stderr.
"""
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

STEPS_A_PASS = 4  # then the workers end and others are forked
COPIES = 4  # of each weight: itself, its gradient, two moments
DATA = 8  # one byte in so many is the data set's
HIDDEN = 512
VOCABULARY = 1024
LENGTH = 64


class Rows(Dataset):
    """Rows of a tensor that only the parent made."""

    def __init__(self, table, rows):
        self.table = table
        self.rows = rows

    def __len__(self):
        return self.rows

    def __getitem__(self, i):
        return self.table[(i * 7919) % len(self.table)]


class Mlp(nn.Module):
    """Square layers, as many as the footprint has room for."""

    def __init__(self, weights):
        super().__init__()
        count = max(2, weights // (HIDDEN * HIDDEN))
        layers = []
        for _ in range(count):
            layers += [nn.Linear(HIDDEN, HIDDEN), nn.ReLU()]
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(HIDDEN, 1)

    def forward(self, x):
        target = x.mean(dim=1, keepdim=True)
        return nn.functional.mse_loss(self.head(self.body(x)), target)


class Transformer(nn.Module):
    """Causal; predicts each token of a row from those before it."""

    def __init__(self, weights):
        super().__init__()
        layer = 12 * HIDDEN * HIDDEN
        count = max(1, (weights - 2 * VOCABULARY * HIDDEN) // layer)
        self.tokens = nn.Embedding(VOCABULARY, HIDDEN)
        self.body = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(
                HIDDEN, 8, 4 * HIDDEN, dropout=0.1, batch_first=True
            ),
            count,
        )
        self.head = nn.Linear(HIDDEN, VOCABULARY)
        mask = torch.full((LENGTH - 1, LENGTH - 1), float("-inf"))
        self.register_buffer("mask", torch.triu(mask, 1))

    def forward(self, rows):
        logits = self.head(self.body(self.tokens(rows[:, :-1]), self.mask))
        return nn.functional.cross_entropy(
            logits.flatten(0, 1), rows[:, 1:].flatten()
        )


def table(model, size):
    if model == "mlp":
        return torch.randn(max(1, size // 4 // HIDDEN), HIDDEN)
    rows = max(1, size // 8 // LENGTH)
    return torch.randint(VOCABULARY, (rows, LENGTH))


def main():
    model, mib, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    batch = int(sys.argv[4]) if len(sys.argv) > 4 else 16
    workers = int(sys.argv[5]) if len(sys.argv) > 5 else 2
    size = mib << 20
    torch.manual_seed(1)
    rows = table(model, size // DATA)
    weights = (size - size // DATA) // 4 // COPIES
    net = {"mlp": Mlp, "transformer": Transformer}[model](weights)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    data = Rows(rows, batch * STEPS_A_PASS)
    loader = DataLoader(
        data, batch_size=batch, num_workers=workers, shuffle=True
    )
    step = 0
    while step < steps:
        for rows in loader:
            began = time.monotonic()
            optimizer.zero_grad()
            loss = net(rows)
            loss.backward()
            optimizer.step()
            step += 1
            print("step", step, "loss", loss.item().hex(), flush=True)
            seconds = time.monotonic() - began
            print("step", step, "seconds %.4f" % seconds, file=sys.stderr)
            if step == steps:
                break


if __name__ == "__main__":
    main()
