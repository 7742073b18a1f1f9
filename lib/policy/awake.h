/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does the program wait for memory so often that it pays to keep its
 * processors from sleeping?
 *
 * Each fault wakes our thread, and the program's again when it is served. A
 * processor that sleeps in the meantime takes its time to wake: 25 to 30 us in
 * a virtual machine, where it is the hypervisor that wakes it (measured; a
 * fault that needs no I/O takes 16 us without), a few on bare metal.
 *
 * Pure data, no clock but the `now` given; one thread's.
 */
#ifndef HZ_POLICY_AWAKE_H
#define HZ_POLICY_AWAKE_H

#include <stdbool.h>
#include <stdint.h>

/* For how long after a fault that says so, in ns. */
#define HZ_AWAKE_NS 1000000u

/* Zeroed at first. */
struct hz_awake_rate {
	uint64_t last; /* ns, of the last fault */
	uint64_t gap;  /* between two, averaged; ns */
};

/* A fault was seen at `now` (ns). True: they come often. */
bool hz_awake_often(struct hz_awake_rate *r, uint64_t now);

#endif
