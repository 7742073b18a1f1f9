# SPDX-License-Identifier: Apache-2.0
"""Item 8: the time of a torch step that is bound by its launches, and of one
that is not. usage: overhead.py SIDE, the word before each key"""
import statistics
import sys
import time

import torch

import gpt


def step_ms(steps, **shape):
    trainer = gpt.Trainer(dtype=torch.bfloat16, **shape)
    for _ in range(5):
        trainer.step()
    took = []
    for _ in range(steps):
        torch.cuda.synchronize()
        start = time.perf_counter()
        trainer.step()
        torch.cuda.synchronize()
        took.append(time.perf_counter() - start)
    return statistics.median(took) * 1e3


def main():
    side = sys.argv[1]
    gpt.fact(f"torch_small_step_{side}_ms", step_ms(100))
    gpt.fact(f"torch_big_step_{side}_ms",
             step_ms(20, width=2048, heads=16, layers=8, length=1024))


main()
