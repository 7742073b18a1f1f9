# SPDX-License-Identifier: Apache-2.0
"""Item 7: do a launch's arguments name every tensor that it touches? Runs what
programs do under the tripwire. usage: coverage.py LIBTRIPWIRE SECONDS"""
import ctypes
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

import gpt

lib = ctypes.CDLL(sys.argv[1])
lib.trip_control.argtypes = [ctypes.c_void_p, ctypes.c_uint]
end = time.monotonic() + float(sys.argv[2])


def randn(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda", dtype=dtype)


# Each makes its operands and gives the function to be watched.

def control_hidden():
    """The tripwire itself: an address that only memory holds."""
    x = torch.zeros(8, device="cuda", dtype=torch.int32)
    table = torch.tensor([x.data_ptr()], device="cuda")

    def run():
        code = lib.trip_control(table.data_ptr(), 1)
        if code:
            raise RuntimeError(f"launch: {code}")
    return run


def control_named():
    """And nothing but named addresses."""
    x, y = randn(1024), randn(1024)
    return lambda: x.add_(y)


def eager_f32():
    return gpt.Trainer(dtype=torch.float32).step


def eager_bf16():
    return gpt.Trainer(dtype=torch.bfloat16, optimizer="fused").step


def gemm_big():
    """Sizes at which the libraries choose their TMA kernels."""
    a, b = (randn(1024, 1024, dtype=torch.bfloat16) for _ in "ab")
    c, d = (randn(1024, 1024) for _ in "cd")
    bias = randn(1024, dtype=torch.bfloat16)

    def run():
        torch.addmm(bias, a, b)
        a.t() @ b
        c @ d
        torch.bmm(a.view(4, 256, 1024), b.view(4, 1024, 256))
        torch.baddbmm(a.view(16, 256, 256), a.view(16, 256, 256),
                      b.view(16, 256, 256))
    return run


def attention():
    q, k, v = (randn(2, 8, 256, 64, dtype=torch.bfloat16).requires_grad_()
               for _ in "qkv")

    def run():
        F.scaled_dot_product_attention(q, k, v, is_causal=True).sum() \
            .backward()
    return run


def grouped_mm():
    a = randn(256, 256, dtype=torch.bfloat16)
    b = randn(4, 256, 256, dtype=torch.bfloat16)
    ends = torch.tensor([64, 128, 192, 256], device="cuda",
                        dtype=torch.int32)
    return lambda: torch._grouped_mm(a, b.transpose(1, 2), offs=ends)


def convolution():
    net = nn.Sequential(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32),
                        nn.ReLU(), nn.Conv2d(32, 32, 3, stride=2)).cuda()
    x = randn(4, 16, 32, 32)

    def run():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            net(x).float().sum().backward()
    return run


def indexing():
    x = randn(4096, 64)
    rows = torch.randint(4096, (512,), device="cuda")

    def run():
        x.index_add_(0, rows, x[rows])
        x.scatter_add_(0, rows[:, None].expand(-1, 64), x[rows] * 2)
        torch.sort(x[:, 0])
        torch.topk(x, 5, dim=1)
        torch.cumsum(x, 0)
        torch.unique(rows)
        torch.nonzero(x > 1)
        torch.cat([x, x, x[rows]])
        torch.multinomial(x.softmax(1), 2)
        F.dropout(x, 0.1)
    return run


def linear_algebra():
    a = randn(4, 64, 64)
    spd = a @ a.transpose(1, 2) + 64 * torch.eye(64, device="cuda")

    def run():
        torch.linalg.cholesky(spd)
        torch.linalg.solve(spd, a)
        torch.fft.rfft(a)
        a.to_sparse().to_dense()
    return run


def recurrent():
    net = nn.LSTM(64, 64, num_layers=2).cuda()
    x = randn(16, 4, 64)
    return lambda: net(x)[0].sum().backward()


def graph():
    """One step of training as a graph: the whole set, in one launch."""
    trainer = gpt.Trainer(dtype=torch.bfloat16, optimizer="fused")
    lib.trip_keep(1)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            trainer.step()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    made = torch.cuda.CUDAGraph()
    with torch.cuda.graph(made):
        trainer.step()
    return lambda: (made.replay(), trainer)[0]


def compiled():
    trainer = gpt.Trainer(dtype=torch.bfloat16)
    trainer.model = torch.compile(trainer.model)
    return trainer.step


def watch(make):
    name = make.__name__
    start = time.monotonic()
    try:
        run = make()
        if make is not control_hidden:
            run()
        torch.cuda.synchronize()
        lib.trip_start()
        run()
        torch.cuda.synchronize()
    except Exception as error:  # noqa: BLE001: the others still count
        gpt.fact(f"{name}_error", str(error)[:300])
    missed = lib.trip_stop(name.encode())
    lib.trip_keep(0)
    gpt.fact(f"{name}_seconds", time.monotonic() - start)
    return missed


def main():
    torch.cuda.memory.change_current_allocator(
        torch.cuda.memory.CUDAPluggableAllocator(
            sys.argv[1], "trip_alloc", "trip_free"))
    torch.manual_seed(2)
    # The tripwire must tell these two apart, or it tells nothing.
    works = watch(control_hidden) == 1 and watch(control_named) == 0
    gpt.fact("tripwire_works", works)
    if not works:
        sys.exit(1)
    for make in (eager_f32, eager_bf16, gemm_big, attention, grouped_mm,
                 graph, indexing, convolution, linear_algebra, recurrent,
                 compiled):
        if time.monotonic() > end:
            gpt.fact("not_reached", make.__name__)
            break
        watch(make)


main()
