# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Rows of bench.sh for scattered access and for programs that nobody here
# wrote; sourced by it.

# zipf: MiB of rows in half of that, seconds of each measurement.
zipf_mib=1024 zipf_seconds=8
# fastText: buckets of 400 bytes, words of the corpus.
buckets=1100000 words=150000
# PyTorch: MiB, steps, as many more for Horizon to learn in, steps under swap;
# one pass of its data is four steps.
torch_mib=1024 torch_steps=9 torch_learning=8 torch_swap_steps=5
# Seconds after which a run of these is stopped.
patience=240

quick_programs()
{
	zipf_mib=512 zipf_seconds=2
	words=8000
	torch_mib=512 torch_steps=4 torch_swap_steps=4
	patience=60
}

# each_way ROW MIB LIMIT TAKE COMMAND...: one round. TAKE WAY makes the samples.
each_way()
{
	local row=$1 mib=$2 limit=$(($3 << 20)) take=$4 longest=$patience

	shift 4
	say "round $round: $row, $mib MiB in $((limit >> 20));" \
		"load $(cut -d ' ' -f 1 /proc/loadavg)"
	run ram "$@"
	$take ram
	run room horizon-run --ram $((mib * 5 / 4 + 512))M --store "$dir" -- "$@"
	$take room
	[ "$kind" = v1 ] || [ "$kind" = v2 ] || return
	cgroup "$row-$round-tiered" $limit none || return
	inside horizon horizon-run --ram 100% --store "$dir" \
		--report "$work/$row.json" -- "$@"
	$take horizon
	if swap_on && cgroup "$row-$round-swap" $limit swap; then
		inside swap "$@"
		$take swap
	else
		problems+=("$row: no swap file in $dir")
	fi
	swap_off
}

skip_row()
{
	skipped+=("$*")
	say "SKIPPED: $*"
}

# --- zipf -------------------------------------------------------------------

take_zipf()
{
	local way=$1 threads

	for threads in 1 2; do
		awk -v t=$threads '$2 == "threads" && $3 == t && $7 > 0 {
			print 100000 / $7
		}' "$work/$way.out" | sample "zipf-$threads" "$way"
	done
	awk -v way="$way" '$2 == "threads" {
		print $3, way, $7, $9, $11, $13, $15, $17
	}' "$work/$way.out" >>"$work/zipf"
}

zipf_row()
{
	each_way zipf $zipf_mib $((zipf_mib / 2)) take_zipf \
		"$here/zipf" $zipf_mib $zipf_seconds
}

# Of each way the round in the middle, by its rate.
zipf_lines()
{
	sort -k 1,1n -k 2,2 -k 3,3n "$work/zipf" | awk '
	function out() {
		split(line[int((n + 1) / 2)], f, " ")
		printf "zipf, %d thread(s), %s: %d accesses/s, p50 %s us, " \
			"p99 %s us; %d slower than 2 us, of these p50 %s " \
			"us, p99 %s us\n", f[1], f[2], f[3], f[4], f[5], \
			f[6], f[7], f[8]
	}
	$1 " " $2 != key && n { out(); n = 0 }
	{ key = $1 " " $2; line[++n] = $0 }
	END { if (n) out() }'
}

# --- fastText ---------------------------------------------------------------

take_fasttext()
{
	local way=$1 sum

	if [ "$status" -eq 0 ]; then
		cat "$work/$way.seconds" | sample fasttext "$way"
		sum=$(sha256sum <"$model.bin")
		[ "$way" = ram ] && fasttext_sum=$sum
		[ "$sum" = "$fasttext_sum" ] ||
			problems+=("fasttext, $way: another model")
	elif [ "$status" -eq 124 ]; then
		problems+=("fasttext, $way: not done after $patience s")
	fi
	rm -f "$model".*
}

fasttext_row()
{
	local mib=$((buckets * 400 / 1048576 + 16))
	local model=$dir/horizon-bench.$$.model

	command -v fasttext >/dev/null || {
		skip_row "fasttext: install the package fasttext"
		return
	}
	[ -s "$work/words" ] || awk -v words=$words -v vocabulary=20000 \
		-f "$source/tests/real/zipf-words.awk" >"$work/words"
	each_way fasttext $mib $((mib / 2)) take_fasttext \
		fasttext skipgram -input "$work/words" -output "$model" \
		-bucket $buckets $fasttext_options
}

# --- PyTorch ----------------------------------------------------------------

# torch_seconds WAY FROM TO: of the steps behind FROM, up to TO.
torch_seconds()
{
	awk -v from="$2" -v to="$3" '$1 == "step" && $3 == "seconds" &&
		$2 > from && $2 <= to { print $4 }' "$work/$1.err"
}

same_torch_losses()
{
	[ -e "$work/$2.out" ] || return
	cut -d ' ' -f 2- "$work/$2.out" >"$work/$2.losses"
	same_lines "$1" "$2"
}

pytorch_row()
{
	local python=/usr/bin/python3 torch way
	local common all more few
	# What Python, the library and two loaders take themselves.
	local base=200

	$python -c 'import torch' 2>/dev/null || {
		skip_row "pytorch: install the package python3-torch"
		return
	}
	for torch in mlp transformer; do
		common=(env OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 "$python"
			"$source/tests/real/pytorch-loop.py" "$torch" "$torch_mib")
		# shellcheck disable=SC2034 # by name
		all=("${common[@]}" "$torch_steps" 2)
		# shellcheck disable=SC2034 # by name
		more=("${common[@]}" $((torch_steps + torch_learning)) 2)
		# shellcheck disable=SC2034 # by name
		few=("${common[@]}" "$torch_swap_steps" 2)
		say "round $round: $torch, $torch_mib MiB in" \
			"$((torch_mib / 2 + base));" \
			"load $(cut -d ' ' -f 1 /proc/loadavg)"
		four $torch torch_seconds $torch_mib \
			$((torch_mib / 2 + base)) $torch_learning all more few
		for way in ram room horizon swap; do
			same_torch_losses $torch $way
		done
		rm -f "$work"/*.losses "$work"/*.out
	done
}

program_notes()
{
	local s

	[ ! -s "$work/zipf" ] || zipf_lines
	for s in "${skipped[@]}"; do
		echo "SKIPPED: $s"
	done
	! grep -Eq '^(zipf|fasttext|mlp|transformer) ' "$work/summary" ||
		echo "zipf: seconds of 100000 accesses to 400 bytes of" \
			"$zipf_mib MiB; fasttext: of a run, $words words," \
			"$buckets buckets; mlp, transformer: of a PyTorch step," \
			"$torch_mib MiB, two forked loaders"
}
