# SPDX-License-Identifier: Apache-2.0
"""Big bytearrays and lists: filled, changed, sliced, compared."""
import array
import hashlib

MIB = 1 << 20

big = bytearray(160 * MIB)
for i in range(0, len(big), MIB):
    big[i : i + 4096] = hashlib.sha256(b"%d" % i).digest() * 128
for _ in range(2):
    for i in range(0, len(big), 2 * MIB):
        big[i + 77] = (big[i + 77] + 1) & 255
print(hashlib.sha256(big).hexdigest())

half = bytes(big[: 80 * MIB])
print(half == big[: 80 * MIB], big.count(b"\1"))
big.extend(half[: 10 * MIB])
print(len(big), hashlib.sha256(big[-20 * MIB :]).hexdigest())
del big, half

numbers = list(range(200000))
numbers.reverse()
numbers.sort(key=lambda n: (n * 7919) % 200003)
print(sum(n * i for i, n in enumerate(numbers)) % 1000003)
doubles = array.array("d", (n / 3 for n in numbers))
doubles *= 30
print(len(doubles), sum(doubles[::1001]))
