/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private maps of files: the open files, the blocks that refer to them, and
 * what hz-aux does for threads of the program. See file_map.h.
 *
 * A record counts its blocks, its transfers and whoever is about to make
 * blocks of it. What nobody refers to is closed by hz-aux, which alone has the
 * descriptor table for it.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/os.h"
#include "base/stats.h"
#include "checksum.h"
#include "engine/engine.h"
#include "engine/file_map.h"

/* Maps at once; more are the kernel's. */
#define FILES_MOST 1024u
#define PATH_BYTES 64

struct file {
	int fd;	  /* of the engine's table; 0: the record is free */
	int lent; /* while the process forks: of the program's, or -1 */
	uint32_t refs;
};

/* Engine's lock. */
static struct {
	struct file of[FILES_MOST];
	uint32_t used; /* no record above was ever used */
	bool closing;  /* the request below is queued */
	struct hz_request request;
	int pid, aux; /* whose descriptors a forked child inherits */
} files;

static const struct hz_file_ask close_unused = {.what = HZ_FILE_CLOSE};

static struct file *file_at(uint16_t number)
{
	return &files.of[number - 1];
}

/* ---- records ---- */

static uint16_t new_record(int fd)
{
	for (uint32_t i = 0; i < FILES_MOST; i++) {
		if (files.of[i].fd)
			continue;
		files.of[i] = (struct file){.fd = fd, .lent = -1, .refs = 1};
		files.used = hz_max(files.used, i + 1);
		return (uint16_t)(i + 1);
	}
	return 0;
}

/* Nobody waits for the answer. */
static void ask_to_close(struct hz_engine *e)
{
	struct hz_request *r = &files.request;

	if (files.closing)
		return;
	files.closing = true;
	*r = (struct hz_request){.op = HZ_REQ_FILE, .file = &close_unused};
	hz_engine_post(e, r);
}

void hz_file_put(struct hz_engine *e, uint16_t file)
{
	if (--file_at(file)->refs == 0)
		ask_to_close(e);
}

bool hz_files_make_tables(struct hz_engine *e)
{
	e->filed = hz_os_reserve((size_t)e->blocks * sizeof(*e->filed));
	return e->filed;
}

/* ---- blocks ---- */

bool hz_filed(const struct hz_engine *e, uint32_t b)
{
	return e->filed[b].file != 0;
}

enum hz_block_state hz_file_home(const struct hz_engine *e, uint32_t b)
{
	return e->blk[b].slot == HZ_NONE && hz_filed(e, b) ? HZ_BLK_FILED :
							     HZ_BLK_STORED;
}

bool hz_file_bind(struct hz_engine *e, uint32_t b,
		  const struct hz_file_block *of)
{
	hz_region_purge(e, b);
	if (e->blk[b].state != HZ_BLK_ZERO)
		return false;
	e->filed[b] = *of;
	file_at(of->file)->refs++;
	hz_block_set(&e->totals, &e->blk[b], HZ_BLK_FILED);
	return true;
}

void hz_file_forget(struct hz_engine *e, uint32_t b)
{
	uint16_t file = e->filed[b].file;

	if (!file)
		return;
	memset(&e->filed[b], 0, sizeof(e->filed[b]));
	hz_file_put(e, file);
}

void hz_file_restore(struct hz_engine *e, uint32_t b)
{
	struct hz_file_block *fb = &e->filed[b];

	if (!fb->file || e->blk[b].state != HZ_BLK_ZERO)
		return;
	fb->hash[0] = fb->hash[1] = 0;
	hz_block_set(&e->totals, &e->blk[b], HZ_BLK_FILED);
}

bool hz_file_same(const struct hz_engine *e, uint32_t b, const uint64_t hash[2])
{
	const struct hz_file_block *fb = &e->filed[b];

	return fb->file && (fb->hash[0] || fb->hash[1]) &&
	       fb->hash[0] == hash[0] && fb->hash[1] == hash[1];
}

/* ---- transfers ---- */

void hz_file_xfer(struct hz_engine *e, uint32_t b, struct hz_xfer *x)
{
	const struct hz_file_block *fb = &e->filed[b];

	x->fd = file_at(fb->file)->fd;
	x->at = fb->at;
	x->len = fb->len;
	file_at(fb->file)->refs++;
}

void hz_file_xfer_done(struct hz_engine *e, const struct hz_xfer *x)
{
	for (uint32_t i = 0; x->fd && i < files.used; i++)
		if (files.of[i].fd == x->fd) {
			hz_file_put(e, (uint16_t)(i + 1));
			return;
		}
}

int hz_file_check(struct hz_engine *e, uint32_t b, const struct hz_xfer *x)
{
	char *mem = x->buf;
	uint64_t hash[2];

	/* The last page of a file ends with zeros. */
	if (hz_align_up(x->done, HZ_PAGE_SIZE) < x->len)
		return -ENODATA;
	hz_unlock(&e->lock);
	memset(mem + x->done, 0, HZ_BLOCK_SIZE - x->done);
	hz_checksum(mem, HZ_BLOCK_SIZE, hash);
	hz_lock(&e->lock);
	if (e->frame[x->tag].orphan)
		return 0; /* the block is somebody else's */
	e->filed[b].hash[0] = hash[0];
	e->filed[b].hash[1] = hash[1];
	return 0;
}

/* ---- the kernel's own mapping ---- */

static int map_file(const struct hz_file_block *fb, int fd, char *addr)
{
	long at = hz_os.mmap(addr, fb->len, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, fd,
			     (off_t)fb->at);

	if (at >= 0 && fb->len < HZ_BLOCK_SIZE) /* no access behind it */
		at = hz_os.mmap(addr + fb->len, HZ_BLOCK_SIZE - fb->len,
				PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
					MAP_FIXED,
				-1, 0);
	return at < 0 ? (int)at : 0;
}

int hz_file_to_kernel(struct hz_engine *e, uint32_t b)
{
	struct hz_block *blk = &e->blk[b];
	struct hz_file_block fb = e->filed[b];
	char *addr = hz_block_addr(e, b);
	int fd = file_at(fb.file)->fd, rc;

	hz_unlock(&e->lock);
	rc = map_file(&fb, fd, addr);
	hz_lock(&e->lock);
	if (rc == 0) {
		e->filed[b].kernels = true;
		hz_engine_unused(e, b);
		blk->flags &= (uint8_t) ~(HZ_BLKF_STICKY | HZ_BLKF_NO_ACCESS);
		hz_stat_add(HZ_STAT_native_bytes, HZ_BLOCK_SIZE);
	}
	blk->flags &= (uint8_t) ~(HZ_BLKF_WANTED | HZ_BLKF_DEMAND);
	hz_block_set(&e->totals, blk, rc ? HZ_BLK_FILED : HZ_BLK_NATIVE);
	/* Who waited for it looks again, at the file. */
	e->fault->wake(e->uffd, addr, HZ_BLOCK_SIZE);
	pthread_cond_broadcast(&e->changed);
	return rc;
}

/* ---- hz-aux: what it is asked ---- */

static bool same_file(int fd, const struct hz_file_ask *ask)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       st.st_dev == ask->dev && st.st_ino == ask->ino;
}

/* The caller's descriptor may be another file's by now: do not block on it,
 * and look twice. Nothing of a pipe's nature remains in the flags: io_uring
 * would not wait for the disk. */
static int open_file(const struct hz_file_ask *ask)
{
	int fd = hz_os.open(ask->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);

	if (fd < 0)
		return fd;
	if ((!ask->ino || same_file(fd, ask)) && fcntl(fd, F_SETFL, 0) == 0)
		return fd;
	hz_os.close(fd);
	return -ESTALE;
}

static long answer_open(struct hz_engine *e, const struct hz_file_ask *ask)
{
	uint16_t number = 0;
	int fd;

	hz_unlock(&e->lock);
	fd = open_file(ask);
	hz_lock(&e->lock);
	if (fd < 0)
		return fd;
	if (!ask->file)
		number = new_record(fd);
	else
		file_at(ask->file)->fd = fd;
	if (number || ask->file)
		return number;
	hz_os.close(fd);
	return -ENFILE;
}

/* What is on its way arrives; what was only read ahead is left in the file. */
static long answer_native(struct hz_engine *e, uint32_t b)
{
	struct hz_block *blk = &e->blk[b];

	while (hz_filed(e, b) &&
	       (hz_region_passing(blk) || blk->state == HZ_BLK_READING))
		hz_aux_wait(e);
	if (!hz_filed(e, b))
		return 0;
	if (blk->state == HZ_BLK_READY && hz_file_home(e, b) == HZ_BLK_FILED) {
		hz_frame_set(e, blk->frame, HZ_FRAME_FREE);
		blk->frame = HZ_NONE;
		hz_block_set(&e->totals, blk, HZ_BLK_FILED);
	}
	if (blk->state != HZ_BLK_FILED)
		return e->filed[b].kernels;
	hz_block_set(&e->totals, blk, HZ_BLK_UNMAPPING);
	return hz_file_to_kernel(e, b) == 0;
}

static long answer_read(struct hz_engine *e, const struct hz_file_ask *ask)
{
	int fd = file_at(ask->file)->fd;
	size_t done = 0;
	ssize_t n = 1;

	hz_unlock(&e->lock);
	while (done < ask->len && n) {
		n = hz_os.pread(fd, (char *)ask->buf + done, ask->len - done,
				(off_t)(ask->at + done));
		if (n < 0 && n != -EINTR)
			break;
		done += n > 0 ? (size_t)n : 0;
	}
	hz_lock(&e->lock);
	return n < 0 ? n : (long)done;
}

static long answer_map(struct hz_engine *e, const struct hz_file_ask *ask)
{
	int fd = file_at(ask->file)->fd;
	long at;

	hz_unlock(&e->lock);
	at = hz_os.mmap(NULL, ask->len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_NORESERVE, fd, (off_t)ask->at);
	hz_lock(&e->lock);
	return at;
}

/* Closing the last descriptor of a file without a name takes its time. */
static long answer_close(struct hz_engine *e)
{
	files.closing = false;
	for (uint32_t i = 0; i < files.used; i++) {
		int fd = files.of[i].fd;

		if (!fd || files.of[i].refs)
			continue;
		files.of[i].fd = 0;
		hz_unlock(&e->lock);
		hz_os.close(fd);
		hz_lock(&e->lock);
	}
	return 0;
}

long hz_file_answer(struct hz_engine *e, const struct hz_file_ask *ask)
{
	switch (ask->what) {
	case HZ_FILE_OPEN:
	case HZ_FILE_REOPEN:
		return answer_open(e, ask);
	case HZ_FILE_NATIVE:
		return answer_native(e, ask->block);
	case HZ_FILE_READ:
		return answer_read(e, ask);
	case HZ_FILE_MAP:
		return answer_map(e, ask);
	case HZ_FILE_CLOSE:
		return answer_close(e);
	}
	return -EINVAL;
}

/* ---- fork ---- */

/* The parent may be gone when the child's engine opens its files: the forking
 * thread opens them first, as its own. */
void hz_files_lend(struct hz_engine *e)
{
	char path[PATH_BYTES];

	files.pid = getpid();
	files.aux = e->aux_tid;
	for (uint32_t i = 0; i < files.used; i++) {
		struct file *f = &files.of[i];

		f->lent = -1;
		if (!f->fd || !f->refs)
			continue;
		hz_format(path, sizeof(path), "/proc/%d/task/%d/fd/%d",
			  files.pid, files.aux, f->fd);
		f->lent = hz_os.open(path, O_RDONLY | O_CLOEXEC, 0);
	}
}

void hz_files_lent(void)
{
	for (uint32_t i = 0; i < files.used; i++) {
		if (files.of[i].lent >= 0)
			hz_os.close(files.of[i].lent);
		files.of[i].lent = -1;
	}
}

/* No transfer of the parent's is ours. */
static void count_refs(struct hz_engine *e)
{
	for (uint32_t i = 0; i < files.used; i++)
		files.of[i].refs = 0;
	for (uint32_t b = 0; files.used && b < e->blocks_used; b++)
		if (hz_filed(e, b))
			file_at(e->filed[b].file)->refs++;
}

/* By the forking thread's descriptor, else by the parent's. */
static bool take(uint16_t number)
{
	struct file *f = file_at(number);
	char path[PATH_BYTES];
	struct hz_file_ask ask = {
		.what = HZ_FILE_REOPEN, .path = path, .file = number};
	struct hz_request req = {.op = HZ_REQ_FILE, .file = &ask};

	hz_format(path, sizeof(path), "/proc/%d/task/%d/fd/%d",
		  f->lent >= 0 ? (int)getpid() : files.pid,
		  f->lent >= 0 ? (int)syscall(SYS_gettid) : files.aux,
		  f->lent >= 0 ? f->lent : f->fd);
	return hz_engine_call(&req) >= 0;
}

bool hz_files_take(struct hz_engine *e)
{
	bool all = true;

	files.closing = false;
	count_refs(e);
	for (uint32_t i = 0; i < files.used; i++) {
		if (!files.of[i].fd)
			continue;
		if (!files.of[i].refs)
			files.of[i].fd = 0; /* the parent's */
		else if (!take((uint16_t)(i + 1)))
			all = false;
	}
	hz_files_lent();
	return all;
}

void hz_files_abandon(struct hz_engine *e)
{
	for (uint32_t b = 0; files.used && b < e->blocks_used; b++)
		memset(&e->filed[b], 0, sizeof(e->filed[b]));
	hz_files_lent();
}
