# SPDX-License-Identifier: Apache-2.0
"""Item 5: managed memory that is resident, against cudaMalloc memory; then
the same with the operands on the host. usage: speed.py LIBMANAGED"""
import contextlib
import ctypes
import statistics
import sys

import torch
import torch.nn.functional as F

from gpt import fact

lib = ctypes.CDLL(sys.argv[1])
lib.managed_move.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
lib.managed_mapped_percent.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
lib.managed_mapped_percent.restype = ctypes.c_double

ROUNDS = 11


def move(tensor, to_gpu):
    """Whole 2 MiB blocks of the tensor; tensors here are far bigger."""
    code = lib.managed_move(tensor.data_ptr(),
                            tensor.untyped_storage().nbytes(), to_gpu)
    if code:
        raise RuntimeError(f"prefetch: {code}")


def mapped(tensor):
    return lib.managed_mapped_percent(tensor.data_ptr(),
                                      tensor.untyped_storage().nbytes())


def randn(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda", dtype=dtype)


# Each makes its operands and gives (tensors, function of no argument that
# returns its result).

def gemm():
    a, b = (randn(8192, 8192, dtype=torch.bfloat16) for _ in "ab")
    c = torch.empty_like(a)
    return [a, b, c], lambda: torch.mm(a, b, out=c)


def sdpa():
    q, k, v = (randn(4, 16, 4096, 128, dtype=torch.bfloat16) for _ in "qkv")
    return [q, k, v], lambda: F.scaled_dot_product_attention(
        q, k, v, is_causal=True)


def layer():
    """Forward and backward of a wide linear layer and its norm."""
    x = randn(8192, 4096, dtype=torch.bfloat16)
    w = randn(4096, 4096, dtype=torch.bfloat16).requires_grad_()

    def run():
        w.grad = None
        F.layer_norm(x @ w, (4096,)).sum().backward()
        return w.grad
    return [x, w], run


def add_large():
    a, b = (randn(1 << 28) for _ in "ab")
    c = torch.empty_like(a)
    return [a, b, c], lambda: torch.add(a, b, out=c)


def copy_large():
    a = randn(1 << 28)
    c = torch.empty_like(a)
    return [a, c], lambda: c.copy_(a)


def copy_small():
    a = randn(1 << 22)
    c = torch.empty_like(a)

    def run():
        for i in range(100):
            c[i * 1024:i * 1024 + 1024].copy_(a[i * 1024:i * 1024 + 1024])
        return c[:102400]
    return [a, c], run


def upload_small():
    host = torch.randn(1024).pin_memory()
    c = torch.empty(1 << 22, device="cuda")

    def run():
        for i in range(100):
            c[i * 1024:i * 1024 + 1024].copy_(host, non_blocking=True)
        return c[:102400]
    return [c], run


def upload_small_pageable():
    host = torch.randn(1024)
    c = torch.empty(1 << 22, device="cuda")

    def run():
        for i in range(100):
            c[i * 1024:i * 1024 + 1024].copy_(host)
        return c[:102400]
    return [c], run


def upload_large():
    host = torch.randn(1 << 26).pin_memory()
    c = torch.empty(1 << 26, device="cuda")
    return [c], lambda: c.copy_(host, non_blocking=True)


def gather():
    """Random rows of 1 GiB: misses of the address translation."""
    table = randn(1 << 22, 64)
    rows = torch.randint(1 << 22, (1 << 21,), device="cuda")
    return [table, rows], lambda: table.index_select(0, rows)


def atomics():
    """Integers, so that the order of the adds does not matter."""
    table = torch.zeros(1 << 24, device="cuda", dtype=torch.int32)
    rows = torch.randint(1 << 24, (1 << 22,), device="cuda")
    ones = torch.ones(1 << 22, device="cuda", dtype=torch.int32)

    def run():
        table.zero_()
        return table.index_add_(0, rows, ones)
    return [table, rows, ones], run


def once(run):
    start, end = (torch.cuda.Event(enable_timing=True) for _ in "se")
    start.record()
    result = run()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end), result


def compare(make, pool):
    """The same operation on both kinds of memory, in turns."""
    name = make.__name__
    sides = {}
    for side in ("native", "managed"):
        torch.manual_seed(5)
        with memory(side, pool):
            sides[side] = make()
            sides[side][1]()
    torch.cuda.synchronize()
    times = {side: [] for side in sides}
    results = {}
    for _ in range(ROUNDS):
        for side, (_, run) in sides.items():
            with memory(side, pool):
                took, results[side] = once(run)
            times[side].append(took)
    middle = {side: statistics.median(t) for side, t in times.items()}
    for side, took in middle.items():
        fact(f"{name}_{side}_ms", took)
    fact(f"{name}_managed_over_native", middle["managed"] / middle["native"])
    fact(f"{name}_equal", torch.equal(results["native"], results["managed"]))
    fact(f"{name}_cpu_mapped_after_percent",
         max(mapped(t) for t in sides["managed"][0]))
    return sides["managed"], results["native"]


def memory(side, pool):
    if side == "native":
        return contextlib.nullcontext()
    return torch.cuda.use_mem_pool(pool)


def demoted(name, tensors, run, expect, pool):
    """The operands are on the host when the operation is launched."""
    for t in tensors:
        move(t, 0)
    fact(f"{name}_demoted_cpu_mapped_percent", min(map(mapped, tensors)))
    with memory("managed", pool):
        took, result = once(run)
        fact(f"{name}_demoted_first_ms", took)
        fact(f"{name}_demoted_equal", torch.equal(expect, result))
        took, _ = once(run)
    fact(f"{name}_demoted_second_ms", took)
    for t in tensors:
        move(t, 1)


def main():
    allocator = torch.cuda.memory.CUDAPluggableAllocator(
        sys.argv[1], "managed_alloc", "managed_free")
    torch.cuda.init()
    torch.zeros(1, device="cuda")
    bad = 0
    pool = torch.cuda.MemPool(allocator.allocator())
    for make in (gemm, sdpa, layer, add_large, copy_large, copy_small,
                 upload_small, upload_small_pageable, upload_large, gather,
                 atomics):
        try:
            (tensors, run), expect = compare(make, pool)
            demoted(make.__name__, tensors, run, expect, pool)
        except Exception as error:  # noqa: BLE001: the others still count
            fact(f"{make.__name__}_error", str(error)[:300])
            bad = 1
    sys.exit(bad)


main()
