/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a run to the next blocks to read.
 */
#include "policy/predict.h"

static unsigned run_window(const struct hz_run *run, unsigned limit)
{
	uint32_t doublings = run->steps - HZ_RUN_CONFIRMED + 1;

	if (doublings >= 16)
		return limit;
	return hz_min(limit, 1u << doublings);
}

unsigned hz_predict_run(const struct hz_run *run, unsigned limit,
                        const struct hz_predict_where *where, uint32_t *out,
                        unsigned max)
{
	unsigned window, found = 0;
	int64_t block = run->high;

	if (!hz_run_confirmed(run))
		return 0;
	window = run_window(run, limit);
	if (run->ahead >= window)
		return 0;
	max = hz_min(max, window - run->ahead);
	for (unsigned i = 0; i < HZ_PREDICT_SCAN && found < max; i++) {
		block += run->dir;
		if (block < 0 || block >= where->blocks)
			break;
		if (where->missing(where->arg, (uint32_t)block))
			out[found++] = (uint32_t)block;
	}
	return found;
}

void hz_predict_requested(struct hz_run *run, uint32_t block)
{
	int64_t beyond = ((int64_t)block - run->high) * run->dir;

	/* The second: meant for another run that was touched since. */
	if (beyond <= 0 || beyond > HZ_PREDICT_SCAN)
		return;
	run->high = block;
	run->ahead++;
}

void hz_predict_used(struct hz_run *run)
{
	if (run->ahead)
		run->ahead--;
}
