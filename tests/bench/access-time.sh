#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# access-time.sh [--rounds N] [--words N] [--buckets N] [--only WAY]
#                [--dir DIRECTORY] [--keep DIRECTORY]
#
# How long an unmodified fastText waits for its rows: in RAM, and at half its
# footprint under Horizon and under kernel swap, in a memory cgroup of the same
# limit and on the same disk. access_time.c stands before the functions that
# reach a row, the same in each way; "plain" is fastText in RAM without it, so
# that its cost is seen. A table on stdout, of all accesses and of those that
# read, multiply and update a row; slow are those of more than 10 us: they
# waited for memory. --keep keeps the counts and Horizon's reports.
#
# Never a pass or fail by time; 1 for another model or a run that failed, 77
# where something is missing, which it says.
set -u
LC_ALL=C
export LC_ALL

me=access-time
here=${top_builddir:?}/tests/bench
source=${top_srcdir:?}/tests
library=$here/.libs/access_time.so
dir=/var/tmp rounds=1 ways='plain ram horizon swap' keep='' patience=240
# As the row of bench.sh --quick: buckets of 400 bytes, words of the corpus.
buckets=1100000 words=8000

usage()
{
	echo "usage: $me.sh [--rounds N] [--words N] [--buckets N]" \
		"[--only plain|ram|horizon|swap] [--dir DIRECTORY]" \
		"[--keep DIRECTORY]" >&2
	exit 2
}

while [ $# -gt 0 ]; do
	case $1 in
	--rounds) rounds=${2:?}; shift ;;
	--words) words=${2:?}; shift ;;
	--buckets) buckets=${2:?}; shift ;;
	--only)
		ways=${2:?}
		case $ways in plain | ram | horizon | swap) ;; *) usage ;; esac
		shift
		;;
	--dir) dir=${2:?}; shift ;;
	--keep) keep=${2:?}; shift ;;
	*) usage ;;
	esac
	shift
done

say()
{
	echo "$me: $*" >&2
}

missing()
{
	say "SKIP: $*"
	exit 77
}

# --- what it needs ----------------------------------------------------------

command -v fasttext >/dev/null || missing "install the package fasttext"
[ -r "$library" ] ||
	missing "$library is not built: make bench-access does it"
[ -w "$dir" ] || missing "cannot write into $dir"
mib=$((buckets * 400 / 1048576 + 16))
limit=$((mib / 2 * 1048576))
# fastText has a table of 120 MB for its words besides.
tag=horizon-$me-$$ swap_mib=$((mib + 256)) swap_file=$dir/horizon-$me.$$.swap
. "$source/bench/limits.sh"
case $ways in
*horizon* | *swap*)
	[ "$kind" = v1 ] || [ "$kind" = v2 ] ||
		missing "a memory cgroup and a swap file are needed: $kind"
	[ "$(wc -l </proc/swaps)" -le 1 ] ||
		missing "other swap is on; turn it off: swapoff -a"
	;;
esac

# --- places that are cleaned up ---------------------------------------------

work=$(mktemp -d "${TMPDIR:-/tmp}/horizon-$me.XXXXXX") || exit 1
model=$dir/horizon-$me.$$.model

cleanup()
{
	swap_off
	groups_off
	rm -rf "$work" "$model".*
}
trap cleanup EXIT
trap 'exit 130' INT TERM

# Its arguments after the first are a command, which it becomes in that group.
cat >"$work/inside" <<'END'
echo $$ >"$1/cgroup.procs" || exit 1
shift
exec "$@"
END

# --- one run ----------------------------------------------------------------

# Seconds that all processes and the kernel worked, and those that ours did.
cpu_seconds()
{
	times >"$work/own"
	awk -v hz="$(getconf CLK_TCK)" -v busy="$(busy_ticks)" '
	NR == 2 {
		gsub(/s/, "")
		for (i = 1; i <= 2; i++) {
			split($i, f, "m")
			own += f[1] * 60 + f[2]
		}
	}
	END { print busy / hz, own }' "$work/own"
}

# train TEXT BUCKETS: behind the command $before, measured by $preload.
train()
{
	# shellcheck disable=SC2086 # a list of words
	LD_PRELOAD=$preload ACCESS_TIMES=$work/times $before \
		fasttext skipgram -input "$1" -output "$model" -bucket "$2" \
		$fasttext_options >"$work/err" 2>&1
}

# Does the library stand before the functions that this fastText uses?
probe()
{
	prepare ram
	head -n 5 "$work/words" >"$work/few"
	train "$work/few" 100 && [ -s "$work/times" ] ||
		missing "this fastText reaches rows in a way that is not seen"
	rm -f "$model".* "$work/times"
}

# What stands before fastText's name, in $before.
prepare()
{
	before="timeout -k 5 $patience" preload=$library
	case $1 in
	plain) preload='' ;;
	horizon)
		cgroup "$1-$round" $limit none ||
			missing "no memory cgroup can be made"
		before="$before sh $work/inside $cg horizon-run --ram 100%"
		before="$before --store $dir --report $work/report --"
		;;
	swap)
		cgroup "$1-$round" $limit swap ||
			missing "no memory cgroup can be made"
		swap_on || missing "no swap file can be used in $dir"
		before="$before sh $work/inside $cg"
		;;
	esac
}

# Pages that came out of swap and that went into it, a line each.
swapped()
{
	awk '$1 == "pswpin" || $1 == "pswpout" { print $2 }' /proc/vmstat
}

waits()
{
	case $1 in
	horizon)
		awk -f "$source/real/flatten-json.awk" "$work/report" |
			awk '$1 == "faults.demand" { d = $2 }
			$1 == "faults.stall_seconds" { s = $2 }
			$1 == "store.read_bytes" { r = $2 }
			$1 == "store.write_bytes" { w = $2 }
			END { printf "%d demand faults, stalled %.1f s, " \
				"%d MiB read, %d MiB written\n", d, s,
				r / 1048576, w / 1048576 }'
		;;
	swap)
		swapped | cat - "$work/pages" "$cg/memory.stat" |
			awk -v page="$(getconf PAGESIZE)" '
			NR <= 4 { pages[NR] = $1 }
			$1 ~ /^(total_)?pgmajfault$/ { n = $2 }
			END { printf "%d major faults, %d MiB read, " \
				"%d MiB written\n", n,
				(pages[1] - pages[3]) * page / 1048576,
				(pages[2] - pages[4]) * page / 1048576 }'
		;;
	*) echo "no faults for memory" ;;
	esac
}

same_model()
{
	sum=$(sha256sum <"$model.bin")
	[ "${first_sum:=$sum}" = "$sum" ] && return
	say "$1: another model"
	rc=1
}

run()
{
	prepare "$1"
	load=$(cut -d ' ' -f 1 /proc/loadavg)
	cpu_seconds >"$work/before"
	swapped >"$work/pages"
	began=$(date +%s.%N)
	train "$work/words" $buckets
	status=$?
	seconds=$(echo "$began $(date +%s.%N)" | awk '{ print $2 - $1 }')
	cpu_seconds >"$work/after"
	others=$(awk -v s="$seconds" 'NR == 1 { all = $1; own = $2 }
		END { printf "%.2f", ($1 - all - $2 + own) / s }' \
		"$work/before" "$work/after")
	if [ $status -eq 0 ]; then
		same_model "$1"
		show "$1"
	else
		say "$1: failed with $status"
		tail -n 5 "$work/err" >&2
		rc=1
	fi
	say "round $round, $1: $(waits "$1"); load $load before," \
		"the cores of others and the kernel $others"
	swap_off
	groups_off
	rm -f "$model".* "$work/times" "$work/report"
}

# --- the table --------------------------------------------------------------

row='%-8s %-7s %8s %9s %7s %7s %7s %8s %9s %8s %8s %8s %8s\n'

# Of the buckets "NS COUNT", the shortest first; MAX is that of the accesses.
percentiles()
{
	awk -v row="$row" -v way="$1" -v kind="$2" -v seconds="$3" -v max="$4" '
	# Microseconds below which that share of those from FROM on are.
	function below(share, from, n,    i, sum) {
		for (i = from; i <= NR; i++) {
			sum += many[i]
			if (sum >= share * n)
				return sprintf("%.2f", ns[i] / 1000)
		}
		return "-"
	}
	{ ns[NR] = $1; many[NR] = $2; all += $2 }
	$1 > 10000 {
		first = first ? first : NR
		slow += $2
		waited += $1 * $2 / 1e9
	}
	END {
		printf row, way, kind, sprintf("%.2f", seconds), all,
			below(.5, 1, all), below(.9, 1, all),
			below(.99, 1, all), below(.999, 1, all),
			sprintf("%.0f", max / 1000), slow + 0,
			slow ? below(.5, first, slow) : "-",
			slow ? below(.99, first, slow) : "-",
			sprintf("%.2f", waited)
	}'
}

show()
{
	if [ "$1" = plain ]; then
		# shellcheck disable=SC2059 # the format of all rows
		printf "$row" plain - "$seconds" - - - - - - - - - -
		return
	fi
	if [ -n "$keep" ]; then
		cp "$work/times" "$keep/$1-$round.times"
		[ ! -e "$work/report" ] ||
			cp "$work/report" "$keep/$1-$round.json"
	fi
	for kind in '[a-z]*' read dot update; do
		max=$(awk -v kind="^$kind\$" '$1 ~ kind && $2 == "max" &&
			$3 > max { max = $3 } END { print max + 0 }' \
			"$work/times")
		awk -v kind="^$kind\$" '
		$1 ~ kind && $2 != "max" && NF == 3 { n[$2] += $3 }
		END { for (ns in n) print ns, n[ns] }' "$work/times" |
			sort -n | percentiles "$1" "$kind" "$seconds" "$max"
	done | sed 's/\[a-z\]\*/all    /'
	clock=$(awk '$1 == "clock" { print $2 }' "$work/times")
}

rc=0 clock='' first_sum=''
mkdir -p ${keep:+"$keep"} "$work" || exit 1
awk -v words="$words" -v vocabulary=20000 \
	-f "$source/real/zipf-words.awk" >"$work/words"
probe
# shellcheck disable=SC2059 # the format of all rows
printf "$row" way access seconds accesses 'p50 us' 'p90 us' 'p99 us' \
	'p99.9 us' 'max us' slow 'slow p50' 'slow p99' 'slow s'
round=1
while [ $round -le "$rounds" ]; do
	for way in $ways; do
		run "$way"
	done
	round=$((round + 1))
done
echo "fastText, $mib MiB; Horizon and swap in $((limit >> 20)) MiB, on" \
	"$(findmnt -no FSTYPE,SOURCE -T "$dir" 2>/dev/null | tr -s ' ');" \
	"each time has the ${clock:-?} ns of a look at the clock in it"
exit $rc
