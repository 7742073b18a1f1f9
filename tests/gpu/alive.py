# SPDX-License-Identifier: Apache-2.0
"""Item 1: matmul, backward and an optimizer in torch; prints exact losses."""
import os

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch  # noqa: E402

import gpt  # noqa: E402


def main():
    torch.use_deterministic_algorithms(True, warn_only=True)
    for dtype in (torch.float32, torch.bfloat16):
        trainer = gpt.Trainer(dtype=dtype)
        for _ in range(10):
            print(dtype, trainer.step().item().hex())
    torch.manual_seed(3)
    a = torch.randn(2048, 2048, device="cuda", requires_grad=True)
    loss = (a @ a.T).tanh().sum()
    loss.backward()
    print("matmul", loss.item().hex(), a.grad.sum().item().hex())


main()
