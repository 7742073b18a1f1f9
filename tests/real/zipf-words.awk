# SPDX-License-Identifier: Apache-2.0
#
# awk -v words=N -v vocabulary=N [-v labels=N] -f zipf-words.awk: a corpus of
# made-up words, the same each time. The word of rank k comes with a
# probability of 1/k, as words do; those of one label come from one part of the
# vocabulary twice as often as from all of it.

# The next of a sequence of numbers in (0, 1); exact in floating point.
function random()
{
	seed = seed * 16807 % 2147483647
	return seed / 2147483647
}

# The letters of a number, mixed so that neighbours have nothing in common.
function letters(k,    s)
{
	k = (k * 7919 + 104729) * 16807 % 308915776 # 26 ^ 6
	while (length(s) < 6) {
		s = s substr("etaoinshrdlucmfwypvbgkjqxz", k % 26 + 1, 1)
		k = int(k / 26)
	}
	return s
}

function word(label,    k)
{
	k = int(exp(random() * log(vocabulary)))
	if (labels && random() < .6)
		k = k - k % labels + label
	return letters(k)
}

BEGIN {
	seed = 20261130
	while (n < words) {
		label = labels ? int(random() * labels) : 0
		line = labels ? "__label__" label : ""
		for (i = 0; i < 20 && n < words; i++) {
			line = line (line == "" ? "" : " ") word(label)
			n++
		}
		print line
	}
}
