#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# horizon-stat: wrong usage is 2, nothing to show is 1, each in one line.
. "${top_srcdir:-$(dirname "$0")/../..}/tests/cli/functions.sh"
need horizon-stat

bad()
{
	pattern=$1
	shift
	run 2 horizon-stat "$@"
	one_line
	says err '^horizon-stat: '
	says err "$pattern"
}

bad 'INTERVAL.*0' 0
bad 'INTERVAL.*x' x
bad 'INTERVAL.*1s' 1s
bad 'INTERVAL.*nan' nan
bad 'COUNT.*0' 1 0
bad 'COUNT.*1\.5' 1 1.5
bad 'too much' 1 1 1
bad 'pid.*0' -p 0
bad 'pid.*abc' --pid abc
bad 'format.*xml' --format xml
bad 'unit.*Q' -S Q
bad 'columns.*in/s' -o nothing
bad 'columns' -o ram,
bad 'columns' -J -o ram
bad 'tensors' -T --format prom
bad 'unknown option' --no-such-option
bad 'needs an argument' --format

# This shell is no process of Horizon's.
run 1 horizon-stat -p $$
one_line
says err 'horizon-run COMMAND'
run 1 horizon-stat -p $$ 1
one_line

run 0 horizon-stat --help
says out '^Usage: horizon-stat '
run 0 horizon-stat --version
says out '^horizon-stat \(Horizon\) [0-9]'
