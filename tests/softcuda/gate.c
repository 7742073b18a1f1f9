/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate before every entry point: counts, and the slow path with all that
 * may be held against a call. Injected failures are rules in a short list.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "soft.h"
#include "softcuda.h"
#include "symbols.h"

#define MAX_RULES 32

uint8_t soft_gate[SOFT_SYMBOLS] = {[0 ... SOFT_SYMBOLS - 1] = SOFT_GATE_BOOT};
uint64_t soft_call_counts[SOFT_SYMBOLS];
struct soft_counters soft_counters;

static struct rule {
	char name[64];
	uint64_t nth, seen;
	int code;
} rules[MAX_RULES];
static unsigned n_rules;
static pthread_mutex_t rules_lock = PTHREAD_MUTEX_INITIALIZER;

/* Calls that a process may make before cuInit, and calls that a dead context
 * does not spoil; both by the beginning of the name. */
static const char *const no_init[] = {
	"cuInit",	  "cuDriverGetVersion", "cuGetError",
	"cuGetProcAddress", "cuGetExportTable",
};
static const char *const no_context[] = {
	"cuInit",	     "cuDriverGetVersion",  "cuGetError",
	"cuGetProcAddress",  "cuGetExportTable",    "cuDeviceGet",
	"cuDeviceTotalMem",  "cuCtxGetCurrent",	    "cuCtxSetCurrent",
	"cuCtxPopCurrent",   "cuCtxPushCurrent",    "cuCtxDestroy",
	"cuCtxGetDevice",    "cuDevicePrimaryCtx",  "cuCtxCreate",
	"cuThreadExchange",
};

static bool begins(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(name, list[i], strlen(list[i])))
			return true;
	return false;
}

static void gate_set(unsigned id, uint8_t bit)
{
	__atomic_fetch_or(&soft_gate[id], bit, __ATOMIC_RELAXED);
}

static void gate_clear(unsigned id, uint8_t bit)
{
	__atomic_fetch_and(&soft_gate[id], (uint8_t)~bit, __ATOMIC_RELAXED);
}

static bool rule_names(const struct rule *r, unsigned id)
{
	return !strcmp(r->name, soft_symbols[id].symbol) ||
	       !strcmp(r->name, soft_symbols[id].asked);
}

static int rule_parse(const char *text, size_t len, struct rule *r)
{
	char buf[96], *nth, *code, *end;

	if (len >= sizeof(buf))
		return -1;
	memcpy(buf, text, len);
	buf[len] = '\0';
	nth = strchr(buf, ':');
	if (!nth || nth == buf || (size_t)(nth - buf) >= sizeof(r->name))
		return -1;
	*nth++ = '\0';
	*r = (struct rule){.code = CUDA_ERROR_OUT_OF_MEMORY};
	memcpy(r->name, buf, strlen(buf) + 1);
	r->nth = strtoull(nth, &code, 10);
	if (code == nth || !r->nth)
		return -1;
	if (!*code)
		return 0;
	r->code = (int)strtol(code + 1, &end, 10);
	return *code != ':' || end == code + 1 || *end || r->code <= 0 ? -1 : 0;
}

static int rule_add(const struct rule *r)
{
	bool known = false;

	if (n_rules == MAX_RULES)
		return -1;
	rules[n_rules++] = *r;
	for (unsigned id = 0; id < SOFT_SYMBOLS; id++) {
		if (!rule_names(r, id))
			continue;
		known = true;
		gate_set(id, SOFT_GATE_FAIL);
	}
	return known ? 0 : -1;
}

SOFT_EXPORT int softcuda_fail(const char *text)
{
	soft_guard(rules_lock);
	while (*text) {
		size_t len = strcspn(text, ",");
		struct rule r;

		if (rule_parse(text, len, &r) || rule_add(&r))
			return -1;
		text += len;
		text += *text == ',';
	}
	return 0;
}

static CUresult injected(unsigned id)
{
	soft_guard(rules_lock);
	for (unsigned i = 0; i < n_rules; i++) {
		struct rule *r = &rules[i];

		if (!rule_names(r, id) || ++r->seen != r->nth)
			continue;
		soft_count(injected_failures, 1);
		return (CUresult)r->code;
	}
	return CUDA_SUCCESS;
}

/* At the first call of all: every symbol gets its standing bits. */
static void gate_boot(void)
{
	soft_boot();
	for (unsigned id = 0; id < SOFT_SYMBOLS; id++) {
		const struct soft_symbol *s = &soft_symbols[id];

		if (!begins(s->symbol, no_init, soft_len(no_init)))
			gate_set(id, SOFT_GATE_INIT);
		if (s->version > soft_set.driver)
			gate_set(id, SOFT_GATE_NEWER);
	}
	if (getenv("SOFTCUDA_FAIL") && softcuda_fail(getenv("SOFTCUDA_FAIL")))
		fprintf(stderr, "softcuda: SOFTCUDA_FAIL: malformed, or no "
				"such name\n");
	for (unsigned id = 0; id < SOFT_SYMBOLS; id++)
		gate_clear(id, SOFT_GATE_BOOT);
}

void soft_gate_open(void)
{
	for (unsigned id = 0; id < SOFT_SYMBOLS; id++)
		gate_clear(id, SOFT_GATE_INIT);
}

void soft_gate_sticky(void)
{
	for (unsigned id = 0; id < SOFT_SYMBOLS; id++)
		if (!begins(soft_symbols[id].symbol, no_context,
			    soft_len(no_context)))
			gate_set(id, SOFT_GATE_STICKY);
}

/* The threads of the driver do not exist in a child. */
void soft_gate_child(void)
{
	soft_set.report = NULL; /* the counts are the parent's */
	for (unsigned id = 0; id < SOFT_SYMBOLS; id++)
		if (!begins(soft_symbols[id].symbol, no_init + 1,
			    soft_len(no_init) - 1))
			gate_set(id, SOFT_GATE_CHILD);
}

static CUresult sticky(void)
{
	CUcontext ctx = soft_ctx_or_null();

	return ctx ? (CUresult)atomic_load(&ctx->sticky) : CUDA_SUCCESS;
}

CUresult soft_enter_slow(enum soft_symbol_id id)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	uint8_t gate;
	CUresult res = CUDA_SUCCESS;

	pthread_once(&once, gate_boot);
	gate = __atomic_load_n(&soft_gate[id], __ATOMIC_RELAXED);
	if (gate & SOFT_GATE_CHILD)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (gate & SOFT_GATE_NEWER) {
		soft_count(too_new_calls, 1);
		return CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER;
	}
	if (gate & SOFT_GATE_INIT)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (gate & SOFT_GATE_STICKY)
		res = sticky();
	if (!res && (gate & SOFT_GATE_FAIL))
		res = injected(id);
	return res;
}

CUresult soft_unsupported(enum soft_symbol_id id)
{
	CUresult res = soft_enter(id);

	if (res)
		return res;
	soft_count(unsupported_calls, 1);
	return CUDA_ERROR_NOT_SUPPORTED;
}

SOFT_EXPORT uint64_t softcuda_calls(const char *name)
{
	uint64_t n = 0;

	for (unsigned id = 0; id < SOFT_SYMBOLS; id++)
		if (!strcmp(name, soft_symbols[id].symbol) ||
		    !strcmp(name, soft_symbols[id].asked))
			n += __atomic_load_n(&soft_call_counts[id],
					     __ATOMIC_RELAXED);
	return n;
}
