#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# quickstart.sh deps|run|check: install what is needed; build and show what
# Horizon does; run the tests. Each does the step before. Safe to run again;
# everything it makes is in build/.
set -eu

top=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
build=$top/build
demo=$build/quickstart
text=/usr/share/common-licenses/GPL-3
model="--layers 14 --hidden 512 --heads 8 --seq 64 --batch 2 --steps 5"

to_build="build-essential autoconf automake libtool pkg-config binutils
	liburing-dev libjemalloc-dev libxxhash-dev libbsd-dev"
# What the tests use; redis-tools holds the server too, but starts none. Clp is
# for the lower bounds of horizon-replay.
to_check="coinor-libclp-dev libcriterion-dev libjemalloc2 groff man-db bash
	bc bzip2 fasttext fio git jq openssl perl procps python3 redis-tools
	sqlite3 stress-ng xz-utils zstd"

say()
{
	printf '==> %s\n' "$*"
}

die()
{
	printf 'quickstart.sh: %s\n' "$*" >&2
	exit 1
}

# --- deps -------------------------------------------------------------------

as_root()
{
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "packages are missing and this is neither root nor" \
			"a user of sudo; as root: $*"
	fi
}

missing()
{
	for package in $to_build $to_check; do
		case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) in
		*" ok installed"*) ;;
		*) printf ' %s' "$package" ;;
		esac
	done
}

# Not Debian's kind: say what is wanted, go on if it looks complete.
other_distribution()
{
	for tool in cc make autoreconf libtoolize pkg-config objcopy; do
		command -v $tool >/dev/null && continue
		die "$tool not found; install with this system's tools: a C" \
			"compiler, make, binutils, autoconf, automake," \
			"libtool, pkg-config, and the development files of" \
			"liburing (with liburing.a), jemalloc (with" \
			"libjemalloc_pic.a), xxHash, libbsd and Criterion"
	done
	say "no apt-get here: taking the packages of this system as they are"
}

deps()
{
	if ! command -v apt-get >/dev/null; then
		other_distribution
		return
	fi
	wanted=$(missing)
	if [ -z "$wanted" ]; then
		say "all packages are installed"
		return
	fi
	say "installing$wanted"
	as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q ||
		say "apt-get update failed: trying with the old lists"
	# shellcheck disable=SC2086 # a list of names
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y \
		--no-install-recommends $wanted
}

# --- run --------------------------------------------------------------------

# quietly NAME COMMAND...: the output goes to build/quickstart/NAME.log.
quietly()
{
	log=$demo/$1.log
	shift
	"$@" >"$log" 2>&1 && return
	tail -n 30 "$log" >&2
	die "failed: $* (all of its output: $log)"
}

build()
{
	mkdir -p "$demo"
	[ ! -e "$top/config.status" ] ||
		die "$top is configured in place: run make distclean there"
	cd "$top"
	if [ ! -x configure ]; then
		say "autoreconf -fi"
		quietly autoreconf autoreconf -fi
	fi
	cd "$build"
	if [ ! -e config.status ]; then
		say "configure in $build"
		quietly configure ../configure
	fi
	say "make"
	quietly make make -j"$(nproc)"
	quietly make-trainer make -j"$(nproc)" -C tests/trainer gpt-train
	PATH=$build/tools:$PATH
	HORIZON_PRELOAD=$build/shim/.libs/libhorizon-preload.so
	export PATH HORIZON_PRELOAD
}

# train NAME COMMAND...: show the steps as they come and keep them.
train()
{
	name=$1
	shift
	{
		rc=0
		"$@" 2>"$demo/$name.err" || rc=$?
		echo $rc >"$demo/$name.rc"
	} | tee "$demo/$name.out" | sed 's/^/    /'
	grep '^horizon' "$demo/$name.err" >&2 || :
	[ "$(cat "$demo/$name.rc")" -eq 0 ] && return
	cat "$demo/$name.err" >&2
	die "training failed with status $(cat "$demo/$name.rc"): $*"
}

footprint()
{
	# shellcheck disable=SC2086 # options
	"$trainer" --text $text $model --steps 0 2>&1 |
		sed -n 's/.*footprint \([0-9]*\) MiB.*/\1/p'
}

# The tier report, from the lines of flatten-json.awk.
tier_report()
{
	awk -f "$top/tests/real/flatten-json.awk" "$1" | awk '
	function mib(n) { return sprintf("%.0f MiB", n / 1048576) }
	{ name = $1; sub(/^[^ ]* /, ""); v[name] = $0 }
	/^(ram|store)$/ && name ~ /^(tiers\[|moves\[.*from$)/ {
		at[name ~ /^t/ ? "tier" : "move", $0] = name
	}
	function of(kind, which, what,    path) {
		path = at[kind, which]
		sub(/[^.]*$/, what, path)
		return v[path]
	}
	function tier(t) {
		printf "    %-7s %12s %12s %12s\n", t,
			mib(of("tier", t, "capacity_bytes")),
			mib(of("tier", t, "peak_bytes")),
			mib(of("move", t, "bytes"))
	}
	END {
		printf "    %-7s %12s %12s %12s\n", "tier", "capacity",
			"peak", "moved out"
		tier("ram")
		tier("store")
		printf "    faults: %d waited for the store, %d met a " \
			"prefetched block, %d were zeros\n",
			v["faults.demand"], v["faults.prefetched"],
			v["faults.zero_fill"]
		printf "    store: %s read, %s written\n",
			mib(v["store.read_bytes"]), mib(v["store.write_bytes"])
		printf "    time: %.1f s, %.1f s of waits for memory, " \
			"all threads\n", v["seconds"],
			v["faults.stall_seconds"]
		print "mode " v["mode.fault"] > (dir "/tiering")
		print "peak " int(of("tier", "ram", "peak_bytes") / 1048576) \
			> (dir "/tiering")
		print "out " int(of("move", "ram", "bytes") / 1048576) \
			> (dir "/tiering")
	}' dir="$demo" -
}

tiering()
{
	sed -n "s/^$1 //p" "$demo/tiering"
}

# The demonstration must have been one: blocks left, RAM stayed below.
believe()
{
	case $(tiering mode) in
	off | '')
		die "Horizon did not tier anything here;" \
			"see build/tools/horizon-run --check"
		;;
	esac
	[ "$(tiering out)" -gt 0 ] || die "no block left RAM"
	[ "$(tiering peak)" -le "$half" ] ||
		die "RAM peaked at $(tiering peak) MiB, above $half MiB"
}

run()
{
	deps
	build
	trainer=$build/tests/trainer/gpt-train
	[ -r $text ] || text=$top/COPYING
	# Threads that wait do not spin: this machine may have other work.
	export OMP_WAIT_POLICY=passive
	whole=$(footprint)
	[ -n "$whole" ] || die "$trainer --steps 0 gave no footprint"
	half=$((whole / 2))
	say "a GPT trainer that needs $whole MiB, alone"
	# shellcheck disable=SC2086 # options
	train plain "$trainer" --text $text $model
	say "the same in $half MiB: horizon-run --ram ${half}M -- gpt-train ..."
	# shellcheck disable=SC2086 # options
	train horizon horizon-run --ram "${half}M" \
		--report "$demo/report.json" -- "$trainer" --text $text $model
	tier_report "$demo/report.json"
	believe
	for name in plain horizon; do
		sed 's/ tok.*//' "$demo/$name.out" >"$demo/$name.losses"
		[ -s "$demo/$name.losses" ] || die "$name: no steps"
	done
	cmp "$demo/plain.losses" "$demo/horizon.losses" ||
		die "the losses differ: $demo/*.losses"
	say "losses are identical, bit for bit, in half the memory"
}

# --- check ------------------------------------------------------------------

# What a test says of its failure, else the last thing it said, without the
# line that automake adds.
reason()
{
	grep -E '^(\[FAIL\]|not ok)' "$1" 2>/dev/null | head -n 1 | grep . ||
		grep -v -E '^[A-Z]+ .* \(exit status: [0-9]+\)$' "$1" \
			2>/dev/null | grep . | tail -n 1
}

# One line for each test that did not pass, then the counted line.
count()
{
	passed=0 failed=0 skipped=0
	find "$build" -name '*.trs' | sort >"$demo/results"
	while read -r trs; do
		name=${trs#"$build"/}
		case $(sed -n 's/^:global-test-result: //p' "$trs") in
		PASS | XFAIL) passed=$((passed + 1)) ;;
		SKIP)
			skipped=$((skipped + 1))
			echo "skipped ${name%.trs}: $(reason "${trs%.trs}.log")"
			;;
		*)
			failed=$((failed + 1))
			echo "failed ${name%.trs}: $(reason "${trs%.trs}.log")"
			;;
		esac
	done <"$demo/results"
	counted="$passed passed, $failed failed, $skipped skipped"
}

check()
{
	run
	say "make check"
	find "$build" -name '*.trs' -exec rm -f {} +
	{
		rc=0
		make -C "$build" -k check 2>&1 || rc=$?
		echo $rc >"$demo/check.rc"
	} | tee "$demo/check.log" | grep --line-buffered \
		-E '^(X?PASS|X?FAIL|SKIP|ERROR): ' || :
	rc=$(cat "$demo/check.rc")
	count
	if [ "$rc" -ne 0 ] && [ $failed -eq 0 ]; then
		tail -n 30 "$demo/check.log" >&2
		say "make check stopped with status $rc: $demo/check.log"
		failed=1
		counted="$passed passed, 1 failed, $skipped skipped"
	fi
	if [ $passed -eq 0 ] && [ $failed -eq 0 ]; then
		die "make check ran no test: $demo/check.log"
	fi
	say "all of it: $demo/check.log"
	echo "$counted"
	[ $failed -eq 0 ]
}

case ${1-} in
deps | run | check) ;;
*)
	echo "usage: tools/quickstart.sh deps|run|check" >&2
	exit 2
	;;
esac
"$1"
