/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a transfer is finished, and trials of a backend with real transfers.
 *
 * The rules for results stand here once, for every backend: a block has moved
 * when all its bytes have.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "backend/store.h"

#include <errno.h>
#include <sys/mman.h>
#include "base/log.h"
#include "base/os.h"

#define TRIAL_NS 10000000000ull /* longer than any device that is alive */

static bool finish(struct hz_xfer *x, int res)
{
	x->res = res;
	return true;
}

bool hz_xfer_account(const struct hz_store *store, struct hz_xfer *x, ssize_t n)
{
	size_t done = x->done;

	if (n == -EINTR || n == -EAGAIN)
		return false;
	if (n < 0)
		return finish(x, n);
	if (n == 0 && x->fd)
		return finish(x, 0);
	if (n == 0 || (size_t)n > hz_xfer_len(x) - done)
		return finish(x, -EIO); /* end of file, or nonsense */
	done += n;
	if (done == hz_xfer_len(x)) {
		x->done = done;
		return finish(x, 0);
	}
	/* What follows must begin on a border again. A piece too short for
	 * that is the ragged end of a file, or of the room on a disk. */
	if (store->direct && !x->fd)
		done = hz_align_down(done, (size_t)store->align);
	if (done == x->done)
		return finish(x, x->write ? -ENOSPC : -EIO);
	x->done = done;
	return false;
}

void hz_xfer_run(const struct hz_store *store, struct hz_xfer *x)
{
	ssize_t n;

	x->done = 0;
	do {
		char *p = (char *)x->buf + x->done;
		size_t len = hz_xfer_len(x) - x->done;
		off_t off = (off_t)hz_xfer_at(x) + x->done;

		n = x->write ? hz_os.pwrite(store->fd, p, len, off)
			     : hz_os.pread(hz_xfer_fd(store, x), p, len, off);
	} while (!hz_xfer_account(store, x, n));
}

static int one(const struct hz_store_ops *ops, struct hz_queue *q,
	       struct hz_xfer *x)
{
	uint64_t end = hz_os.now() + TRIAL_NS, now;
	struct hz_xfer *done;
	unsigned ready;
	int n = ops->submit(q, x);

	if (n)
		return n;
	while ((now = hz_os.now()) < end) {
		n = ops->wait(q, end - now, &done, 1, &ready);
		if (n)
			return n < 0 ? n : x->res;
	}
	return -ETIMEDOUT;
}

/* The same words in every process, so that trials of one slot at the same
 * time do not disturb each other. */
static void paint(uint64_t *word, bool clear)
{
	for (size_t i = 0; i < HZ_BLOCK_SIZE / sizeof(*word); i++)
		word[i] = clear ? 0 : (i + 1) * 0x9e3779b97f4a7c15ull;
}

static int compare(const uint64_t *word)
{
	for (size_t i = 0; i < HZ_BLOCK_SIZE / sizeof(*word); i++)
		if (word[i] != (i + 1) * 0x9e3779b97f4a7c15ull)
			return -EIO;
	return 0;
}

int hz_queue_probe(struct hz_store *store, const struct hz_store_ops *ops,
		   struct hz_queue *q)
{
	struct hz_xfer x = {.slot = store->capacity - 1, .write = true};
	int err;

	x.buf = hz_os_reserve_aligned(HZ_BLOCK_SIZE, HZ_BLOCK_SIZE);
	if (!x.buf)
		return -ENOMEM;
	/* As frames are: a buffer in small pages takes more than one request,
	 * and the kernel polls for single ones only. */
	hz_os.madvise(x.buf, HZ_BLOCK_SIZE, MADV_HUGEPAGE);
	paint(x.buf, false);
	err = one(ops, q, &x);
	if (!err) {
		paint(x.buf, true);
		x.write = false;
		err = one(ops, q, &x);
	}
	if (!err)
		err = compare(x.buf);
	hz_os.munmap(x.buf, HZ_BLOCK_SIZE);
	return err;
}

static const char *remedy(int err)
{
	if (err == -EPERM)
		return "allow it by kernel.io_uring_disabled=0 and in the "
		       "container's seccomp profile, or set io=threads";
	if (err == -ENOSYS)
		return "it needs Linux 5.11, or set io=threads";
	return "set io=threads";
}

int hz_store_probe(struct hz_store *store, const struct hz_store_ops *ops,
		   unsigned flags)
{
	struct hz_queue *q;
	int err = ops->open(store, 1, flags, &q);

	if (!err) {
		err = hz_queue_probe(store, ops, q);
		ops->close(q);
	}
	if (err && ops == &hz_store_uring)
		hz_log_once(HZ_WARN, "store", "io_uring is off (%m): %s", err,
			    remedy(err));
	else if (err)
		hz_log_once(HZ_ERROR, "store", "a trial by %s failed (%m)",
			    ops->name, err);
	return err;
}
