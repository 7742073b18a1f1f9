# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The row of bench.sh for what observing the CUDA driver costs; sourced by it.
# The trainer on the software driver, without Horizon, with gpu=observe and with
# gpu=off, in turn. The software driver's kernels run on these processors, so a
# ratio of times says little: the share of a step is told by its launches and
# what each costs, which bench/cuda-launch measures next to each pair of runs.

cuda_model='--layers 4 --hidden 64 --heads 4 --seq 32 --batch 1'
cuda_pairs=7 cuda_steps=12

quick_cuda()
{
	cuda_pairs=2 cuda_steps=6
}

# The device's launches in a run's report.
launches_of()
{
	awk -f "$source/tests/real/flatten-json.awk" "$1" |
		awk '$1 == "gpu.launches" { print $2 }'
}

# cuda_run WAY STEPS PREFIX...: seconds of its middle step in $step.
cuda_run()
{
	local way=$1 steps=$2

	shift 2
	# shellcheck disable=SC2086 # options
	run "$way" env LD_LIBRARY_PATH="$work/driver" "$@" \
		"$trainer" --device cuda --text $text $cuda_model \
		--steps "$steps"
	step=$(step_seconds "$way" 1 999 | median)
	[ -n "$step" ] || problems+=("cuda, $way: no steps")
	losses "$way"
}

# What a launch of 12 words costs: known ones, and ones that never come again.
launch_cost()
{
	LD_PRELOAD=$cuda_preload HORIZON_GPU=observe \
		HORIZON_CUDA_DRIVER=$here/.libs/libfakecuda.so \
		"$here/cuda-launch" 12 | awk '
		/1000 in a circle/ { known = $(NF - 5) }
		/never the same/ { new = $(NF - 5) }
		END { print known, new }'
}

# Launches of a step: those of a run of 3 less those of one of 1.
launches_a_step()
{
	local n one three

	for n in 1 3; do
		cuda_run observed $n HORIZON_GPU=observe \
			HORIZON_PRELOAD="$cuda_preload" \
			horizon-run --report "$work/cuda-$n.json" --
	done
	one=$(launches_of "$work/cuda-1.json")
	three=$(launches_of "$work/cuda-3.json")
	echo $(((three - one) / 2))
}

cuda_row()
{
	local pair step without off launches
	local cuda_preload=${HORIZON_PRELOAD%/*}/libhorizon-cuda.so
	local driver=$top_builddir/tests/softcuda/libcuda.so.1

	[ -r "$driver" ] && [ -x "$here/cuda-launch" ] || {
		skip_row "cuda: make check builds the software driver"
		return
	}
	say "round $round: cuda; load $(cut -d ' ' -f 1 /proc/loadavg)"
	mkdir -p "$work/driver"
	ln -sf "$driver" "$work/driver/libcuda.so.1"
	launches=$(launches_a_step)
	for pair in $(seq $cuda_pairs); do
		cuda_run ram $cuda_steps
		without=$step
		cuda_run off $cuda_steps LD_PRELOAD="$cuda_preload" \
			HORIZON_GPU=off
		off=$step
		cuda_run observe $cuda_steps LD_PRELOAD="$cuda_preload" \
			HORIZON_GPU=observe
		same_lines cuda off
		same_lines cuda observe
		echo "$round $pair $without $off $step $launches" \
			"$(launch_cost)" >>"$work/cuda"
	done
	rm -f "$work"/*.out "$work"/*.losses
}

# Ratios are made within a pair; of all, the one in the middle.
cuda_lines()
{
	awk '
	function put(list, x,    j) {
		for (j = ++n[list]; j > 1 && v[list, j - 1] > x; j--)
			v[list, j] = v[list, j - 1]
		v[list, j] = x
	}
	function middle(list) { return v[list, int((n[list] + 1) / 2)] }
	NF == 8 && $6 > 0 {
		put("step", $3)
		put("off", $4 / $3)
		put("on", $5 / $3)
		put("launches", $6)
		put("known", $7)
		put("new", $8)
		put("share", 100 * $6 * $7 / 1e9 / $3)
		put("most", 100 * $6 * $8 / 1e9 / $3)
	}
	END {
		if (!n["step"])
			exit
		l = middle("launches")
		printf "cuda: a step of %.2f ms without Horizon; times %.3f " \
			"(%.3f..%.3f) with gpu=observe, %.3f (%.3f..%.3f) " \
			"with gpu=off, %d pairs\n", 1e3 * middle("step"), \
			middle("on"), v["on", 1], v["on", n["on"]], \
			middle("off"), v["off", 1], v["off", n["off"]], \
			n["step"]
		printf "cuda: %d launches a step of %d ns each (12 words " \
			"that were seen before) are %.3f %% of it; of %d ns " \
			"each (never seen before) %.3f %%\n", l, \
			middle("known"), middle("share"), middle("new"), \
			middle("most")
		printf "cuda: less than 2 %% of any step from %.2f ms on " \
			"(never seen before: %.2f ms)\n", \
			l * middle("known") / 0.02 / 1e6, \
			l * middle("new") / 0.02 / 1e6
	}' "$work/cuda"
}
