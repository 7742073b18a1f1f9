/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_abi.h against the toolkit's cuda.h: the same values and layouts. */
#include <stdio.h>
#include "drift.h"

int main(void)
{
	int bad;
	unsigned n;

	if (!drift_n_theirs) {
		printf("skipped: not a toolkit of version 13\n");
		return 77;
	}
	bad = !drift_calls_compiled || drift_n_ours != drift_n_theirs;
	n = bad ? 0 : drift_n_ours;
	for (unsigned i = 0; i < n; i++) {
		if (drift_ours[i].value == drift_theirs[i].value)
			continue;
		fprintf(stderr, "%s: %lld, the toolkit has %lld\n",
			drift_ours[i].what, drift_ours[i].value,
			drift_theirs[i].value);
		bad = 1;
	}
	printf("%u values and offsets\n", n);
	return bad;
}
