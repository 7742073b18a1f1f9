/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The software driver inside: its objects, and who owns them.
 *
 * Locks, outer before inner: soft_lock (contexts, streams, modules, captures
 * and graphs), soft_map_lock (the map of allocations, pools and charges),
 * soft_phys_lock (residency; also taken by the SIGSEGV handler, so no managed
 * byte is touched under it). A stream's own lock is innermost and is never
 * held while an entry runs.
 */
#ifndef SOFTCUDA_SOFT_H
#define SOFTCUDA_SOFT_H

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include "api.h"
#include "module.h"

#define SOFT_BLOCK	 ((size_t)2 << 20)
#define SOFT_MAX_DEVICES 16
#define SOFT_QUEUE	 1024

#define soft_round_up(x_, a_) (((x_) + ((a_)-1)) & ~((__typeof__(x_))(a_)-1))
#define soft_len(a_)	      (sizeof(a_) / sizeof((a_)[0]))

/* ---- counters (gate.c) ---- */
struct soft_counters {
#define SOFT_GAUGE(name_, text_) _Atomic uint64_t name_;
#define SOFT_COUNT(name_, text_) _Atomic uint64_t name_;
#include "counters.def"
#undef SOFT_GAUGE
#undef SOFT_COUNT
};
extern struct soft_counters soft_counters;
#define soft_count(name_, n_) \
	atomic_fetch_add_explicit(&soft_counters.name_, (uint64_t)(n_), \
				  memory_order_relaxed)
#define soft_uncount(name_, n_) \
	atomic_fetch_sub_explicit(&soft_counters.name_, (uint64_t)(n_), \
				  memory_order_relaxed)
#define soft_highest(name_, v_) soft_raise(&soft_counters.name_, (v_))
void soft_raise(_Atomic uint64_t *at, uint64_t v);

/* ---- settings (settings.c) ---- */
struct soft_settings {
	unsigned devices, driver, lag, workers;
	uint64_t vram[SOFT_MAX_DEVICES];
	bool concurrent[SOFT_MAX_DEVICES], pageable[SOFT_MAX_DEVICES];
	bool vmm_mixed, faults, discard_keeps;
	uint64_t link_h2d, link_d2h; /* bytes a second, 0 no delay */
	const char *report;
};
extern struct soft_settings soft_set;
void soft_settings_read(void);
void soft_boot(void);
/* The current context of the calling thread, if it lives; else NULL. */
CUcontext soft_ctx_or_null(void);
void soft_gate_sticky(void);
void soft_gate_open(void);
void soft_gate_child(void);

/* ---- objects: never given back, so that a stale handle can be told ---- */
enum soft_kind {
	SOFT_DEAD,
	SOFT_CTX = 0x50f7c001,
	SOFT_STREAM,
	SOFT_EVENT,
	SOFT_MODULE,
	SOFT_FUNCTION,
	SOFT_LIBRARY,
	SOFT_KERNEL,
	SOFT_GRAPH,
	SOFT_NODE,
	SOFT_EXEC,
	SOFT_POOL,
	SOFT_ARRAY,
	SOFT_MIPMAP,
	SOFT_TEXTURE,
	SOFT_SURFACE,
	SOFT_EXTERNAL,
	SOFT_KINDS
};
struct soft_object {
	uint32_t kind, was;
	struct soft_object *next_free;
};
void *soft_new(enum soft_kind kind, size_t bytes);
void soft_delete(void *object);
bool soft_is(const void *object, enum soft_kind kind);
/* The same, with the driver's code for it. */
CUresult soft_check(const void *object, enum soft_kind kind);

extern pthread_mutex_t soft_lock, soft_map_lock, soft_phys_lock;
void soft_unlock_p(pthread_mutex_t **lock);
#define SOFT_CAT_(a_, b_) a_##b_
#define SOFT_CAT(a_, b_)  SOFT_CAT_(a_, b_)
#define soft_guard(lock_)                                                 \
	__attribute__((cleanup(soft_unlock_p), unused)) pthread_mutex_t * \
		SOFT_CAT(guard_, __LINE__) =                              \
			(pthread_mutex_lock(&lock_), &lock_)
uint64_t soft_now_ns(void);

/* ---- devices and contexts ---- */
struct soft_device {
	int index;
	uint64_t capacity;
	uint64_t native;   /* charged bytes of native memory, soft_map_lock */
	uint64_t attached; /* bytes that managed blocks hold, soft_phys_lock */
	CUcontext primary;
	unsigned primary_refs, primary_flags;
	CUmemoryPool default_pool, pool;
};
extern struct soft_device soft_devices[SOFT_MAX_DEVICES];
CUresult soft_device(CUdevice dev, struct soft_device **out);

struct CUctx_st {
	struct soft_object o;
	struct soft_device *dev;
	unsigned flags, api_version;
	bool primary;
	uint64_t id;
	_Atomic int sticky; /* a CUresult, once set for ever */
	CUstream legacy;
	/* all but legacy; soft_lock */
	LIST_HEAD(soft_streams, CUstream_st) streams;
	size_t limits[16];
	unsigned cache_config, shared_config;
	uint32_t peers; /* one bit a device whose memory was enabled */
};
CUresult soft_current(CUcontext *out);
CUresult soft_ctx_sync(CUcontext ctx);
void soft_ctx_kill(CUcontext ctx, CUresult why);

/* ---- memory (map.c, va.c, charge.c) ---- */
enum soft_mem {
	SOFT_MEM_DEVICE,
	SOFT_MEM_HOST,
	SOFT_MEM_REGISTERED,
	SOFT_MEM_MANAGED,
	SOFT_MEM_ASYNC,	 /* from a pool */
	SOFT_MEM_VMM,	 /* one mapping of a handle */
	SOFT_MEM_IPC,	 /* another process's */
	SOFT_MEM_GLOBAL, /* a variable of a module */
	SOFT_MEM_GRAPH,	 /* made by a graph's allocation node */
	SOFT_MEM_ARRAY,	 /* of an array or of all levels of one */
	SOFT_MEM_EXTERNAL, /* a mapping of memory that is not the driver's */
};
struct soft_alloc {
	uintptr_t base;
	size_t size, span; /* asked for; taken of the address space */
	enum soft_mem kind;
	int dev; /* -1: host */
	CUcontext ctx;
	unsigned flags;
	uint64_t id, charged;
	CUmemoryPool pool;
	struct soft_managed *managed;
	struct soft_handle *handle; /* of a VMM mapping */
	void *object; /* the array, which ends with its memory */
	unsigned opens; /* IPC: of this handle by this context */
	uint64_t token; /* IPC: what names it in its own process */
	unsigned access[SOFT_MAX_DEVICES + 1]; /* VMM: the last is the host */
	bool freeing;  /* cuMemFreeAsync was called */
	bool idle;     /* graph memory that no launch has taken */
	unsigned refs; /* graph memory: nodes that name it */
	bool exported; /* to another process */
	int sync_memops;
};
struct soft_alloc *soft_map_find(uintptr_t addr);
/* The alloc that overlaps [addr, addr + len). */
struct soft_alloc *soft_map_overlap(uintptr_t addr, size_t len);
int soft_map_add(struct soft_alloc *a);
void soft_map_remove(struct soft_alloc *a);
/* Calls fn with each until it is true. */
void soft_map_each(bool (*fn)(struct soft_alloc *a, void *arg), void *arg);
/* Removes and destroys all that fn is true of; takes soft_map_lock. */
void soft_map_drop(bool (*fn)(struct soft_alloc *a, void *arg), void *arg);
struct soft_alloc *soft_alloc_new(enum soft_mem kind, uintptr_t base,
				  size_t size, int dev, CUcontext ctx);
bool soft_on_device(const struct soft_alloc *a);

enum soft_arena_id {
	SOFT_ARENA_SMALL, /* 512-byte steps, always open, shared file */
	SOFT_ARENA_LARGE, /* 2 MiB steps, closed where free, shared file */
	SOFT_ARENA_MANAGED,
	SOFT_ARENA_RESERVE, /* cuMemAddressReserve */
	SOFT_ARENAS
};
void *soft_va_get(enum soft_arena_id id, size_t bytes, size_t align,
		  uintptr_t want);
void soft_va_put(enum soft_arena_id id, void *at, size_t bytes);
/* Another process's bytes, from its file `fd`; *lead is what lies in the same
 * page before them. MAP_FAILED if that cannot be. */
void *soft_map_foreign(int pid, int fd, uint64_t offset, size_t span,
		       size_t *lead);
/* The file behind an address of the device arenas, for IPC. */
int soft_va_file(uintptr_t addr, uint64_t *offset);
bool soft_va_is_device(uintptr_t addr);

/* Charge a device, evicting managed blocks where that makes room. */
CUresult soft_charge(struct soft_device *dev, uint64_t bytes);
void soft_uncharge(struct soft_device *dev, uint64_t bytes);
uint64_t soft_device_free_bytes(struct soft_device *dev);
CUresult soft_device_alloc(CUcontext ctx, struct soft_device *dev, size_t bytes,
			   enum soft_mem kind, struct soft_alloc **out);
void soft_alloc_destroy(struct soft_alloc *a);

/* ---- streams and the entries of their queues ---- */
struct soft_copy {
	const char *src;
	char *dst;
	size_t src_pitch, src_slice, dst_pitch, dst_slice;
	size_t width, height, depth;
	void *staged; /* a copy of pageable source bytes, owned */
	uint8_t dir;
	bool pageable; /* one side is memory that nobody locked */
};
enum { SOFT_H2H, SOFT_H2D, SOFT_D2H, SOFT_D2D };

struct soft_dep {
	CUstream stream;
	uint64_t seq;
};

#define SOFT_OPS(op_)                                                     \
	op_(EMPTY) op_(KERNEL) op_(COPY) op_(SET) op_(HOST) op_(CALLBACK) \
	op_(RECORD) op_(WAIT) op_(WRITE) op_(WAIT_VALUE) op_(GRAPH)       \
	op_(FREE) op_(ALLOC) op_(PREFETCH) op_(DISCARD) op_(CHILD)
enum soft_op_kind {
#define SOFT_OP(name_) SOFT_OP_##name_,
	SOFT_OPS(SOFT_OP)
#undef SOFT_OP
};

#define SOFT_INLINE_PARAMS 128
struct soft_launch {
	CUfunction f;
	const struct softcuda_kernel *kernel;
	struct softcuda_dim3 grid, block;
	uint32_t shared;
	bool cooperative;
	void *params; /* NULL: in inline_params; else owned */
	_Alignas(16) unsigned char inline_params[SOFT_INLINE_PARAMS];
};
struct soft_op {
	enum soft_op_kind kind;
	unsigned n_deps;
	struct soft_dep dep; /* one, */
	struct soft_dep *deps; /* or an owned array of them */
	union {
		struct soft_launch launch;
		struct soft_copy copy;
		struct {
			char *dst;
			size_t pitch, width, height;
			uint32_t value, elem;
		} set;
		struct {
			CUhostFn fn;
			CUstreamCallback callback;
			void *user;
			CUstream stream;
		} host;
		struct {
			CUevent event;
			uint64_t serial;
		} record;
		struct {
			void *addr;
			uint64_t value;
			unsigned flags;
			bool wide;
		} memop;
		CUgraph graph; /* of GRAPH and CHILD; a reference is held */
		struct soft_alloc *alloc;
		struct {
			uintptr_t addr;
			size_t len;
			int to; /* device, -1 host */
		} move;
	};
};
void soft_op_release(struct soft_op *op);

struct CUstream_st {
	struct soft_object o;
	CUcontext ctx;
	unsigned flags;
	int priority;
	uint64_t id;
	bool legacy, per_thread;
	CUlaunchAttributeValue attrs[16]; /* as set, by their number */
	LIST_ENTRY(CUstream_st) link;
	SLIST_ENTRY(CUstream_st) idle;

	pthread_mutex_t lock;
	pthread_cond_t work, done;
	struct soft_op *ring;
	_Atomic uint64_t head, tail; /* completed; enqueued */
	uint64_t kick;		     /* must run to here without lagging */
	unsigned waiters;
	bool started, sleeping;
	pthread_t thread;

	struct soft_capture *capture; /* soft_lock */
	CUgraphNode *cap_deps;	      /* what its next node depends on */
	unsigned n_cap_deps;
};
/* A handle as the program gives it, 0, 1 and 2 included. */
CUresult soft_stream(CUstream handle, bool pt, CUstream *out);
CUstream soft_stream_make(CUcontext ctx, unsigned flags, int priority);
void soft_stream_retire(CUstream s);
/* Takes what the op owns, also when it fails. *seq may be NULL. */
CUresult soft_submit(CUstream s, struct soft_op *op, uint64_t *seq);
CUresult soft_submit_wait(CUstream s, struct soft_op *op);
void soft_stream_wait(CUstream s, uint64_t seq);
void soft_stream_kick(CUstream s, uint64_t seq);
void soft_thread_start(pthread_t *thread, void *(*fn)(void *), void *arg);
void soft_link_time(bool to_device, uint64_t bytes);
void soft_execute(CUstream s, struct soft_op *op);
void soft_run_grid(CUcontext ctx, struct soft_launch *l);

struct CUevent_st {
	struct soft_object o;
	CUcontext ctx;
	unsigned flags;
	CUstream stream; /* of the last record; NULL never recorded */
	uint64_t seq;
	_Atomic uint64_t serial, time_ns;
	uint64_t capture; /* recorded in this one, 0 none; soft_lock */
	CUgraphNode *nodes;
	unsigned n_nodes;
};

/* For the event nodes of a graph, on the stream's thread. */
void soft_event_record_now(CUstream s, CUevent e);
void soft_event_wait_now(CUstream s, CUevent e);

/* ---- copies (copy.c) ---- */
struct soft_side {
	uintptr_t addr;
	size_t pitch, slice;
	unsigned type; /* CU_MEMORYTYPE_* */
};
CUresult soft_copy_prepare(struct soft_op *op, struct soft_side dst,
			   struct soft_side src, size_t width, size_t height,
			   size_t depth);
CUresult soft_copy_3d(struct soft_op *op, const CUDA_MEMCPY3D *p);
CUresult soft_set_prepare(struct soft_op *op, CUdeviceptr dst, size_t pitch,
			  uint32_t value, unsigned elem, size_t width,
			  size_t height);
/* Where bytes are, in bounds: 0 or a code. */
enum soft_place { SOFT_PAGEABLE, SOFT_LOCKED, SOFT_DEVICE };
CUresult soft_range_check(uintptr_t addr, size_t len, unsigned type,
			  enum soft_place *out);
/* Queue a prepared copy and wait as much as the driver would. */
CUresult soft_copy_submit(CUstream s, struct soft_op *op, bool sync);
/* ---- modules (module.c) ---- */
struct CUmod_st {
	struct soft_object o;
	CUcontext ctx;
	void *dl;
	const struct softcuda_module *table;
	CUfunction functions; /* an array, one a kernel */
	unsigned refs;
};
struct CUfunc_st {
	struct soft_object o;
	CUmodule module;
	const struct softcuda_kernel *kernel;
	unsigned max_dynamic, carveout;
	CUkernel of;
};
struct CUkern_st {
	struct soft_object o;
	CUlibrary library;
	CUfunction function;
};
/* A kernel handle is taken for a function. */
CUresult soft_function(CUfunction handle, CUfunction *out);
CUresult soft_module_load(const void *image, CUmodule *out);
CUresult soft_module_load_file(const char *path, CUmodule *out);
void soft_module_unload(CUmodule m);
void soft_modules_of_ctx_drop(CUcontext ctx);
CUresult soft_module_global(CUmodule m, CUdeviceptr *out, size_t *bytes,
			    const char *name);
CUresult soft_function_attr(CUfunction f, CUfunction_attribute attr, int *out);
CUresult soft_function_set(CUfunction f, CUfunction_attribute attr, int value);
CUresult soft_launch_prepare(struct soft_op *op, CUfunction f,
			     const unsigned dims[6], unsigned shared,
			     void **params, void **extra);

/* ---- capture (capture.c) ---- */
/* A call that may not be made while a capture watches: 0, or 900 with the
 * capture invalidated. */
CUresult soft_capture_unsafe(void);
/* Work on s while it captures. */
CUresult soft_capture_add(CUstream s, struct soft_op *op);
/* A synchronisation or query of s. */
CUresult soft_capture_sync(CUstream s);
CUresult soft_capture_ctx_sync(CUcontext ctx);
/* A call that has no node: refused, and the capture goes on. */
CUresult soft_capture_absent(CUstream s);
CUresult soft_capture_legacy(CUcontext ctx);
CUresult soft_capture_wait_event(CUstream s, CUevent e, unsigned flags,
				 bool *done);
CUresult soft_capture_record(CUstream s, CUevent e, bool *done);
void soft_capture_drop(CUstream s);

/* ---- graphs (graph.c); soft_graph_lock ---- */
extern pthread_mutex_t soft_graph_lock;
struct CUgraphNode_st {
	struct soft_object o;
	CUgraph graph;
	unsigned type; /* CU_GRAPH_NODE_TYPE_* */
	unsigned index;
	bool enabled;
	uint64_t capture; /* the id of the capture that made it, or 0 */
	CUgraphNode origin; /* what it is a clone of */
	CUgraphNode *deps;
	unsigned n_deps;
	struct soft_op op;
	void **param_list; /* what GetParams hands out */
	CUDA_MEMCPY3D copy; /* as it was given, of a copy node */
};
/* A program's graph, or what an instantiated graph or a queue entry runs:
 * that is a clone which nobody changes, held by references. */
struct CUgraph_st {
	struct soft_object o;
	_Atomic unsigned refs;
	bool counted; /* a program's own */
	CUcontext ctx;
	CUgraphNode *nodes;
	unsigned n_nodes, room;
	CUgraphNode *order; /* of a clone */
};
struct CUgraphExec_st {
	struct soft_object o;
	CUgraph plan;
	uint64_t flags;
	struct soft_dep last;
};
CUgraph soft_graph_new(CUcontext ctx, bool counted);
void soft_graph_put(CUgraph g);
CUgraph soft_graph_clone(CUgraph g, bool counted);
bool soft_graph_sort(CUgraph g);
CUgraphNode soft_node_add(CUgraph g, unsigned type, const CUgraphNode *deps,
			  size_t n_deps);
bool soft_node_link(CUgraphNode node, CUgraphNode dep);
void soft_graph_run(CUstream s, CUgraph g);
/* Memory of allocation nodes, at a launch. */
CUresult soft_graph_memory_take(CUgraph g, bool again);

/* ---- managed memory (physics.c; blocks in physics.h) ---- */
CUresult soft_managed_new(CUcontext ctx, size_t bytes, unsigned flags,
			  struct soft_alloc **out);
void soft_managed_free(struct soft_alloc *a);
/* A kernel or copy is about to run; the host has just waited. */
void soft_phys_device_begins(void);
void soft_phys_host_waited(void);
/* The handler's question: is it managed memory, now opened? */
bool soft_phys_fault(uintptr_t addr, int dev);
/* Evict until so much is free, soft_phys_lock is held; false: it never is. */
bool soft_phys_make_room(struct soft_device *dev, uint64_t bytes);
void soft_phys_prefetch(uintptr_t addr, size_t len, int to);
void soft_phys_discard(uintptr_t addr, size_t len);

/* The process's one lock for its address space, as it were: prefetches hold
 * it shared, piece by piece, what makes or frees memory alone (exclusive.c). */
void soft_shared(void);
void soft_shared_end(void);
void soft_exclusive(void);
void soft_exclusive_end_p(int *unused);
#define soft_exclusively()                                             \
	__attribute__((cleanup(soft_exclusive_end_p), unused)) int     \
		SOFT_CAT(exclusive_, __LINE__) = (soft_exclusive(), 0)

/* The device whose work this thread does, -1 on threads of the program. */
extern __thread int soft_running_on;
/* In a function of the program that a stream calls. */
extern __thread bool soft_in_callback;
/* Where a fault on a thread of the driver goes; NULL: the program's own. */
extern __thread sigjmp_buf *soft_fault_env;
/* SIGSEGV: residency and strays. */
void soft_fault_arm(void);

/* ---- pools and VMM ---- */
CUmemoryPool soft_pool_default(struct soft_device *dev);
/* One that another process has; and can others have this one? */
CUmemoryPool soft_pool_import(struct soft_device *dev);
bool soft_pool_shows(CUmemoryPool p, unsigned type);
void soft_pool_trim_all(struct soft_device *dev);
void soft_async_free(struct soft_alloc *a);
void soft_pool_forget(struct soft_alloc *a);
void soft_graph_memory_give(struct soft_alloc *a);
CUresult soft_pool_alloc(CUmemoryPool pool, CUcontext ctx, size_t bytes,
			 enum soft_mem kind, struct soft_alloc **out);

#endif
