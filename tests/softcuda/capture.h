/* SPDX-License-Identifier: Apache-2.0 */
/* What capture.c and capture_api.c share. */
#ifndef SOFTCUDA_CAPTURE_H
#define SOFTCUDA_CAPTURE_H

#include "soft.h"

struct soft_capture {
	LIST_ENTRY(soft_capture) link;
	CUstream origin;
	CUgraph graph;
	bool given; /* the graph is the program's */
	CUcontext graph_ctx;
	unsigned mode;
	pthread_t thread;
	uint64_t id;
	bool invalidated;
};

struct soft_capture_view {
	unsigned status;
	uint64_t id;
	CUgraph graph;
	const CUgraphNode *deps;
	size_t n_deps;
};

CUresult soft_capture_begin(CUstream s, CUgraph graph, const CUgraphNode *deps,
			    size_t n, unsigned mode);
CUresult soft_capture_end(CUstream s, CUgraph *out);
CUresult soft_capture_look(CUstream s, struct soft_capture_view *out);
CUresult soft_capture_update(CUstream s, const CUgraphNode *nodes, size_t n,
			     unsigned flags);
CUresult soft_capture_mode_exchange(CUstreamCaptureMode *mode);

#endif
