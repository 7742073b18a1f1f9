# SPDX-License-Identifier: Apache-2.0
"""Forked workers read, and the parent changes, one big array."""
import hashlib
import multiprocessing
import os

MIB = 1 << 20
PIECES = 12
data = bytearray(PIECES * 8 * MIB)
for n in range(len(data) // 4096):
    data[n * 4096 : n * 4096 + 8] = n.to_bytes(8, "little")
    data[n * 4096 + 8 : n * 4096 + 4096] = bytes([n % 251]) * 4088


def digest(piece):
    at = piece * 8 * MIB
    data[at] ^= piece  # the child's own copy
    return hashlib.md5(data[at : at + 8 * MIB]).hexdigest()


def main():
    context = multiprocessing.get_context("fork")
    for round_ in range(2):
        with context.Pool(2) as pool:
            found = pool.map_async(digest, range(PIECES), chunksize=1)
            mine = hashlib.sha256(data).hexdigest()
            print(round_, mine, *found.get(120), sep="\n")
        for at in range(0, len(data), 64 * 1024):
            data[at] ^= 1
    pid = os.fork()
    if pid == 0:
        os._exit(sum(data[:: 4096 + 1]) % 100)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))


if __name__ == "__main__":
    main()
