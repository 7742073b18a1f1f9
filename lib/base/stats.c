/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer of the segment: this process's slot.
 *
 * Each slot has one writer, the process that claimed it, so the seqlocks are
 * plain counters. Ranges are written under the engine's lock, the identity by
 * the thread that starts the engine or by the only thread of a forked child.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "base/log.h"
#include "base/os.h"
#include "base/stats.h"

/* Counters without a segment. In .bss: only what is used is resident. */
static struct hz_stats_proc private_slot;
struct hz_stats_proc *hz_stats_self = &private_slot;

#define DONE ((uint64_t)1) /* no process is 0 */

/* The mapping, shared with the job; NULL without one. */
static struct hz_stats_segment *segment;

static void write_begin(uint32_t *seq)
{
	__atomic_store_n(seq, (*seq + 1) | 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void write_end(uint32_t *seq)
{
	__atomic_store_n(seq, *seq + 1, __ATOMIC_RELEASE);
}

/* Whole words: a reader in another process may race with it, and it with
 * threads that count. */
static void store_words(void *to, const void *from, size_t bytes)
{
	uint64_t *d = to;
	const uint64_t *s = from;

	for (size_t i = 0; i < bytes / sizeof(*d); i++)
		__atomic_store_n(&d[i],
				 __atomic_load_n(&s[i], __ATOMIC_RELAXED),
				 __ATOMIC_RELAXED);
}

/* What lies between start_ns and the cells, for use outside the slot. */
struct identity {
	uint64_t start_ns, start_ticks, end_ns;
	char command[sizeof(private_slot.command)];
	uint32_t mode_fault, mode_io, mode_gpu, unused;
	char reason[sizeof(private_slot.reason)];
	char advice[sizeof(private_slot.advice)];
};

#define IDENTITY_FROM offsetof(struct hz_stats_proc, start_ns)
_Static_assert(offsetof(struct hz_stats_proc, cell) - IDENTITY_FROM ==
		       sizeof(struct identity),
	       "the identity ends where the cells begin");

static void copy_text(char *to, size_t len, const char *from)
{
	size_t n = strnlen(from, len - 1);

	memcpy(to, from, n);
	memset(to + n, 0, len - n);
}

/* Field 22 of /proc/self/stat. The command in field 2 may hold anything, so
 * counting starts behind its last parenthesis, at field 3. */
static uint64_t own_start_ticks(void)
{
	char text[1024];
	const char *p;
	uint64_t ticks = 0;

	if (hz_os_slurp("/proc/self/stat", text, sizeof(text)) < 0)
		return 0;
	p = strrchr(text, ')');
	for (int field = 2; p && field < 22; field++) {
		p = strchr(p, ' ');
		p = p ? p + 1 : NULL;
	}
	for (; p && *p >= '0' && *p <= '9'; p++)
		ticks = ticks * 10 + (uint64_t)(*p - '0');
	return ticks;
}

/* The last part of argv[0]; comm, which is cut at 15 bytes, without it. */
static void own_command(char *out, size_t len)
{
	char text[4096];
	const char *name;
	ssize_t n = hz_os_slurp("/proc/self/cmdline", text, sizeof(text));

	if (n <= 0 || !text[0]) {
		n = hz_os_slurp("/proc/self/comm", text, sizeof(text));
		if (n > 0)
			text[strcspn(text, "\n")] = '\0';
		else
			text[0] = '\0';
	}
	name = strrchr(text, '/');
	copy_text(out, len, name && name[1] ? name + 1 : text);
}

/*
 * Fill a slot that is ours. The counters of a process that used it before us
 * are cleared; a fresh slot is all zero, and storing zeros would only make
 * its pages resident. pid changes inside the seqlock, so that a reader never
 * sees ours beside the identity of the one before.
 */
static void fill_slot(struct hz_stats_proc *slot, const struct identity *id,
		      bool used)
{
	write_begin(&slot->seq);
	__atomic_store_n(&slot->pid, (uint32_t)getpid(), __ATOMIC_RELAXED);
	store_words(&slot->start_ns, id, sizeof(*id));
	__atomic_store_n(&slot->lock_ns, 0, __ATOMIC_RELAXED);
	if (used) {
		for (unsigned i = 0; i < HZ_STAT_COUNT; i++)
			__atomic_store_n(&slot->cell[i], 0, __ATOMIC_RELAXED);
		for (unsigned i = 0; i < HZ_STATS_RANGES; i++)
			if (slot->range[i].kind)
				__atomic_store_n(&slot->range[i].kind, 0,
						 __ATOMIC_RELAXED);
		for (unsigned i = 0; i < HZ_STATS_TENSORS; i++)
			if (slot->tensor[i].kind)
				__atomic_store_n(&slot->tensor[i].kind, 0,
						 __ATOMIC_RELAXED);
	}
	write_end(&slot->seq);
}

/* A free slot, else one whose process has ended. end_ns is the token for the
 * latter: who changes it to 0 owns the slot, so two cannot. */
static struct hz_stats_proc *claim(struct hz_stats_segment *s, bool *used)
{
	uint32_t pid = (uint32_t)getpid();

	for (unsigned i = 0; i < HZ_STATS_PROCS; i++) {
		uint32_t free_pid = 0;

		*used = false;
		if (__atomic_compare_exchange_n(&s->proc[i].pid, &free_pid, pid,
						false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			return &s->proc[i];
	}
	for (unsigned i = 0; i < HZ_STATS_PROCS; i++) {
		uint64_t *end = &s->proc[i].end_ns;
		uint64_t ended = __atomic_load_n(end, __ATOMIC_RELAXED);

		*used = true;
		if (!ended || !__atomic_compare_exchange_n(
				      end, &ended, 0, false, __ATOMIC_ACQ_REL,
				      __ATOMIC_RELAXED))
			continue;
		return &s->proc[i];
	}
	return NULL;
}

static int claim_and_fill(struct hz_stats_segment *s, const struct identity *id)
{
	bool used;
	struct hz_stats_proc *slot = claim(s, &used);

	if (!slot)
		return -ENOSPC;
	fill_slot(slot, id, used);
	hz_stats_self = slot;
	return 0;
}

/* Checked first through a read-only mapping: nothing is written to a file
 * that is not a segment. */
static struct hz_stats_segment *map_writable(int fd, int *err)
{
	const struct hz_stats_segment *seen = hz_stats_map(fd, err);
	long at;

	if (!seen)
		return NULL;
	hz_os.munmap((void *)seen, sizeof(*seen));
	at = hz_os.mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED,
			fd, 0);
	*err = at < 0 ? (int)at : 0;
	return at < 0 ? NULL : (struct hz_stats_segment *)at;
}

/* What was counted before there was a segment moves into the slot. */
static void carry_over(void)
{
	for (unsigned i = 0; i < HZ_STAT_COUNT; i++)
		if (private_slot.cell[i])
			hz_stat_add(i, private_slot.cell[i]);
}

static int join(int fd, const struct identity *id)
{
	int err;
	struct hz_stats_segment *s = map_writable(fd, &err);

	if (!s)
		return err;
	err = claim_and_fill(s, id);
	if (err) {
		hz_os.munmap(s, sizeof(*s));
		return err;
	}
	segment = s;
	carry_over();
	return 0;
}

/* The job's segment has an owner who keeps it findable, so its descriptor is
 * not kept. */
static int join_job(const char *path, const struct identity *id)
{
	int fd = hz_os.open(path, O_RDWR | O_CLOEXEC, 0);
	int err;

	if (fd < 0)
		return fd;
	err = join(fd, id);
	hz_os.close(fd);
	return err;
}

int hz_stats_attach(const char *path, int *fd)
{
	struct identity id;
	int own, err;

	memcpy(&id, &private_slot.start_ns, sizeof(id)); /* the mode so far */
	id.start_ns = hz_os.now();
	id.start_ticks = own_start_ticks();
	own_command(id.command, sizeof(id.command));
	if (*path) {
		err = join_job(path, &id);
		if (!err) {
			*fd = -1;
			return 0;
		}
		hz_log(HZ_WARN, "stats",
		       "%s is not used, the counters are not in the job's "
		       "report (%m)",
		       path, err);
	}
	own = hz_stats_create();
	err = own < 0 ? own : join(own, &id);
	if (!err) {
		*fd = own;
		return 0;
	}
	if (own >= 0)
		hz_os.close(own);
	hz_log(HZ_WARN, "stats", "off: no shared segment (%m)", err);
	return err;
}

/* No function that may be a point of cancellation: the caller may be any
 * thread of the program. */
static void wait_a_moment(void)
{
	const struct timespec ts = {.tv_nsec = 1000000};
	int err = errno;

	syscall(SYS_nanosleep, &ts, NULL);
	errno = err;
}

/* True: the caller is to attach. False: it is done, or what came in between is
 * a signal handler of the thread that does it. A thread of the parent, which
 * did it while this process was forked, will never be done here. */
static bool my_turn(uint64_t *who, uint64_t me)
{
	uint64_t other = __atomic_load_n(who, __ATOMIC_ACQUIRE);

	while (other != DONE && other != me) {
		if (other && other >> 32 == me >> 32) {
			wait_a_moment();
			other = __atomic_load_n(who, __ATOMIC_ACQUIRE);
		} else if (__atomic_compare_exchange_n(who, &other, me, false,
						       __ATOMIC_ACQ_REL,
						       __ATOMIC_ACQUIRE)) {
			return true;
		}
	}
	return false;
}

int hz_stats_attach_once(const char *path, int *fd)
{
	static uint64_t who; /* process and thread; 0: nobody yet */
	uint64_t me = (uint64_t)getpid() << 32 | (uint32_t)syscall(SYS_gettid);
	int err;

	*fd = -1;
	if (!my_turn(&who, me))
		return 0;
	err = hz_stats_attach(path, fd);
	__atomic_store_n(&who, DONE, __ATOMIC_RELEASE);
	return err;
}

/* The mapping came over the fork, and so did the parent's slot: it must not
 * be written any more. */
void hz_stats_child(void)
{
	struct identity id;

	memcpy(&id, &hz_stats_self->start_ns, sizeof(id));
	id.start_ns = hz_os.now();
	id.start_ticks = own_start_ticks();
	id.end_ns = 0;
	id.advice[0] = '\0';
	if (segment && !claim_and_fill(segment, &id))
		return;
	hz_stats_self = &private_slot;
	fill_slot(&private_slot, &id, true);
}

void hz_stats_mode(enum hz_mode_fault fault, enum hz_mode_io io,
		   const char *reason)
{
	struct hz_stats_proc *slot = hz_stats_self;
	struct identity id;

	memcpy(&id, &slot->start_ns, sizeof(id));
	id.mode_fault = fault;
	id.mode_io = io;
	copy_text(id.reason, sizeof(id.reason), reason ? reason : "");
	write_begin(&slot->seq);
	store_words(&slot->mode_fault, &id.mode_fault,
		    sizeof(id) - offsetof(struct identity, mode_fault));
	write_end(&slot->seq);
}

void hz_stats_advice(const char *text)
{
	struct hz_stats_proc *slot = hz_stats_self;
	char copy[sizeof(slot->advice)];

	copy_text(copy, sizeof(copy), text);
	write_begin(&slot->seq);
	store_words(slot->advice, copy, sizeof(copy));
	write_end(&slot->seq);
}

void hz_stats_mode_gpu(enum hz_mode_gpu gpu)
{
	struct hz_stats_proc *slot = hz_stats_self;

	__atomic_store_n(&slot->mode_gpu, gpu, __ATOMIC_RELAXED);
}

void hz_stats_locked(void)
{
	struct hz_stats_proc *slot = hz_stats_self;

	write_begin(&slot->seq);
	store_words(slot->at_lock, slot->cell, sizeof(slot->at_lock));
	__atomic_store_n(&slot->lock_ns, hz_os.now(), __ATOMIC_RELAXED);
	write_end(&slot->seq);
}

void hz_stat_gauge(enum hz_stat gauge, enum hz_stat peak, uint64_t value)
{
	uint64_t *top = &hz_stats_self->cell[peak];
	uint64_t seen = __atomic_load_n(top, __ATOMIC_RELAXED);

	__atomic_store_n(&hz_stats_self->cell[gauge], value, __ATOMIC_RELAXED);
	while (value > seen &&
	       !__atomic_compare_exchange_n(top, &seen, value, true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

void hz_stats_put_range(unsigned row, const struct hz_stats_range *r)
{
	struct hz_stats_range *to = &hz_stats_self->range[row];

	write_begin(&to->seq);
	__atomic_store_n(&to->kind, r->kind, __ATOMIC_RELAXED);
	store_words(&to->start, &r->start,
		    sizeof(*r) - offsetof(struct hz_stats_range, start));
	write_end(&to->seq);
}

void hz_stats_put_tensor(unsigned row, const struct hz_stats_tensor *t)
{
	struct hz_stats_tensor *to = &hz_stats_self->tensor[row];

	write_begin(&to->seq);
	__atomic_store_n(&to->kind, t->kind, __ATOMIC_RELAXED);
	store_words(&to->start, &t->start,
		    sizeof(*t) - offsetof(struct hz_stats_tensor, start));
	write_end(&to->seq);
}
