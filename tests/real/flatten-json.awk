# SPDX-License-Identifier: Apache-2.0
#
# One JSON text in, one "path value" line out for each scalar: the report of
# horizon-run for scripts, on machines that have an awk and nothing else.
#   {"moves":[{"from":"ram","bytes":5}]}   moves[0].from ram
#                                          moves[0].bytes 5

function token()
{
	sub(/^[ \t\r]+/, "", text)
	while (text == "" && (getline text) > 0)
		sub(/^[ \t\r]+/, "", text)
	if (match(text, /^"([^"\\]|\\.)*"/) || match(text, /^[][{},:]/) ||
	    match(text, /^[-+.0-9A-Za-z]+/)) {
		tok = substr(text, 1, RLENGTH)
		text = substr(text, RLENGTH + 1)
		return
	}
	if (text != "")
		bad = 1
	tok = ""
}

function plain(s)
{
	if (s ~ /^"/)
		s = substr(s, 2, length(s) - 2)
	return s
}

function object(path,    key)
{
	token()
	while (!bad && tok != "}") {
		key = plain(tok)
		token()
		if (tok != ":")
			bad = 1
		token()
		value(path == "" ? key : path "." key)
		if (tok == ",")
			token()
		else if (tok != "}")
			bad = 1
	}
	token()
}

function array(path,    i)
{
	token()
	for (i = 0; !bad && tok != "]"; i++) {
		value(path "[" i "]")
		if (tok == ",")
			token()
		else if (tok != "]")
			bad = 1
	}
	token()
}

# Leaves the token after the value in tok.
function value(path)
{
	if (bad || tok == "") {
		bad = 1
	} else if (tok == "{") {
		object(path)
	} else if (tok == "[") {
		array(path)
	} else {
		print path, plain(tok)
		token()
	}
}

BEGIN {
	token()
	value("")
	if (bad || tok != "") {
		print "flatten-json: not one JSON text" > "/dev/stderr"
		exit 1
	}
}
