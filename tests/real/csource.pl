#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
#
# csource.pl FUNCTIONS [PREFIX]: a C file of that many functions and PREFIX_all,
# which calls them.
use strict;
use warnings;

my ($n, $prefix) = (shift, shift // 'f');

print "unsigned ${prefix}_all(unsigned x);\n";
for my $i (1 .. $n) {
	my ($a, $b, $c) = map { ($i * $_) % 251 + 1 } 7, 31, 101;
	print <<"END";
static unsigned ${prefix}_$i(unsigned x)
{
	unsigned t[16], sum = $a;

	for (unsigned i = 0; i < 16; i++)
		t[i] = (x + i) * ${b}u ^ (x >> (i % ${c}u % 31u));
	switch (x % 7) {
	case 0: sum += t[x % 16]; break;
	case 1: sum ^= t[3] * t[5]; break;
	case 2: for (int i = 0; i < 16; i += 2) sum += t[i] / ${a}u; break;
	case 3: sum -= t[1] > t[2] ? t[4] : t[6]; break;
	default: for (int i = 0; i < 16; i++) sum = sum * 3u + t[i];
	}
	return sum;
}
END
}
print "unsigned ${prefix}_all(unsigned x)\n{\n";
print "\tx += ${prefix}_$_(x);\n" for 1 .. $n;
print "\treturn x;\n}\n";
