#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# NumPy and PyTorch on private maps of a file larger than the budget: the sums
# are right, and the file is as it was.
. "${top_srcdir:?}/tests/real/functions.sh"
python=/usr/bin/python3
need_package $python python3
$python -c 'import importlib.util as u; exit(not u.find_spec("numpy"))' ||
	skip "no module numpy: install the package python3-numpy"
case $(stat -f -c %T "$work") in
tmpfs | ramfs) skip "$work is in memory: set TMPDIR" ;;
esac
need_move

# 96 MiB and some bytes
seq 10000000 11000000 | head -c 6291456 >"$work/part"
for i in $(seq 1000 1015); do
	cat "$work/part"
	printf %s "$i"
done >"$work/file"
cksum "$work/file" >"$work/before"

try()
{
	run 0 $python "$real/file-maps.py" "$1" "$work/file"
	mv "$tmp/out" "$tmp/plain"
	run 0 timeout -k 5 100 horizon-run --ram 80M --store "$store" \
		--report "$report" -- \
		$python "$real/file-maps.py" "$1" "$work/file"
	cmp -s "$tmp/plain" "$tmp/out" ||
		fail "$1: $(cat "$tmp/out") and not $(cat "$tmp/plain")"
	[ "$(total store.clean_drops)" -gt 48 ] ||
		fail "$1: the file was not tiered"
	[ "$(total store.errors)" -eq 0 ] || fail "$1: errors"
	cksum "$work/file" | cmp -s - "$work/before" ||
		fail "$1: the file has changed"
	echo "ok $1: $(total store.clean_drops) blocks dropped," \
		"$(mib store.write_bytes) written"
}

try numpy
if $python -c 'import importlib.util as u; exit(not u.find_spec("torch"))'; then
	try torch
else
	echo "no module torch: PyTorch was not tried"
fi
