#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The known numbers of a stand-in process, in every format.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
need horizon-stat
start_fake

stat()
{
	run 0 horizon-stat -p "$fake" "$@"
	silent_on err
}

# Table: two lines of header, a row.
stat
[ "$(wc -l <"$tmp/out")" -eq 3 ] || fail "not three lines"
says out '^ *pid +command +ram +cap +store +out/s +in/s +dem/s +pre/s'
says out '^ +MiB +MiB +MiB +MiB/s'
says out "^ *$fake fake-pro +256 +512 +128 "
awk 'length > 80 { exit 1 }' "$tmp/out" || fail "wider than 80 columns"
stat -w
says out "^ *$fake fake-proc.* +256 +512 +128 "
stat -S g -o written,pid
[ "$(tail -n 1 "$tmp/out" | tr -s ' ')" = " 0.1 $fake" ] ||
	fail "not the columns asked for"
stat -t
says out ' [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$'

# JSON: one object a line with the names of the report.
stat -J
[ "$(wc -l <"$tmp/out")" -eq 1 ] || fail "not one line"
valid_json "$tmp/out"
says out "^\{\"pid\":$fake,\"command\":\"fake-process\",\"seconds\":"
says out '"mode":\{"fault":"move","io":"threads","gpu":"off"\}'
says out '\{"tier":"ram","capacity_bytes":536870912,'
says out '\{"from":"ram","to":"store","bytes":67108864,"count":32\}'
says out '"faults":\{"demand":7,'
says out '"stall_seconds":1\.500000000'
says out '"since_lock":null'
cp "$tmp/out" "$tmp/plain"
stat --format json --timestamp
valid_json "$tmp/out"
says out '^\{"time":[0-9]+\.[0-9]+,"pid":'

# CSV: the columns of the table, in base units.
stat --format csv
[ "$(wc -l <"$tmp/out")" -eq 2 ] || fail "not two lines"
says out '^pid,command,ram,cap,store,out/s,'
says out "^$fake,fake-process,268435456,536870912,134217728,"
awk -F, 'NR == 1 { n = NF } NF != n { exit 1 }' "$tmp/out" ||
	fail "rows of different length"

# Prometheus: HELP, TYPE and the samples of a name stand together, once.
labels="pid=\"$fake\",command=\"fake-process\""
check_metrics()
{
	awk '/^# (HELP|TYPE) / { if (seen[$2 $3]++) exit 1; name = $3; next }
	     /^#/ { next }
	     { n = $1; sub(/[{].*/, "", n) }
	     n != name && n != name "_total" { exit 1 }
	     NF != 2 || $2 !~ /^[0-9.]+$/ { exit 1 }' "$tmp/out" ||
		fail "samples apart from their TYPE, or no number"
	grep -Fxq "horizon_tier_resident_bytes{$labels,tier=\"ram\"} 268435456" \
		"$tmp/out" || fail "no sample of a gauge"
	grep -Fxq "horizon_move_bytes_total{$labels,from=\"ram\",to=\"store\"} \
67108864" "$tmp/out" || fail "no sample of a move"
	grep -Fxq "horizon_faults_stall_seconds_total{$labels} 1.500000000" \
		"$tmp/out" || fail "no sample in seconds"
}
stat --format prom
check_metrics
says out '^# TYPE horizon_faults_demand_total counter$'
says out '^# TYPE horizon_tier_capacity_bytes gauge$'
grep -q EOF "$tmp/out" && fail "EOF in Prometheus text"
stat --format openmetrics
check_metrics
says out '^# TYPE horizon_faults_demand counter$'
[ "$(tail -n 1 "$tmp/out")" = '# EOF' ] || fail "no EOF"
[ "$(grep -c '^# TYPE' "$tmp/out")" -gt 25 ] || fail "counters are missing"

# When it has ended it is not shown.
exec 7>&-
wait "$fake" || fail "the stand-in failed"
run 1 horizon-stat -p "$fake"
