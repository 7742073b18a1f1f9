# SPDX-License-Identifier: Apache-2.0
"""A small GPT and its steps, for the probes that need a real framework."""
import json

import torch
import torch.nn.functional as F
from torch import nn


def fact(key, value):
    """One line that run.sh puts into the object of the item."""
    if isinstance(value, float):
        value = float(f"{value:.6g}")
        if value != value or abs(value) == float("inf"):
            value = None
    print(f"{key}\t{json.dumps(value)}", flush=True)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = self.qkv(self.norm1(x)).split(w, dim=2)
        q, k, v = (y.view(b, t, self.heads, w // self.heads).transpose(1, 2)
                   for y in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, w))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, vocab=512, width=256, heads=4, layers=2, length=128):
        super().__init__()
        self.token = nn.Embedding(vocab, width)
        self.place = nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads)
                                    for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab, bias=False)

    def forward(self, tokens, targets):
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.token(tokens) + self.place(places)
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.float().flatten(0, 1),
                               targets.flatten())


def batch(vocab=512, length=128, count=4, seed=1):
    """Tokens and targets; made on the CPU, so the same everywhere."""
    made = torch.randint(vocab, (count, length + 1),
                         generator=torch.Generator().manual_seed(seed))
    return made[:, :-1].contiguous().cuda(), made[:, 1:].contiguous().cuda()


class Trainer:
    def __init__(self, dtype=torch.float32, optimizer="foreach", **shape):
        torch.manual_seed(7)
        self.model = GPT(**shape).cuda()
        self.dtype = dtype
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=1e-3, capturable=True,
            **{optimizer: True})
        self.tokens, self.targets = batch(
            length=shape.get("length", 128), count=4)

    def step(self):
        with torch.autocast("cuda", dtype=torch.bfloat16,
                            enabled=self.dtype != torch.float32):
            loss = self.model(self.tokens, self.targets)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()
