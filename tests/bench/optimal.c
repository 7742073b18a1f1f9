/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optimal TRACE STEPS MIB...: the least bytes that any schedule reads and
 * writes in a step of a complete trace (trace=full) with so much memory: the
 * block that is needed last leaves (L. A. Belady, "A study of replacement
 * algorithms for a virtual-storage computer", 1966). A trace does not tell
 * reads from writes: each use counts as a change.
 *
 * A line for each size: MIB, MiB read a step, MiB written a step. The first
 * two steps, in which memory is filled, do not count.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "plan_sim.h"
#include "policy/trace_file.h"

#define WARM_UP 2u

static int load(const char *path, struct sim_trace *t)
{
	static struct hz_tf_reader r;
	struct hz_tf_event event;
	int fd = open(path, O_RDONLY), rc;
	struct stat st;
	void *data;

	if (fd < 0 || fstat(fd, &st) || !st.st_size)
		return -1;
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED || hz_tf_open(&r, data, (size_t)st.st_size))
		return -1;
	while ((rc = hz_tf_next(&r, &event)) > 0)
		if (event.kind == HZ_TF_FAULT)
			sim_visit(t, (uint32_t)event.id, true);
	return rc;
}

int main(int argc, char **argv)
{
	struct sim_trace t = {0};
	unsigned steps = argc > 3 ? (unsigned)atoi(argv[2]) : 0;

	if (steps <= WARM_UP || load(argv[1], &t) || !t.n) {
		fprintf(stderr, "usage: optimal TRACE STEPS MIB...\n");
		return 2;
	}
	for (int i = 3; i < argc; i++) {
		uint32_t blocks =
			(uint32_t)(strtoul(argv[i], NULL, 10) << 20 >>
				   HZ_BLOCK_SHIFT);
		struct sim_count c = sim_reference(
			&t, blocks, t.n * WARM_UP / steps, SIM_BELADY);
		double block_mib = (double)HZ_BLOCK_SIZE / (1 << 20);

		printf("%s %.0f %.0f\n", argv[i],
		       (double)c.reads * block_mib / (steps - WARM_UP),
		       (double)c.writes * block_mib / (steps - WARM_UP));
	}
	sim_trace_free(&t);
	return 0;
}
