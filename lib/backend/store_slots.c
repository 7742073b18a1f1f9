/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots: which are used, by whom.
 *
 * The table is memory shared with forked children: a row for each process
 * with a bitmap of the slots that it refers to, and `any`, the union of all
 * rows, which is what a search looks at. `any` may have a bit too many (of a
 * process that died), never one too few: a bit is set in `any` before it is
 * set in a row and cleared after. It is made anew when a dead row is dropped.
 *
 * Where slots come from: holes below the highest slot ever used, one after
 * the other, so that blocks evicted together lie together; a new slot at the
 * end when there are few holes, so that a sparse file stays as small as its
 * content.
 *
 * Who is alive: the parent names the row of its child by pid, start time and
 * the address of its first stack. The kernel keeps the first two over exec,
 * but an exec'd program has forgotten its slots; its stack lies elsewhere. A
 * row that cannot be judged (another pid namespace, a parent that was killed
 * before it could name its child) is kept: slots lost, never bytes.
 *
 * Everything in the table belongs to its lock, a robust mutex that is taken
 * last, as HZ_RANK_STORE is, and is held over memory accesses and, when the
 * table is full, over a look at /proc.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "backend/store.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/os.h"

#define ROWS	 64
#define JUDGE_NS 20000000ull /* look for the dead no more often than this */

enum row_state { ROW_FREE, ROW_UNNAMED, ROW_NAMED };

struct row {
	enum row_state state;
	int pid;	/* 0: cannot be judged */
	uint64_t start; /* 0: unknown */
	uint64_t stack; /* 0: unknown */
};

/* Shared. The bitmaps follow: `any`, then one for each row. */
struct table {
	pthread_mutex_t lock;
	uint32_t usable;
	uint32_t used; /* bits in `any` */
	uint32_t high; /* slots from here on were never used */
	uint32_t hint; /* where the search goes on */
	uint32_t rows; /* that are not free */
	size_t stride; /* bytes of one bitmap */
	uint64_t judged_ns;
	struct row row[ROWS];
};

/* Private to each process. */
struct hz_slots {
	struct table *t;
	int row;     /* -1: none, the table was full at the fork */
	int newborn; /* row of the child that is being forked */
	int pid;
	bool blind; /* our pids are not those of the table */
};

static uint64_t *bitmap(struct table *t, int row)
{
	size_t head = hz_align_up(sizeof(*t), HZ_PAGE_SIZE);

	return (uint64_t *)((char *)t + head + t->stride * (size_t)(row + 1));
}

static uint64_t *any(struct table *t)
{
	return bitmap(t, -1);
}

static bool test(const uint64_t *map, uint32_t slot)
{
	return map[slot / 64] >> (slot % 64) & 1;
}

static void set(uint64_t *map, uint32_t slot)
{
	map[slot / 64] |= 1ull << (slot % 64);
}

static void clear(uint64_t *map, uint32_t slot)
{
	map[slot / 64] &= ~(1ull << (slot % 64));
}

/* Words of a bitmap that can have bits. */
static size_t words(const struct table *t)
{
	return ((size_t)t->high + 63) / 64;
}

static void unite(struct table *t)
{
	uint32_t used = 0;

	for (size_t w = 0; w < words(t); w++) {
		uint64_t bits = 0;

		for (int r = 0; r < ROWS; r++)
			if (t->row[r].state != ROW_FREE)
				bits |= bitmap(t, r)[w];
		any(t)[w] = bits;
		used += (uint32_t)__builtin_popcountll(bits);
	}
	t->used = used;
}

/* A process may die with the lock, between any two of its stores: count
 * anew what depends on others. */
static void lock(struct table *t)
{
	if (pthread_mutex_lock(&t->lock) != EOWNERDEAD)
		return;
	pthread_mutex_consistent(&t->lock);
	t->rows = 0;
	for (int r = 0; r < ROWS; r++)
		t->rows += t->row[r].state != ROW_FREE;
	unite(t);
}

static void unlock(struct table *t)
{
	pthread_mutex_unlock(&t->lock);
}

/* ---- the living and the dead ---- */

static uint64_t number(const char **p)
{
	uint64_t n = 0;

	while (**p >= '0' && **p <= '9')
		n = n * 10 + (uint64_t)(*(*p)++ - '0');
	return n;
}

/* From /proc/PID/stat: the state's letter, or 0 where it cannot be read. */
static char look_at(int pid, uint64_t *start, uint64_t *stack,
		    uint64_t *threads)
{
	char path[32] = "/proc/", text[1024], state, digits[12];
	const char *p;
	int n = 0, i = 6;

	*start = *stack = *threads = 0;
	do
		digits[n++] = (char)('0' + pid % 10);
	while (pid /= 10);
	while (n)
		path[i++] = digits[--n];
	memcpy(path + i, "/stat", 6);
	if (hz_os_slurp(path, text, sizeof(text)) <= 0)
		return 0;
	p = strrchr(text, ')'); /* the name before it may hold anything */
	if (!p || p[1] != ' ' || !p[2])
		return 0;
	p += 2;
	state = *p;
	for (int field = 3; *p && field <= 28; field++) {
		uint64_t v = number(&p);

		if (field == 20)
			*threads = v;
		else if (field == 22)
			*start = v;
		else if (field == 28)
			*stack = v;
		while (*p && *p++ != ' ')
			;
	}
	return state;
}

/* 0: the kernel does not tell. */
static bool same(uint64_t was, uint64_t is)
{
	return !was || !is || was == is;
}

static bool is_dead(const struct row *row)
{
	int keep = errno;
	bool gone = kill(row->pid, 0) < 0 && errno == ESRCH;
	uint64_t start, stack, threads;
	char state;

	errno = keep;
	if (gone)
		return true;
	state = look_at(row->pid, &start, &stack, &threads);
	if (!state)
		return false;
	/* Z with other threads: main called pthread_exit, the process lives. */
	return (state == 'Z' && threads <= 1) || state == 'X' ||
	       !same(row->start, start) || !same(row->stack, stack);
}

static void drop(struct table *t, int r)
{
	memset(bitmap(t, r), 0, words(t) * 8);
	t->row[r].state = ROW_FREE;
	t->rows--;
}

/* Drop the rows of the dead. */
static void judge(struct hz_slots *s, bool now)
{
	struct table *t = s->t;
	bool dropped = false;

	if (s->blind || t->rows < 2)
		return;
	if (!now && hz_os.now() - t->judged_ns < JUDGE_NS)
		return;
	for (int r = 0; r < ROWS; r++) {
		if (r == s->row || t->row[r].state != ROW_NAMED ||
		    !t->row[r].pid || !is_dead(&t->row[r]))
			continue;
		drop(t, r);
		dropped = true;
	}
	if (dropped)
		unite(t);
	t->judged_ns = hz_os.now();
}

static void name(struct hz_slots *s, int r, int pid)
{
	struct row row = {.state = ROW_NAMED, .pid = s->blind ? 0 : pid};
	uint64_t threads;

	if (row.pid)
		look_at(row.pid, &row.start, &row.stack, &threads);
	/* A child begins with our stack; by now it may have called exec. */
	if (r != s->row)
		row.stack = s->t->row[s->row].stack;
	s->t->row[r] = row;
}

/* ---- the interface ---- */

static int make_lock(pthread_mutex_t *lock_)
{
	pthread_mutexattr_t attr;
	int err = pthread_mutexattr_init(&attr);

	if (err)
		return err;
	err = pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	if (!err)
		err = pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	if (!err)
		err = pthread_mutex_init(lock_, &attr);
	pthread_mutexattr_destroy(&attr);
	return err;
}

struct hz_slots *hz_slots_create(uint32_t capacity, uint32_t usable)
{
	size_t head = hz_align_up(sizeof(struct table), HZ_PAGE_SIZE);
	size_t stride =
		hz_align_up(((size_t)capacity + 63) / 64 * 8, HZ_PAGE_SIZE);
	size_t len = head + stride * (ROWS + 1);
	struct hz_slots *s = hz_os_reserve(sizeof(*s));
	long at;

	if (!s)
		return NULL;
	at = hz_os.mmap(NULL, len, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at < 0 && at > -4096)
		goto release;
	s->t = (struct table *)at;
	s->t->stride = stride;
	s->t->usable = hz_min(usable, capacity);
	if (make_lock(&s->t->lock))
		goto unmap;
	s->newborn = -1;
	s->pid = getpid();
	s->t->rows = 1;
	name(s, 0, s->pid);
	return s;
unmap:
	hz_os.munmap(s->t, len);
release:
	hz_os.munmap(s, sizeof(*s));
	return NULL;
}

/* The first free slot in [from, to), or HZ_NONE. */
static uint32_t search(const uint64_t *map, uint32_t from, uint32_t to)
{
	for (uint32_t at = from; at < to; at = (at | 63) + 1) {
		uint64_t free_ = ~map[at / 64] >> (at % 64);
		uint32_t slot;

		if (!free_)
			continue;
		slot = at + (uint32_t)__builtin_ctzll(free_);
		return slot < to ? slot : HZ_NONE;
	}
	return HZ_NONE;
}

/* There is a free slot below `usable`. */
static uint32_t find(struct table *t)
{
	uint32_t slot;

	if (t->high < t->usable && t->high - t->used <= t->high / 8)
		return t->high++;
	slot = search(any(t), t->hint, t->high);
	if (slot == HZ_NONE)
		slot = search(any(t), 0, t->hint);
	return slot;
}

uint32_t hz_slots_get(struct hz_slots *s)
{
	struct table *t = s->t;
	uint32_t slot = HZ_NONE;

	if (s->row < 0)
		return HZ_NONE;
	lock(t);
	if (t->used >= t->usable)
		judge(s, false);
	if (t->used < t->usable)
		slot = find(t);
	if (slot != HZ_NONE) {
		set(any(t), slot);
		t->used++;
		set(bitmap(t, s->row), slot);
		t->hint = slot + 1;
	}
	unlock(t);
	return slot;
}

/* Does a row other than ours have it? */
static bool others(struct hz_slots *s, uint32_t slot)
{
	struct table *t = s->t;

	if (t->rows < 2)
		return false;
	for (int r = 0; r < ROWS; r++)
		if (r != s->row && t->row[r].state != ROW_FREE &&
		    test(bitmap(t, r), slot))
			return true;
	return false;
}

void hz_slots_put(struct hz_slots *s, uint32_t slot)
{
	struct table *t = s->t;

	if (s->row < 0)
		return;
	lock(t);
	if (test(bitmap(t, s->row), slot)) {
		clear(bitmap(t, s->row), slot);
		if (!others(s, slot)) {
			clear(any(t), slot);
			t->used--;
		}
	}
	unlock(t);
}

bool hz_slots_shared(struct hz_slots *s, uint32_t slot)
{
	bool shared;

	if (s->row < 0)
		return true;
	lock(s->t);
	shared = others(s, slot);
	if (shared) {
		judge(s, false);
		shared = others(s, slot);
	}
	unlock(s->t);
	return shared;
}

int hz_slots_fork_prepare(struct hz_slots *s)
{
	struct table *t = s->t;
	int r = 0;

	s->newborn = -1;
	if (s->row < 0)
		return -ENOSPC;
	lock(t);
	if (t->rows == ROWS)
		judge(s, true);
	while (r < ROWS && t->row[r].state != ROW_FREE)
		r++;
	if (r < ROWS) {
		t->row[r] = (struct row){.state = ROW_UNNAMED};
		t->rows++;
		memcpy(bitmap(t, r), bitmap(t, s->row), words(t) * 8);
	}
	unlock(t);
	if (r == ROWS)
		return -ENOSPC;
	s->newborn = r;
	return r;
}

void hz_slots_fork_parent(struct hz_slots *s, int pid)
{
	if (s->newborn < 0)
		return;
	lock(s->t);
	if (pid < 0) {
		drop(s->t, s->newborn);
		unite(s->t); /* slots that we gave back meanwhile */
	} else if (pid > 0) {
		name(s, s->newborn, pid);
	} /* else the child names itself */
	unlock(s->t);
	s->newborn = -1;
}

void hz_slots_fork_child(struct hz_slots *s)
{
	if (getppid() != s->pid)
		s->blind = true;
	s->row = s->newborn; /* -1: it may use no slot */
	s->newborn = -1;
	s->pid = getpid();
	/* The parent may not know our pid. Blind, we do not know better. */
	if (s->row < 0 || s->blind)
		return;
	lock(s->t);
	if (s->t->row[s->row].state == ROW_UNNAMED)
		name(s, s->row, s->pid);
	unlock(s->t);
}

void hz_slots_leave(struct hz_slots *s)
{
	if (s->row < 0)
		return;
	lock(s->t);
	drop(s->t, s->row);
	unite(s->t);
	unlock(s->t);
	s->row = -1;
}

bool hz_slots_lend(struct hz_slots *s, int row, int pid, uint32_t slot)
{
	struct table *t = s->t;
	bool lent = false;

	if (s->row < 0 || row < 0 || slot == HZ_NONE)
		return false;
	lock(t);
	if (t->row[row].state == ROW_NAMED && t->row[row].pid == pid &&
	    !test(bitmap(t, row), slot)) {
		set(bitmap(t, row), slot);
		lent = true;
	}
	unlock(t);
	return lent;
}

uint32_t hz_slots_used(struct hz_slots *s)
{
	uint32_t used;

	lock(s->t);
	used = s->t->used;
	unlock(s->t);
	return used;
}
