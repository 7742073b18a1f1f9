/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a stream's thread does with an entry. A fault on memory that nobody
 * has mapped kills the context, as it does on a device; what is queued behind
 * it in a dead context is dropped.
 */
#include <setjmp.h>
#include <string.h>
#include <time.h>
#include "soft.h"

__thread bool soft_in_callback;

static void pause_ns(uint64_t ns)
{
	struct timespec ts = {(time_t)(ns / 1000000000),
			      (long)(ns % 1000000000)};

	nanosleep(&ts, NULL);
}

/* The time that the link needs, if one was asked for; the two directions are
 * two locks. With both in use each has less, in the ratio that was measured on
 * PCIe 4: 26 against 18.5 GB/s. */
void soft_link_time(bool to_device, uint64_t bytes)
{
	static pthread_mutex_t lanes[2] = {PTHREAD_MUTEX_INITIALIZER,
					   PTHREAD_MUTEX_INITIALIZER};
	static _Atomic unsigned busy[2];
	double rate = (double)(to_device ? soft_set.link_h2d
					 : soft_set.link_d2h);

	if (rate == 0)
		return;
	soft_guard(lanes[to_device]);
	atomic_fetch_add(&busy[to_device], 1);
	if (atomic_load(&busy[!to_device]))
		rate *= 18.5 / 26;
	pause_ns((uint64_t)((double)bytes / rate * 1e9));
	atomic_fetch_sub(&busy[to_device], 1);
}

static void do_copy(const struct soft_copy *c)
{
	uint64_t bytes = (uint64_t)c->width * c->height * c->depth;

	soft_phys_device_begins();
	for (size_t z = 0; z < c->depth; z++)
		for (size_t y = 0; y < c->height; y++)
			memmove(c->dst + z * c->dst_slice + y * c->dst_pitch,
				c->src + z * c->src_slice + y * c->src_pitch,
				c->width);
	soft_count(copies, 1);
	switch (c->dir) {
	case SOFT_H2D:
		soft_count(copied_h2d_bytes, bytes);
		soft_link_time(true, bytes);
		break;
	case SOFT_D2H:
		soft_count(copied_d2h_bytes, bytes);
		soft_link_time(false, bytes);
		break;
	case SOFT_D2D:
		soft_count(copied_d2d_bytes, bytes);
		break;
	default:
		soft_count(copied_h2h_bytes, bytes);
		break;
	}
}

static void set_row(char *dst, uint32_t value, uint32_t elem, size_t n)
{
	if (elem == 1)
		memset(dst, (int)value, n);
	else if (elem == 2)
		for (size_t i = 0; i < n; i++)
			((uint16_t *)dst)[i] = (uint16_t)value;
	else
		for (size_t i = 0; i < n; i++)
			((uint32_t *)dst)[i] = value;
}

static void do_set(const struct soft_op *op)
{
	soft_phys_device_begins();
	for (size_t y = 0; y < op->set.height; y++)
		set_row(op->set.dst + y * op->set.pitch, op->set.value,
			op->set.elem, op->set.width);
	soft_count(memsets, 1);
}

static void do_write(const struct soft_op *op)
{
	if (op->memop.wide)
		__atomic_store_n((uint64_t *)op->memop.addr, op->memop.value,
				 __ATOMIC_RELEASE);
	else
		__atomic_store_n((uint32_t *)op->memop.addr,
				 (uint32_t)op->memop.value, __ATOMIC_RELEASE);
}

static bool value_reached(const struct soft_op *op)
{
	uint64_t want = op->memop.value, have, bits;

	if (op->memop.wide) {
		have = __atomic_load_n((uint64_t *)op->memop.addr,
				       __ATOMIC_ACQUIRE);
		bits = UINT64_MAX;
	} else {
		have = __atomic_load_n((uint32_t *)op->memop.addr,
				       __ATOMIC_ACQUIRE);
		bits = UINT32_MAX;
	}
	switch (op->memop.flags & 3) {
	case CU_STREAM_WAIT_VALUE_EQ:
		return have == want;
	case CU_STREAM_WAIT_VALUE_AND:
		return (have & want) != 0;
	case CU_STREAM_WAIT_VALUE_NOR:
		return (~(have | want) & bits) != 0;
	default: /* cyclic, as the interface says */
		return op->memop.wide ? (int64_t)(have - want) >= 0
				      : (int32_t)(have - want) >= 0;
	}
}

static void do_wait_value(CUstream s, const struct soft_op *op)
{
	while (!value_reached(op) && !atomic_load(&s->ctx->sticky))
		pause_ns(50000);
}

static void do_record(CUstream s, struct soft_op *op)
{
	CUevent e = op->record.event;

	if (!op->record.serial)
		soft_event_record_now(s, e); /* a graph's */
	else if (atomic_load(&e->serial) == op->record.serial)
		atomic_store(&e->time_ns, soft_now_ns());
}

/* Calls into the program, which touches its memory as the host and may not call
 * the driver. */
static void do_host(CUstream s, struct soft_op *op)
{
	int dev = soft_running_on;

	soft_phys_host_waited();
	soft_running_on = -1;
	soft_in_callback = true;
	if (op->kind == SOFT_OP_HOST)
		op->host.fn(op->host.user);
	else
		op->host.callback(op->host.stream,
				  (CUresult)atomic_load(&s->ctx->sticky),
				  op->host.user);
	soft_in_callback = false;
	soft_running_on = dev;
}

static void run(CUstream s, struct soft_op *op)
{
	switch (op->kind) {
	case SOFT_OP_KERNEL:
		soft_run_grid(s->ctx, &op->launch);
		break;
	case SOFT_OP_COPY:
		do_copy(&op->copy);
		break;
	case SOFT_OP_SET:
		do_set(op);
		break;
	case SOFT_OP_HOST:
	case SOFT_OP_CALLBACK:
		do_host(s, op);
		break;
	case SOFT_OP_RECORD:
		do_record(s, op);
		break;
	case SOFT_OP_WRITE:
		do_write(op);
		break;
	case SOFT_OP_WAIT_VALUE:
		do_wait_value(s, op);
		break;
	case SOFT_OP_GRAPH:
	case SOFT_OP_CHILD:
		soft_graph_run(s, op->graph);
		break;
	case SOFT_OP_FREE:
		soft_async_free(op->alloc);
		break;
	case SOFT_OP_PREFETCH:
		soft_phys_prefetch(op->move.addr, op->move.len, op->move.to);
		break;
	case SOFT_OP_DISCARD:
		soft_phys_discard(op->move.addr, op->move.len);
		break;
	case SOFT_OP_WAIT: /* but for a node, the thread has waited */
		if (op->record.event)
			soft_event_wait_now(s, op->record.event);
		break;
	case SOFT_OP_ALLOC: /* the address was made with the node */
	case SOFT_OP_EMPTY:
		break;
	}
}

/* A callback and a free come through also in a dead context. */
static bool always(enum soft_op_kind kind)
{
	return kind == SOFT_OP_CALLBACK || kind == SOFT_OP_FREE ||
	       kind == SOFT_OP_RECORD;
}

void soft_execute(CUstream s, struct soft_op *op)
{
	sigjmp_buf env, *outer = soft_fault_env;

	if (atomic_load(&s->ctx->sticky) && !always(op->kind))
		return;
	if (op->kind == SOFT_OP_HOST || op->kind == SOFT_OP_CALLBACK) {
		run(s, op); /* a fault in it is the program's own */
		return;
	}
	if (sigsetjmp(env, 0)) {
		soft_fault_env = outer;
		soft_count(stray_accesses, 1);
		soft_ctx_kill(s->ctx, CUDA_ERROR_ILLEGAL_ADDRESS);
		return;
	}
	soft_fault_env = &env;
	run(s, op);
	soft_fault_env = outer;
}
