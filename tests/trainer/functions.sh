# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# For the tests that run gpt-train, by `.`: the text, a directory $dir that
# goes away, and failures that are counted in $failures.

train=${GPT_TRAIN:-./gpt-train}
text=${GPT_TEXT:-/usr/share/common-licenses/GPL-3}

if [ ! -r "$text" ]; then
	echo "skipped: no text at $text; name one in GPT_TEXT"
	exit 77
fi
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
trap 'exit 99' HUP INT TERM
failures=0

fail() {
	echo "FAIL: $*"
	failures=$((failures + 1))
}

# losses NAME OPTION...: the losses and norms of a run, without its speed
losses() {
	name=$1
	shift
	"$train" "$@" >"$dir/out" 2>"$dir/err" ||
		fail "$name: $(cat "$dir/err")"
	sed 's/ tok\/s.*//' "$dir/out" >"$dir/$name"
}

same() {
	cmp -s "$dir/$1" "$dir/$2" || fail "$1 and $2 differ"
}

# near A B LOSS NORM: as many steps, and differences within these parts
near() {
	paste -d ' ' "$dir/$1" "$dir/$2" | awk -v loss="$3" -v norm="$4" '
		function far(a, b, part) {
			return !(a > 0) || !(b > 0) ||
				a - b > part * b || b - a > part * b
		}
		NF != 12 || $2 != $8 { bad = 1 }
		far($4, $10, loss) || far($6, $12, norm) {
			print "  step " $2 ": loss " $4 " and " $10 \
				", norm " $6 " and " $12
			bad = 1
		}
		END { exit bad || NR == 0 }' || fail "$1 is not near $2"
}
