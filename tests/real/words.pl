#!/usr/bin/perl
# SPDX-License-Identifier: Apache-2.0
#
# words.pl MIB [SEED]: numbered lines of made-up words, the same each time.
use strict;
use warnings;

my ($mib, $x) = (shift, shift // 1);
my @vowel = qw(a e i o u ai ou);
my @other = qw(b d f g k l m n p r s t v z br st);

sub next_number {
	$x = ($x * 1103515245 + 12345) & 0x7fffffff;
	return $x >> 8;
}

sub word {
	return join '', map {
		$other[next_number() % @other] . $vowel[next_number() % @vowel]
	} 0 .. next_number() % 3;
}

my @words = map { word() } 1 .. 4000;
my ($left, $line) = ($mib << 20, 0);
while ($left > 0) {
	my $out = sprintf '%07d %d ', $line++, next_number();
	$out .= join(' ', map { $words[next_number() % @words] } 1 .. 12);
	$left -= print("$out\n") ? length($out) + 1 : die "words.pl: $!\n";
}
