# SPDX-License-Identifier: Apache-2.0
"""Text work: regular expressions, json, subprocess, temporary files."""
import collections
import json
import re
import subprocess
import sys
import zlib

with open(sys.argv[1], encoding="ascii") as f:
    text = f.read()
words = re.findall(r"\b[a-z]{4,}\b", text)
top = collections.Counter(words).most_common(20)
print(top)
packed = json.dumps({"words": words, "top": top})
again = json.loads(packed)
print(len(packed), again["words"] == words, zlib.crc32(packed.encode()))
small = zlib.compress(text.encode(), 1)
print(zlib.decompress(small).decode() == text)
done = subprocess.run(
    ["tr", "a-z", "A-Z"], input=text.encode(), stdout=subprocess.PIPE, check=True
)
print(zlib.crc32(done.stdout), done.stdout[:40])
print(re.sub(r"(\w)(\w+)", r"\2\1", text[:2000000])[-200:])
