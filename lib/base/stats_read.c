/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The segment from outside: the table as data, making a segment, checking
 * one, and consistent copies of what others write.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* memfd_create, seals */
#endif
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/os.h"
#include "base/stats.h"

#define HZ_STAT(id_, kind_, unit_, path_, text_) \
	{#id_, HZ_STAT_##kind_, HZ_UNIT_##unit_, path_, text_},
const struct hz_stat_row hz_stat_rows[HZ_STAT_COUNT] = {
#include "base/stats.def"
};
#undef HZ_STAT

const char *const hz_mode_fault_names[] = {"off", "move", "copy", "user"};
const char *const hz_mode_io_names[] = {"off", "uring", "threads"};
const char *const hz_mode_gpu_names[] = {"off", "observe"};

/* FNV-1a, the terminating NUL included, so that "ab","c" is not "a","bc". */
static uint64_t hash_text(uint64_t h, const char *s)
{
	do {
		h = (h ^ (unsigned char)*s) * 0x100000001b3ull;
	} while (*s++);
	return h;
}

uint64_t hz_stats_table_hash(void)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (unsigned i = 0; i < HZ_STAT_COUNT; i++) {
		h = hash_text(h, hz_stat_rows[i].id);
		h = hash_text(h, hz_stat_rows[i].path);
	}
	return h;
}

/* The header, all before the first slot. */
#define HEADER_BYTES offsetof(struct hz_stats_segment, proc)

/* Growing a file beyond the limit of the process is a signal that ends it. */
static bool may_grow_to(uint64_t bytes)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) || bytes <= limit.rlim_cur;
}

/* Everything else of the segment is a hole until a slot is used. The size is
 * sealed: nobody can make a reader fault by cutting it. */
static int init_segment(int fd)
{
	struct {
		uint64_t magic;
		uint32_t version, procs;
		uint64_t table_hash, size;
		uint8_t pad[32];
	} header = {
		.magic = HZ_STATS_MAGIC,
		.version = HZ_STATS_VERSION,
		.procs = HZ_STATS_PROCS,
		.table_hash = hz_stats_table_hash(),
		.size = sizeof(struct hz_stats_segment),
	};
	ssize_t n;

	_Static_assert(sizeof(header) == HEADER_BYTES, "one header");
	if (!may_grow_to(header.size))
		return -EFBIG;
	if (fchmod(fd, 0600) || ftruncate(fd, (off_t)header.size))
		return -errno;
	n = hz_os.pwrite(fd, &header, sizeof(header), 0);
	if (n != (ssize_t)sizeof(header))
		return n < 0 ? (int)n : -EIO;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		return -errno;
	return 0;
}

/* A program may have closed its standard streams; what it writes to them must
 * not end in the segment. */
static int above_standard(int fd)
{
	int up;

	if (fd > STDERR_FILENO)
		return fd;
	up = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (up < 0)
		up = -errno;
	hz_os.close(fd);
	return up;
}

int hz_stats_create(void)
{
	int fd = memfd_create(HZ_STATS_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int err;

	fd = fd < 0 ? -errno : above_standard(fd);
	if (fd < 0)
		return fd;
	err = init_segment(fd);
	if (err) {
		hz_os.close(fd);
		return err;
	}
	return fd;
}

static bool is_ours(const struct hz_stats_segment *s)
{
	return s->magic == HZ_STATS_MAGIC && s->version == HZ_STATS_VERSION &&
	       s->procs == HZ_STATS_PROCS &&
	       s->table_hash == hz_stats_table_hash() && s->size == sizeof(*s);
}

const struct hz_stats_segment *hz_stats_map(int fd, int *err)
{
	struct stat st;
	long at;

	if (fstat(fd, &st)) {
		*err = -errno;
		return NULL;
	}
	*err = -EPROTO;
	if (st.st_size != (off_t)sizeof(struct hz_stats_segment))
		return NULL;
	at = hz_os.mmap(NULL, sizeof(struct hz_stats_segment), PROT_READ,
			MAP_SHARED, fd, 0);
	if (at < 0) {
		*err = (int)at;
		return NULL;
	}
	if (!is_ours((const void *)at)) {
		hz_os.munmap((void *)at, sizeof(struct hz_stats_segment));
		return NULL;
	}
	*err = 0;
	return (const void *)at;
}

/*
 * The seqlock's reader. A writer is done in less than a microsecond unless it
 * lost its CPU in the middle, so a reader that meets one sleeps. A writer
 * that was killed in the middle never finishes: TRIES bounds the wait to
 * less than a second.
 */
#define TRIES 4000

static void wait_for_writer(void)
{
	struct timespec ts = {.tv_nsec = 100000};

	nanosleep(&ts, NULL);
}

static void copy_words(void *to, const void *from, size_t bytes)
{
	uint64_t *d = to;
	const uint64_t *s = from;

	for (size_t i = 0; i < bytes / sizeof(*s); i++)
		d[i] = __atomic_load_n(&s[i], __ATOMIC_RELAXED);
}

/* `from` is on an 8-byte border. False if no quiet moment was found. */
static bool copy_quiet(const uint32_t *seq, void *to, const void *from,
		       size_t bytes)
{
	for (unsigned i = 0; i < TRIES; i++) {
		uint32_t before = __atomic_load_n(seq, __ATOMIC_ACQUIRE);

		if (before & 1) {
			wait_for_writer();
			continue;
		}
		copy_words(to, from, bytes);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(seq, __ATOMIC_RELAXED) == before)
			return true;
	}
	return false;
}

/* Identity and cells lie together behind the two 32-bit words. A process
 * that was killed while it wrote its identity keeps its counters, which are
 * whole one by one, under the name "?". */
bool hz_stats_snapshot(const struct hz_stats_proc *slot,
		       struct hz_stats_proc *out)
{
	const size_t from = offsetof(struct hz_stats_proc, start_ns);
	const size_t cells = offsetof(struct hz_stats_proc, cell);
	const size_t end = offsetof(struct hz_stats_proc, range);
	uint32_t pid;

	do {
		pid = __atomic_load_n(&slot->pid, __ATOMIC_ACQUIRE);
		if (!pid)
			return false;
		if (!copy_quiet(&slot->seq, &out->start_ns, &slot->start_ns,
				end - from)) {
			memset(&out->start_ns, 0, cells - from);
			out->command[0] = '?';
			copy_words(out->cell, slot->cell, sizeof(out->cell));
			out->lock_ns = 0;
			break;
		}
		if (!out->start_ns)
			return false; /* claimed a moment ago, not filled */
	} while (__atomic_load_n(&slot->pid, __ATOMIC_RELAXED) != pid);
	out->pid = pid;
	out->seq = 0;
	out->command[sizeof(out->command) - 1] = '\0';
	out->reason[sizeof(out->reason) - 1] = '\0';
	out->advice[sizeof(out->advice) - 1] = '\0';
	return true;
}

bool hz_stats_snapshot_range(const struct hz_stats_range *row,
			     struct hz_stats_range *out)
{
	struct hz_stats_range copy;

	/* seq and kind share the first word, so that kind is covered too */
	if (!__atomic_load_n(&row->kind, __ATOMIC_RELAXED) ||
	    !copy_quiet(&row->seq, &copy, row, sizeof(copy)) || !copy.kind)
		return false;
	copy.seq = 0;
	*out = copy;
	return true;
}

bool hz_stats_snapshot_tensor(const struct hz_stats_tensor *row,
			      struct hz_stats_tensor *out)
{
	struct hz_stats_tensor copy;

	if (!__atomic_load_n(&row->kind, __ATOMIC_RELAXED) ||
	    !copy_quiet(&row->seq, &copy, row, sizeof(copy)) || !copy.kind)
		return false;
	copy.seq = 0;
	copy.kernel[sizeof(copy.kernel) - 1] = '\0';
	*out = copy;
	return true;
}
