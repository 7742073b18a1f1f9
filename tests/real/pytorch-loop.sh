#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# A PyTorch training loop on the CPU in half of what it takes when there is room
# (160 and 166 MiB): the losses are the same to the last bit, with forked data
# loaders. With TEST_SHORT, one model. One thread each in OpenMP and BLAS: a
# second one that spins costs more than all else on a busy machine, and sums in
# another order are other sums. PYTORCH_STEPS: from 5 on, workers are forked a
# second time, when everything that fits is in RAM and stays shared with them.
. "${top_srcdir:?}/tests/real/functions.sh"
python=/usr/bin/python3
need_package $python python3
$python -c 'import importlib.util as u; exit(not u.find_spec("torch"))' ||
	skip "no module torch: install the package python3-torch"
need_move

OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
export OMP_NUM_THREADS OPENBLAS_NUM_THREADS
steps=${PYTORCH_STEPS:-4}

for model in mlp transformer; do
	[ "$model" = mlp ] || [ -z "${TEST_SHORT-}" ] || continue
	set -- $python "$real/pytorch-loop.py" $model 136 "$steps" 2
	run 0 timeout -k 5 200 "$@"
	mv "$tmp/out" "$tmp/plain"
	[ "$(grep -c '^step [0-9]* loss .*0x.*p' "$tmp/plain")" -eq "$steps" ] ||
		fail "$model: not $steps losses"
	run 0 timeout -k 5 200 horizon-run --ram 80M --store "$store" \
		--report "$report" -- "$@"
	cmp -s "$tmp/plain" "$tmp/out" ||
		fail "$model: not the losses $(cat "$tmp/plain")"
	must_have_moved "$model"
	[ "$(total ranges.forks)" -ge 2 ] || fail "$model: no workers"
	echo "ok $model: $(sed -n '$p' "$tmp/plain");" \
		"$(mib store.write_bytes) written, $(mib store.read_bytes) read"
done
