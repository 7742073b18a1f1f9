#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# bench.sh [--quick] [--rounds N] [--only ROW] [--dir DIRECTORY]
#
# make bench: the trainer at half its footprint, a sweep over twice the memory,
# rows reached at random, fastText, PyTorch, small allocations, and what
# observing a CUDA driver costs; each under Horizon and under what there is
# without it. Every round runs all ways of a row one after the other, so that
# noise meets all of them; ratios are made within a round, and the medians
# shown. A table on stdout, the same in Markdown in results.md.
set -u
LC_ALL=C
# On a busy machine a thread that spins for one that does not run costs more
# than anything measured here. The same for all ways.
export OMP_WAIT_POLICY=passive
TIMEFORMAT='%U %S'

here=${top_builddir:?}/tests/bench
source=${top_srcdir:?}
trainer=$top_builddir/tests/trainer/gpt-train
text=/usr/share/common-licenses/GPL-3
[ -r $text ] || text=$source/COPYING

dir=/var/tmp rounds=3 only='' longest=300
all_rows='malloc sweep trainer zipf fasttext pytorch cuda'
model='--layers 10 --hidden 768 --heads 12 --seq 64 --batch 4'
steps=4 swap_steps=2
sweep_limit=512 passes=5 swap_passes=2
# Steps and passes that Horizon needs to learn; shown in a row of their own.
steps_learning=10 passes_learning=8
# Budgets of the trainer beside a half, in per cent of its footprint.
budgets='25 75 90'
full_steps=6
raw_mib=4096 raw_seconds=3 swap_mib=6144 pairs=10000000
# No round is begun later than this, in seconds.
budget=1320
. "$source/tests/bench/programs.sh"
. "$source/tests/bench/cuda.sh"

quick()
{
	rounds=1
	model='--layers 6 --hidden 512 --heads 8 --seq 32 --batch 2'
	steps=4 swap_steps=3
	sweep_limit=256 passes=3 swap_passes=2
	steps_learning=8
	budgets=75
	raw_mib=512 raw_seconds=1 swap_mib=1024 pairs=1000000
	quick_programs
	quick_cuda
}

usage()
{
	echo "usage: bench.sh [--quick] [--rounds N]" \
		"[--only ROW] [--dir DIRECTORY]; ROW: ${all_rows// /, }" >&2
	exit 2
}

while [ $# -gt 0 ]; do
	case $1 in
	--quick) quick ;;
	--rounds) rounds=${2:?}; shift ;;
	--only)
		only=${2:?}
		[[ " $all_rows " = *" $only "* ]] || usage
		shift
		;;
	--dir) dir=${2:?}; shift ;;
	*) usage ;;
	esac
	shift
done

say()
{
	printf '==> %s\n' "$*" >&2
}

# --- places that are cleaned up ---------------------------------------------

work=$(mktemp -d "${TMPDIR:-/tmp}/horizon-bench.XXXXXX") || exit 1
tag=horizon-bench-$$ swap_file=$dir/horizon-bench.$$.swap
. "$source/tests/bench/limits.sh"

cleanup()
{
	swap_off
	groups_off
	rm -rf "$work" "$dir/horizon-bench.$$".*
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# --- one run ----------------------------------------------------------------

# run NAME COMMAND...: stdout with a time before each line in NAME.out,
# status in $status, and the cores that others used in NAME.noise.
run()
{
	local name=$1 ticks began

	shift
	ticks=$(busy_ticks) began=$EPOCHREALTIME
	{ time timeout -k 5 "$longest" "$@" 2>"$work/$name.err"; } \
		2>"$work/$name.cpu" | while read -r line; do
		echo "$EPOCHREALTIME $line"
	done >"$work/$name.out"
	status=${PIPESTATUS[0]}
	awk -v ticks="$ticks" -v began="$began" -v now="$EPOCHREALTIME" \
		-v busy="$(busy_ticks)" -v hz="$(getconf CLK_TCK)" '
	NF == 2 { own = $1 + $2 }
	END {
		other = ((busy - ticks) / hz - own) / (now - began)
		printf "%.2f\n", (other > 0 ? other : 0)
		printf "%.3f\n", now - began >seconds
	}' seconds="$work/$name.seconds" "$work/$name.cpu" >"$work/$name.noise"
	case $status in
	0) ;;
	124) say "$name: stopped after $longest s; what it did counts" ;;
	137) problems+=("$row, $name: killed, by the limit or out of time") ;;
	*)
		problems+=("$row, $name: failed with $status")
		tail -n 5 "$work/$name.err" >&2
		;;
	esac
}

# inside COMMAND...: run it in $cg.
inside()
{
	local name=$1

	shift
	# shellcheck disable=SC2016 # for the inner shell
	run "$name" sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$cg" "$@"
}

# Samples: "row way round seconds" a line, in $work/samples.
sample()
{
	awk -v head="$1 $2 $round" '{ print head, $1 }' >>"$work/samples"
	echo "$1 $2 $(cat "$work/$2.noise")" >>"$work/noise"
}

# step_seconds WAY FROM TO: seconds of these steps; not of the first, which also
# fills memory.
step_seconds()
{
	awk -v from="$2" -v to="$3" '
	$2 == "step" {
		if ($3 > 1 && $3 >= from && $3 <= to && last)
			print $1 - last
		last = $1
	}' "$work/$1.out"
}

pass_seconds()
{
	awk -v from="$2" -v to="$3" \
		'$2 == "pass" && $3 >= from && $3 <= to { print $4 }' \
		"$work/$1.out"
}

# same_lines LABEL WAY: as many lines of $work/WAY.losses as both have are those
# of $work/ram.losses.
same_lines()
{
	local n m

	n=$(wc -l <"$work/$2.losses")
	m=$(wc -l <"$work/ram.losses")
	n=$((n < m ? n : m))
	[ "$n" -gt 0 ] && head -n "$n" "$work/$2.losses" |
		cmp -s - <(head -n "$n" "$work/ram.losses") ||
		problems+=("$1 $2, round $round: wrong or no losses")
}

# What the trainer printed, less its steps' numbers and its speed.
losses()
{
	sed 's/^[^ ]* //; s/ tok.*//' "$work/$1.out" >"$work/$1.losses"
}

same_losses()
{
	losses "$1"
	same_lines trainer "$1"
}

# --- rows -------------------------------------------------------------------

# four ROW SAMPLER MIB LIMIT LEARNING LONG LONGER SHORT: all ways of a row, one
# round. LONG, LONGER and SHORT are arrays: the command, one that has LEARNING
# steps more, and a shorter one for swap.
four()
{
	local row=$1 sampler=$2 mib=$3 limit=$(($4 << 20)) learning=$5
	local -n long=$6 longer=$7 short=$8

	run ram "${long[@]}"
	$sampler ram 1 999 | sample "$row" ram
	run room horizon-run --ram $((mib * 5 / 4 + 512))M --store "$dir" -- \
		"${long[@]}"
	$sampler room 1 999 | sample "$row" room
	[ "$kind" = v1 ] || [ "$kind" = v2 ] || return
	cgroup "$row-$round-tiered" $limit none || return
	inside horizon horizon-run --ram 100% --store "$dir" \
		--report "$work/$row.json" -- "${longer[@]}"
	cp "$work/horizon.noise" "$work/learning.noise"
	$sampler horizon 1 "$learning" | sample "$row" learning
	$sampler horizon $((learning + 1)) 999 | sample "$row" horizon
	if swap_on && cgroup "$row-$round-swap" $limit swap; then
		inside swap "${short[@]}"
		$sampler swap 1 999 | sample "$row" swap
	else
		problems+=("$row: no swap file in $dir")
	fi
	swap_off
}

# What moved in the trainer's run at PCT of its footprint, for notes().
bytes()
{
	local pct=$1 way=$2 capacity optimal step room mixed

	capacity=$(member "tiers[0].capacity_bytes") || return
	optimal=$("$here/optimal" "$work/full.trace" $full_steps \
		$((capacity >> 20))) || return
	step=$(middle trainer "$way") room=$(middle trainer room)
	mixed=$(awk '$1 == "mixed" { print $2 }' "$work/raw")
	echo "$pct $(member since_lock.store.read_bytes)" \
		"$(member since_lock.store.write_bytes)" \
		"$(member since_lock.seconds)" \
		"$(member since_lock.faults.demand)" \
		"$(member "since_lock.moves[1].count")" \
		"$step $room $mixed $optimal" >>"$work/bytes"
}

# A number of the report of the trainer's last run under a limit.
member()
{
	awk -f "$source/tests/real/flatten-json.awk" "$work/trainer.json" |
		awk -v key="$1" '$1 == key { print $2; found = 1 }
			END { exit !found }'
}

median()
{
	sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

# Median seconds of a way in this round.
middle()
{
	awk -v head="$1 $2 $round" '$1 " " $2 " " $3 == head { print $4 }' \
		"$work/samples" | median
}

# The trainer at each of $budgets; "$@" is the command.
at_budgets()
{
	local pct

	for pct in $budgets; do
		cgroup "trainer-$round-$pct" \
			$(((trainer_mib * pct / 100) << 20)) none || return
		inside "at$pct" horizon-run --ram 100% --store "$dir" \
			--report "$work/trainer.json" -- "$@"
		step_seconds "at$pct" $((steps_learning + 1)) 999 |
			sample trainer "at$pct"
		bytes "$pct" "at$pct"
	done
}

full_trace()
{
	[ -s "$work/full.trace" ] ||
		horizon-run --ram $((trainer_mib * 5 / 4 + 512))M \
			--store "$dir" --trace "$work/full.trace" \
			--set trace=full -- "$@" >/dev/null 2>&1
}

trainer_row()
{
	local mib way
	# shellcheck disable=SC2206 # options
	local common=("$trainer" --text $text $model)
	# shellcheck disable=SC2034 # by name
	local all=("${common[@]}" --steps "$steps")
	# shellcheck disable=SC2034 # by name
	local more=("${common[@]}" --steps $((steps + steps_learning)))
	# shellcheck disable=SC2034 # by name
	local few=("${common[@]}" --steps "$swap_steps")

	mib=$("${common[@]}" --steps 0 2>&1 |
		sed -n 's/.*footprint \([0-9]*\) MiB.*/\1/p')
	trainer_mib=$mib
	disk
	full_trace "${common[@]}" --steps $full_steps
	say "round $round: trainer, $mib MiB in $((mib / 2)) MiB;" \
		"load $(cut -d ' ' -f 1 /proc/loadavg)"
	four trainer step_seconds "$mib" $((mib / 2)) $steps_learning \
		all more few
	if [ -s "$work/trainer.json" ]; then
		bytes 50 horizon
		at_budgets "${more[@]}"
	fi
	# shellcheck disable=SC2086 # a list
	for way in ram room horizon swap $(printf 'at%s ' $budgets); do
		[ ! -e "$work/$way.out" ] || same_losses $way
	done
	rm -f "$work"/*.out
}

# What the disk gives, once a round.
disk()
{
	[ "${disk_round:-}" != "$round" ] || return 0
	disk_round=$round
	"$here/rawio" "$dir" $raw_mib $raw_seconds >"$work/raw" ||
		problems+=("rawio failed")
	sed 's/^/    raw /; s/$/ MiB\/s/' "$work/raw" >&2
}

# Bytes a second through the store against what the disk gives now.
bandwidth()
{
	local mixed

	mixed=$(awk '$1 == "mixed" { print $2 }' "$work/raw")
	awk -f "$source/tests/real/flatten-json.awk" "$work/sweep.json" |
		awk -v mixed="${mixed:-0}" -v out="$work/horizon.out" '
	/^store\.(read|write)_bytes / { bytes += $2 }
	/^since_lock\.store\.(read|write)_bytes / { locked += $2 }
	$1 == "since_lock.seconds" { since = $2 }
	END {
		while ((getline line < out) > 0) {
			split(line, f, " ")
			s += f[2] == "fill" ? f[3] : f[4]
		}
		if (since) { # else it was not locked
			s = since
			bytes = locked
		}
		if (s && mixed)
			printf "%.0f %.0f %.1f\n", bytes / s / 1048576, mixed,
				100 * bytes / s / 1048576 / mixed
	}' >>"$work/bandwidth"
}

sweep_row()
{
	# shellcheck disable=SC2034 # by name
	local all=("$here/sweep" $((2 * sweep_limit)) "$passes")
	# shellcheck disable=SC2034 # by name
	local more=("$here/sweep" $((2 * sweep_limit))
		$((passes + passes_learning)))
	# shellcheck disable=SC2034 # by name
	local few=("$here/sweep" $((2 * sweep_limit)) "$swap_passes")

	say "round $round: sweep over $((2 * sweep_limit)) MiB in" \
		"$sweep_limit MiB; load $(cut -d ' ' -f 1 /proc/loadavg)"
	disk
	four sweep pass_seconds $((2 * sweep_limit)) $sweep_limit \
		$passes_learning all more few
	[ ! -e "$work/sweep.json" ] || bandwidth
	rm -f "$work"/*.out
}

malloc_row()
{
	local so

	so=$(ldconfig -p | awk '/libjemalloc\.so\.2/ { print $NF; exit }')
	[ -n "$so" ] || { problems+=("malloc: no libjemalloc.so.2"); return; }
	say "round $round: small allocations"
	"$here/malloc_small" $pairs | sed "s/^/libc $round /"
	LD_PRELOAD=$so "$here/malloc_small" $pairs | sed "s/^/jemalloc $round /"
	horizon-run -- "$here/malloc_small" $pairs | sed "s/^/horizon $round /"
} >>"$work/malloc"

# --- tables -----------------------------------------------------------------

# "row way seconds min max n to_ram to_room noise"; ratios are medians of the
# ratios of each round.
summary()
{
	sort -k 1,3 -k 4,4n "$work/samples" | awk -v noise="$work/noise" '
	function push(list, x) { v[list, ++n[list]] = x }
	function median(list,    i, j, t, c) {
		c = n[list]
		for (i = 2; i <= c; i++)
			for (j = i; j > 1 && v[list, j] < v[list, j - 1]; j--) {
				t = v[list, j]
				v[list, j] = v[list, j - 1]
				v[list, j - 1] = t
			}
		if (!c)
			return "-"
		return (v[list, int((c + 1) / 2)] + v[list, int(c / 2) + 1]) / 2
	}
	function ratio(row, way, to,    r, a, b, name) {
		name = row " " way " over " to
		for (r = 1; r <= rounds; r++) {
			a = row " " way " " r
			b = row " " to " " r
			if (n[a] && n[b])
				push(name, median(a) / median(b))
		}
		return n[name] ? sprintf("%.2f", median(name)) : "-"
	}
	{
		push($1 " " $2, $4)
		push($1 " " $2 " " $3, $4)
		rounds = $3 > rounds ? $3 : rounds
	}
	END {
		while ((getline line < noise) > 0) {
			split(line, f, " ")
			push("noise " f[1] " " f[2], f[3])
		}
		many = split("trainer sweep zipf-1 zipf-2 fasttext mlp " \
			"transformer", rows, " ")
		last = split("ram room at90 at75 horizon learning at25 swap", \
			ways, " ")
		for (i = 1; i <= many; i++)
			for (j = 1; j <= last; j++) {
				k = rows[i] " " ways[j]
				if (!n[k])
					continue
				m = median(k)
				printf "%s %.3f %.3f %.3f %d %s %s %.2f\n", k,
					m, v[k, 1], v[k, n[k]], n[k],
					ratio(rows[i], ways[j], "ram"),
					ratio(rows[i], ways[j], "room"),
					median("noise " k)
			}
	}'
}

describe()
{
	case $1 in
	ram) echo "all in RAM, without Horizon" ;;
	room) echo "Horizon, room for everything" ;;
	at*) echo "Horizon, ${1#at} % of it" ;;
	horizon) echo "Horizon, half of it" ;;
	learning) echo "the same, while it learns" ;;
	swap) echo "kernel swap, half of it" ;;
	esac
}

# table FORMAT: one printf format for all rows, the head included.
table()
{
	local row way s min max n to_ram to_room other

	# shellcheck disable=SC2059 # the format is the argument
	{
		printf "$1" what how seconds min..max samples "x RAM" \
			"x room" "others' cores"
		[ -z "${2-}" ] || echo "$2"
		while read -r row way s min max n to_ram to_room other; do
			printf "$1" "$row" "$(describe "$way")" "$s" \
				"$min..$max" "$n" "$to_ram" "$to_room" "$other"
		done <"$work/summary"
	}
}

malloc_lines()
{
	awk '
	{ k = $4 " threads " $6; key[k]; sum[k, $1] += $8; n[k, $1]++
	  t[k, $1, $2] = $8; if ($2 > rounds) rounds = $2 }
	END {
		for (k in key) {
			c = 0
			for (r = 1; r <= rounds; r++)
				if (t[k, "jemalloc", r] > 0) {
					x = t[k, "horizon", r] / \
						t[k, "jemalloc", r]
					for (i = c++; i > 0 && s[i] > x; i--)
						s[i + 1] = s[i]
					s[i + 1] = x
				}
			printf "malloc and free, sizes %s: libc %.1f, " \
				"jemalloc %.1f, Horizon %.1f ns a pair; " \
				"Horizon / jemalloc %.2f\n", k,
				sum[k, "libc"] / n[k, "libc"],
				sum[k, "jemalloc"] / n[k, "jemalloc"],
				sum[k, "horizon"] / n[k, "horizon"],
				(s[int((c + 1) / 2)] + s[int(c / 2) + 1]) / 2
		}
	}' "$work/malloc" | sort
}

# Of each budget the median of the rounds: bytes against those of the optimal
# schedule, time against what no schedule beats, and late blocks.
bytes_lines()
{
	awk '
	{
		read = $2 / $4 * $7; write = $3 / $4 * $7
		best = $11 + $12; least = best / $9
		if (least < $8)
			least = $8
		print $1, read / 1048576, write / 1048576, $11, $12,
			(read + write) / 1048576 / best, $7 / least,
			100 * $5 / ($6 ? $6 : 1)
	}' "$work/bytes" | sort -k 1,1n -k 6,6n | awk '
	function out() {
		split(line[int((n + 1) / 2)], f, " ")
		printf "trainer at %d %%, a step since the lock: %.0f MiB " \
			"read, %.0f written; the optimal schedule of its " \
			"trace %d and %d: %.2f times; %.2f times the larger " \
			"of the step with room and these bytes at the " \
			"disk'"'"'s rate; %.1f %% of the blocks came late\n", \
			f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8]
	}
	$1 != pct && n { out(); n = 0 }
	{ pct = $1; line[++n] = $0 }
	END { if (n) out() }'
}

notes()
{
	local p

	[ ! -s "$work/bandwidth" ] || sort -k 3n "$work/bandwidth" |
		awk '{ line[NR] = $0 } END {
			split(line[int((NR + 1) / 2)], f, " ")
			printf "sweep under Horizon, since the lock: %d " \
				"MiB/s through the store, %s %% of the %d MiB/s that the disk " \
				"gives mixed\n", f[1], f[3], f[2]
		}'
	[ ! -s "$work/bytes" ] || bytes_lines
	[ ! -s "$work/malloc" ] || malloc_lines
	program_notes
	[ ! -s "$work/cuda" ] || cuda_lines
	echo "rounds: $rounds; seconds are medians: of a training step but" \
		"the first, of a pass; ratios are made within each round"
	case $kind in
	v1 | v2)
		echo "half: a memory cgroup ($kind); Horizon's own memory is" \
			"inside, its run has no swap; trainer" \
			"${trainer_mib:--} MiB, sweep $((2 * sweep_limit)) MiB"
		;;
	*)
		echo "SKIPPED: Horizon and kernel swap at half, since $kind" \
			"(a memory cgroup and swapon are needed)"
		;;
	esac
	for p in "${problems[@]}"; do
		echo "PROBLEM: $p"
	done
	echo "$(uname -sr), $(nproc) CPUs ($(sed -n \
		's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)), $(awk \
		'/^MemTotal/ { printf "%.0f", $2 / 1048576 }' /proc/meminfo)" \
		"GiB; $(findmnt -no FSTYPE,SOURCE -T "$dir" | tr -s ' ');" \
		"$(date -u +%Y-%m-%d); load $(cut -d ' ' -f 1-3 /proc/loadavg)"
}

problems=() skipped=() trainer_mib=''
touch "$work/samples" "$work/noise" "$work/malloc"
for round in $(seq "$rounds"); do
	if [ $SECONDS -gt $budget ]; then
		problems+=("only $((round - 1)) rounds in $SECONDS s")
		rounds=$((round - 1))
		break
	fi
	for row in $all_rows; do
		case $only in
		'' | "$row") "${row}_row" ;;
		esac
	done
done
summary >"$work/summary"
echo
table '%-11s %-29s %9s %17s %8s %7s %7s %14s\n'
echo
notes
{
	table '| %s | %s | %s | %s | %s | %s | %s | %s |\n' \
		'|---|---|--:|--:|--:|--:|--:|--:|'
	echo
	notes | sed 's/^/* /'
} >"$here/results.md"
say "the same in Markdown: $here/results.md; $SECONDS s"
[ ${#problems[@]} -eq 0 ]
