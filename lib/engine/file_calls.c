/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private maps of files as the mmap family sees them, in threads of the
 * program: mmap, MADV_DONTNEED, mremap, and what is handed to the kernel. See
 * file_map.h.
 *
 * Nothing here may touch what can raise SIGBUS: the program's memory is copied
 * by the kernel, by process_vm_readv(2), which says EFAULT instead.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/knobs.h"
#include "base/log.h"
#include "base/os.h"
#include "engine/arena.h"
#include "engine/arena_int.h"
#include "engine/engine.h"
#include "engine/file_map.h"

#ifndef O_PATH
#define O_PATH 010000000
#endif

static long ask(const struct hz_file_ask *what)
{
	struct hz_request req = {.op = HZ_REQ_FILE, .file = what};

	return hz_engine_call(&req);
}

/* ---- mmap ---- */

/* Files of memory are in RAM anyway: a map by the kernel costs less. Those of
 * hugetlbfs have pages of another size. */
static bool is_on_disk(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type != TMPFS_MAGIC &&
	       fs.f_type != RAMFS_MAGIC && fs.f_type != HUGETLBFS_MAGIC;
}

/* All of the map lies in the file: where it ends now, zeros end the last page.
 * A description for writing only, or for neither, cannot be mapped so; one with
 * O_DIRECT means that the page cache is not wanted. */
static bool may_take(int fd, off_t off, size_t len, struct stat *st)
{
	int saved = errno, flags = fcntl(fd, F_GETFL);
	bool may = flags >= 0 && !(flags & (O_PATH | O_DIRECT)) &&
		   (flags & O_ACCMODE) != O_WRONLY && fstat(fd, st) == 0 &&
		   S_ISREG(st->st_mode) && off >= 0 &&
		   (uint64_t)off + len <=
			   hz_align_up((uint64_t)st->st_size, HZ_PAGE_SIZE) &&
		   is_on_disk(fd);

	errno = saved;
	return may;
}

static long open_for_us(int fd, const struct stat *st)
{
	char path[64];
	struct hz_file_ask open = {
		.what = HZ_FILE_OPEN,
		.path = path,
		.dev = st->st_dev,
		.ino = st->st_ino,
	};

	hz_format(path, sizeof(path), "/proc/self/task/%d/fd/%d",
		  (int)syscall(SYS_gettid), fd);
	return ask(&open);
}

/* Lock held; dropped meanwhile. */
static bool bind_all(struct hz_engine *e, char *p, size_t len, off_t off,
		     uint16_t file)
{
	struct hz_range *r = hz_arena_range(e, p);
	uint32_t b = (uint32_t)((size_t)(p - e->base) >> HZ_BLOCK_SHIFT);

	r->flags |= HZ_RANGE_FILE;
	for (size_t done = 0; done < len; done += HZ_BLOCK_SIZE, b++) {
		struct hz_file_block of = {
			.at = (uint64_t)off + done,
			.len = (uint32_t)hz_min(len - done,
						(size_t)HZ_BLOCK_SIZE),
			.file = file,
		};

		if (!hz_file_bind(e, b, &of))
			return false;
	}
	return true;
}

static char *take(struct hz_engine *e, size_t len, off_t off, uint16_t file)
{
	char *p = hz_arena_take(len, HZ_BLOCK_SIZE, HZ_RANGE_MAP, false);
	HZ_SCOPED_LOCK(&e->lock);

	if (p && !bind_all(e, p, len, off, file)) {
		hz_arena_give(e, hz_arena_range(e, p), true);
		p = NULL;
	}
	hz_file_put(e, file);
	return p;
}

/* As hz_arena_map() does: what of it fits. */
static void populate(struct hz_engine *e, char *p, size_t len)
{
	size_t room = (size_t)e->cap << HZ_BLOCK_SHIFT;
	char got;

	len = hz_min(len, room / 2);
	for (size_t off = 0; off < len; off += HZ_BLOCK_SIZE)
		hz_file_peek(p + off, &got, 1);
}

void *hz_arena_map_file(size_t len, int fd, off_t off, bool want)
{
	struct hz_engine *e = &hz_engine;
	struct hz_gate g;
	struct stat st;
	char *p = NULL;
	long file = 0;

	if (!hz_knobs.file_maps || !may_take(fd, off, len, &st))
		return NULL;
	hz_gate_enter(&g);
	if (hz_arena_worth(e, len))
		file = open_for_us(fd, &st);
	if (file > 0)
		p = take(e, len, off, (uint16_t)file);
	if (p && want)
		populate(e, p, len);
	hz_gate_leave(&g);
	return p;
}

/* ---- bytes ---- */

size_t hz_file_peek(const void *from, void *to, size_t len)
{
	struct iovec there = {(void *)from, len}, here = {to, len};
	int saved = errno;
	ssize_t n = process_vm_readv(getpid(), &here, 1, &there, 1, 0);

	if (n < 0 && errno != EFAULT) { /* refused by a filter */
		memcpy(to, from, len);
		n = (ssize_t)len;
	}
	errno = saved;
	return n < 0 ? 0 : (size_t)n;
}

static void poke(void *to, const void *from, size_t len)
{
	struct iovec there = {to, len}, here = {(void *)from, len};
	int saved = errno;

	if (process_vm_writev(getpid(), &here, 1, &there, 1, 0) < 0 &&
	    errno != EFAULT)
		memcpy(to, from, len);
	errno = saved;
}

/* Zeros where the file has nothing. False: it cannot be read. */
static bool read_file(const struct hz_file_block *fb, size_t from, char *to,
		      size_t len)
{
	struct hz_file_ask read = {
		.what = HZ_FILE_READ,
		.file = fb->file,
		.buf = to,
		.at = fb->at + from,
		.len = len,
	};
	long n = ask(&read);

	if (n < 0)
		return false;
	memset(to + n, 0, len - (size_t)n);
	return true;
}

/* Also where the program has forbidden itself to write. */
static void write_forced(char *to, const char *from, size_t len)
{
	int fd = hz_os.open("/proc/self/mem", O_RDWR | O_CLOEXEC, 0);
	ssize_t n = fd < 0 ? fd : hz_os.pwrite(fd, from, len, (off_t)to);

	if (fd >= 0)
		hz_os.close(fd);
	if (n < 0)
		poke(to, from, len);
}

/* What the block is a part of; and how it stands. */
static struct hz_file_block look(struct hz_engine *e, uint32_t b,
				 enum hz_block_state *state)
{
	HZ_SCOPED_LOCK(&e->lock);

	hz_region_settle(e, b);
	*state = (enum hz_block_state)e->blk[b].state;
	return e->filed[b];
}

/* ---- the calls ---- */

bool hz_file_give(struct hz_engine *e, uint32_t b)
{
	struct hz_file_ask give = {.what = HZ_FILE_NATIVE, .block = b};
	enum hz_block_state state;

	return look(e, b, &state).file && ask(&give) == 1;
}

bool hz_file_discard(struct hz_engine *e, uint32_t b, char *from, char *to)
{
	size_t len = (size_t)(to - from);
	enum hz_block_state state;
	struct hz_file_block fb = look(e, b, &state);
	char *buf;

	if (!fb.file || fb.kernels ||
	    (len == HZ_BLOCK_SIZE && state != HZ_BLK_NATIVE))
		return false;
	if (state == HZ_BLK_FILED)
		return true;
	buf = hz_os_reserve(len);
	if (!buf)
		return true; /* what was there stays, rather than zeros */
	if (read_file(&fb, (size_t)(from - hz_block_addr(e, b)), buf, len)) {
		if (state == HZ_BLK_NATIVE)
			write_forced(from, buf, len);
		else
			poke(from, buf, len);
	}
	hz_os.munmap(buf, len);
	return true;
}

bool hz_file_covers(struct hz_engine *e, char *addr, size_t len)
{
	struct hz_span s = hz_part_touched(
		e, hz_part_inside(e, addr, hz_max(len, (size_t)1)));
	HZ_SCOPED_LOCK(&e->lock);

	for (uint32_t b = s.first; b < s.first + s.n; b++)
		if (!hz_filed(e, b) ||
		    e->filed[b].file != e->filed[s.first].file)
			return false;
	return s.n != 0;
}

struct carry {
	char *have, *want; /* a block each */
};

/* What of the piece differs from the file goes to `to`. */
static void carry_piece(struct hz_engine *e, const struct carry *c,
			struct hz_part piece, char *to)
{
	size_t len = (size_t)(piece.to - piece.from), got, n;
	bool known;
	uint32_t b = (uint32_t)((size_t)(piece.from - e->base) >>
				HZ_BLOCK_SHIFT);
	enum hz_block_state state;
	struct hz_file_block fb = look(e, b, &state);

	if (state == HZ_BLK_FILED)
		return;
	known = read_file(&fb, (size_t)(piece.from - hz_block_addr(e, b)),
			  c->want, len);
	got = hz_file_peek(piece.from, c->have, len);
	for (size_t off = 0; off < got; off += n) {
		n = hz_min(got - off, (size_t)HZ_PAGE_SIZE);
		if (!known || memcmp(c->have + off, c->want + off, n))
			poke(to + off, c->have + off, n);
	}
}

static void carry_all(struct hz_engine *e, const struct carry *c,
		      struct hz_part p, char *to)
{
	char *from = p.from;

	for (char *next; p.from < p.to; p.from = next) {
		size_t off = (size_t)(p.from - e->base);

		next = e->base + hz_align_down(off, HZ_BLOCK_SIZE) +
		       HZ_BLOCK_SIZE;
		next = hz_min(next, p.to);
		carry_piece(e, c, (struct hz_part){p.from, next},
			    to + (p.from - from));
	}
}

long hz_file_remap(struct hz_engine *e, char *old, size_t len, size_t new_len)
{
	uint32_t b = (uint32_t)((size_t)(old - e->base) >> HZ_BLOCK_SHIFT);
	struct carry c = {.have = hz_os_reserve(2 * HZ_BLOCK_SIZE)};
	enum hz_block_state state;
	struct hz_file_block fb = look(e, b, &state);
	struct hz_file_ask map = {
		.what = HZ_FILE_MAP,
		.file = fb.file,
		.at = fb.at + (uint64_t)(old - hz_block_addr(e, b)),
		.len = new_len,
	};
	long at = c.have ? ask(&map) : -ENOMEM;

	if (at >= 0) {
		c.want = c.have + HZ_BLOCK_SIZE;
		carry_all(e, &c, (struct hz_part){old, old + len}, (char *)at);
	}
	if (c.have)
		hz_os.munmap(c.have, 2 * HZ_BLOCK_SIZE);
	return at;
}
