/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process as horizon-stat and horizon-run see one: it attaches to the
 * segment, fills in known numbers, says "ready" and stays until its standard
 * input ends. Each line of that is a number of demand faults to add, together
 * with 32 MiB brought in; the answer is "done".
 */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include "base/stats.h"

#define MIB ((uint64_t)1 << 20)

static void fill_cells(void)
{
	hz_stat_gauge(HZ_STAT_ram_capacity, HZ_STAT_ram_capacity, 512 * MIB);
	hz_stat_gauge(HZ_STAT_ram_resident, HZ_STAT_ram_peak, 300 * MIB);
	hz_stat_gauge(HZ_STAT_ram_resident, HZ_STAT_ram_peak, 256 * MIB);
	hz_stat_gauge(HZ_STAT_store_resident, HZ_STAT_store_peak, 128 * MIB);
	hz_stat_add(HZ_STAT_move_out_bytes, 64 * MIB);
	hz_stat_add(HZ_STAT_move_out_count, 32);
	hz_stat_add(HZ_STAT_fault_demand, 7);
	hz_stat_add(HZ_STAT_fault_stall, 1500000000);
	hz_stat_add(HZ_STAT_store_write, 48 * MIB);
}

static void fill_ranges(void)
{
	struct hz_stats_range small = {.kind = 1,
				       .start = 0x10000000,
				       .bytes = 16 * MIB,
				       .resident_bytes = 16 * MIB,
				       .store_bytes = 4 * MIB,
				       .faults = 3};
	struct hz_stats_range large = {.kind = 2,
				       .start = 0x20000000,
				       .bytes = 64 * MIB,
				       .resident_bytes = 8 * MIB,
				       .store_bytes = 56 * MIB,
				       .faults = 9,
				       .last_fault = 1};

	hz_stats_put_range(0, &small);
	hz_stats_put_range(5, &large);
}

int main(void)
{
	const char *path = getenv("HORIZON_STATS");
	char line[64];
	int fd;

	prctl(PR_SET_NAME, "hz-fake");
	if (hz_stats_attach(path ? path : "", &fd))
		return 1;
	hz_stats_mode(HZ_MODE_FAULT_MOVE, HZ_MODE_IO_THREADS, "");
	fill_cells();
	fill_ranges();
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		hz_stat_add(HZ_STAT_move_in_bytes, 32 * MIB);
		hz_stat_add(HZ_STAT_fault_demand, strtoul(line, NULL, 10));
		puts("done");
		fflush(stdout);
	}
	return 0;
}
