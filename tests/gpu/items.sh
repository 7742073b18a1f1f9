#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# One item of run.sh, which calls this with its time limit and its settings in
# the environment: items.sh NUMBER. Facts go to stdout, one a line: a key, a
# tab, a JSON value.

here=$(cd "$(dirname "$0")" && pwd) || exit 99
: "${work:?}" "${real:?}" "${include:?}" "${cuda:?}"

# ---- facts: a key, a tab, a JSON value ----

# fact KEY JSON
fact()
{
	printf '%s\t%s\n' "$1" "$2"
}

# text KEY WORDS
text()
{
	printf '%s\t"%s"\n' "$1" "$(printf '%s' "$2" | tr -d '\000-\037' |
		sed 's/[\\"]/\\&/g')"
}

# same KEY FILE FILE
same()
{
	if cmp -s "$2" "$3"; then
		fact "$1" true
	else
		fact "$1" false
		return 1
	fi
}

# ---- the shim ----

with_shim()
{
	env LD_PRELOAD="$HORIZON_PRELOAD" \
		HORIZON_GPU="${HORIZON_GPU:-observe}" "$@"
}

# False, and said so, where there is none.
have_shim()
{
	if [ -z "${HORIZON_PRELOAD:-}" ]; then
		fact shim null
		return 1
	fi
	if [ ! -r "$HORIZON_PRELOAD" ]; then
		fact shim null
		text shim_error "no file $HORIZON_PRELOAD"
		return 1
	fi
	text shim "$HORIZON_PRELOAD"
}

# ---- the items; each runs in a process of its own, its facts on stdout ----

item_0()
{
	"$work/facts" "$work/names" || return 1
	text driver_library "$real"
	text torch "$(python3 -c 'from importlib.metadata import version
print(version("torch"))' 2>/dev/null)"
	# What the driver exports that the header does not name at all.
	grep -o '\bcu[A-Z][A-Za-z0-9_]*' "$include/cuda.h" |
		sort -u >"$work/tokens"
	nm -D --defined-only "$real" 2>/dev/null |
		sed -n 's/@.*//; s/.* \(cu[A-Z][A-Za-z0-9_]*\)$/\1/p' |
		sort -u >"$work/exported"
	fact driver_exports "$(wc -l <"$work/exported")"
	sed 's/_pt[sd][zs]$//' "$work/exported" | sort -u |
		comm -23 - "$work/tokens" >"$work/extra"
	fact driver_exports_beyond_header_count "$(wc -l <"$work/extra")"
	fact driver_exports_beyond_header "[$(head -60 "$work/extra" |
		sed 's/.*/"&"/' | paste -s -d , -)]"
}

run_alive()
{
	LD_LIBRARY_PATH=$cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	export LD_LIBRARY_PATH
	"$@"
}

# One build of the same program, without and with the shim.
alive_runtime()
{
	run_alive "$work/alive_$1" >"$work/alive.plain" 2>&1
	status=$?
	fact "cudart_$1_plain_exit" "$status"
	text "cudart_$1_sum" "$(tail -1 "$work/alive.plain")"
	$shim || return "$status"
	run_alive with_shim "$work/alive_$1" >"$work/alive.shim" \
		2>"$work/alive.err"
	fact "cudart_$1_shim_exit" $?
	text "cudart_$1_driver_seen" "$(run_alive with_shim \
		"$work/alive_$1" where 2>/dev/null)"
	if [ -s "$work/alive.err" ]; then
		text "cudart_$1_stderr" "$(head -c 300 "$work/alive.err")"
	fi
	same "cudart_$1_equal" "$work/alive.plain" "$work/alive.shim" &&
		[ "$status" -eq 0 ]
}

alive_torch()
{
	python3 "$here/alive.py" >"$work/torch.plain" 2>"$work/torch.err"
	status=$?
	fact torch_plain_exit "$status"
	fact torch_losses "$(wc -l <"$work/torch.plain")"
	text torch_last "$(tail -1 "$work/torch.plain")"
	if [ "$status" -ne 0 ]; then
		text torch_error "$(tail -1 "$work/torch.err")"
		return 1
	fi
	$shim || return 0
	with_shim python3 "$here/alive.py" >"$work/torch.shim" \
		2>"$work/torch.err"
	fact torch_shim_exit $?
	same torch_equal "$work/torch.plain" "$work/torch.shim" && return 0
	text torch_stderr "$(tail -c 300 "$work/torch.err")"
	# Is torch equal to itself?
	python3 "$here/alive.py" >"$work/torch.again" 2>/dev/null
	same torch_plain_repeats "$work/torch.plain" "$work/torch.again"
	return 1
}

item_1()
{
	shim=false
	bad=0
	if have_shim; then
		shim=true
	fi
	alive_runtime static || bad=1
	alive_runtime shared || bad=1
	alive_torch || bad=1
	return $bad
}

item_2()
{
	"$work/physics"
}

item_3()
{
	"$work/prefetch"
}

item_4()
{
	"$work/capture"
}

item_5()
{
	python3 "$here/speed.py" "$work/libmanaged.so"
}

item_6()
{
	"$work/vmm"
	status=$?
	"$work/vmm" stray && return "$status"
}

# What Horizon itself says of a run in which it only observes.
observed_report()
{
	run=${HORIZON_RUN:-$(command -v horizon-run)}
	if [ -z "$run" ]; then
		fact horizon_report null
		return 0
	fi
	"$run" --set gpu="${HORIZON_GPU:-observe}" --report "$work/report" -- \
		python3 "$here/alive.py" >/dev/null 2>"$work/report.err"
	fact horizon_report_exit $?
	if python3 -m json.tool --compact "$work/report" >"$work/one" \
		2>/dev/null; then
		fact horizon_report "$(tr -d '\t' <"$work/one")"
	else
		fact horizon_report null
		text horizon_report_error "$(head -c 300 "$work/report.err")"
	fi
}

item_7()
{
	status=0
	if [ "${HORIZON_TRIPWIRE:-1}" != 0 ]; then
		env LD_PRELOAD="$work/libtripwire.so" \
			python3 "$here/coverage.py" "$work/libtripwire.so" 60
		status=$?
	fi
	if have_shim; then
		observed_report
	fi
	return "$status"
}

item_8()
{
	"$work/overhead" || return 1
	python3 "$here/overhead.py" plain || return 1
	have_shim || return 0
	with_shim "$work/overhead" >"$work/overhead.shim"
	status=$?
	sed 's/^/shim_/' "$work/overhead.shim"
	[ "$status" -eq 0 ] || return 1
	with_shim python3 "$here/overhead.py" shim || return 1
	# Again, since the machine may have slowed down meanwhile.
	python3 "$here/overhead.py" plain_again
}

item_9()
{
	"$work/discard"
}

case $1 in
0) item_0 ;;
1) item_1 ;;
2) item_2 ;;
3) item_3 ;;
4) item_4 ;;
5) item_5 ;;
6) item_6 ;;
7) item_7 ;;
8) item_8 ;;
9) item_9 ;;
esac
