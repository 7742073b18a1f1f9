# SPDX-License-Identifier: Apache-2.0
#
# file-maps.py numpy|torch FILE: map FILE privately, read all of it twice,
# change every 1000th value and read again. Prints sums.
import sys

import numpy


def values(how, path):
    if how == "numpy":
        return numpy.memmap(path, dtype=numpy.int32, mode="c")
    import torch

    n = numpy.memmap(path, dtype=numpy.int32, mode="r").size
    return torch.from_file(path, shared=False, size=n, dtype=torch.int32).numpy()


def main():
    a = values(sys.argv[1], sys.argv[2])
    step = 1 << 20
    for turn in range(4):
        if turn == 2:
            a[::1000] += 1
        sums = (int(a[i : i + step].sum(dtype=numpy.int64)) for i in range(0, a.size, step))
        print(turn, sum(sums))


main()
