/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of stream capture. */
#include "capture.h"

static CUresult begin(bool pt, CUstream handle, unsigned mode)
{
	CUstream s;
	CUresult res = soft_stream(handle, pt, &s);

	return res ? res : soft_capture_begin(s, NULL, NULL, 0, mode);
}

SOFT_STREAM_API(cuStreamBeginCapture, (CUstream s), (s))
{
	return begin(pt, s, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

SOFT_STREAM_API(cuStreamBeginCapture_v2, (CUstream s, CUstreamCaptureMode mode),
		(s, mode))
{
	return begin(pt, s, (unsigned)mode);
}

SOFT_STREAM_API(cuStreamBeginCaptureToGraph,
		(CUstream handle, CUgraph graph, const CUgraphNode *deps,
		 const CUgraphEdgeData *edges, size_t n,
		 CUstreamCaptureMode mode),
		(handle, graph, deps, edges, n, mode))
{
	CUstream s;
	CUresult res = soft_stream(handle, pt, &s);

	if (!res)
		res = soft_check(graph, SOFT_GRAPH);
	if (!res && n && !deps)
		res = CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; !res && i < n; i++)
		if (!soft_is(deps[i], SOFT_NODE) || deps[i]->graph != graph)
			res = CUDA_ERROR_INVALID_VALUE;
	return res ? res
		   : soft_capture_begin(s, graph, deps, n, (unsigned)mode);
}

SOFT_STREAM_API(cuStreamEndCapture, (CUstream handle, CUgraph *out),
		(handle, out))
{
	CUstream s;
	CUresult res = soft_stream(handle, pt, &s);

	if (!res && !out)
		res = CUDA_ERROR_INVALID_VALUE;
	return res ? res : soft_capture_end(s, out);
}

static CUresult look(bool pt, CUstream handle, struct soft_capture_view *view)
{
	CUstream s;
	CUresult res = soft_stream(handle, pt, &s);

	return res ? res : soft_capture_look(s, view);
}

SOFT_STREAM_API(cuStreamIsCapturing,
		(CUstream handle, CUstreamCaptureStatus *out), (handle, out))
{
	struct soft_capture_view v;
	CUresult res = look(pt, handle, &v);

	if (!res && !out)
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		*out = (CUstreamCaptureStatus)v.status;
	return res;
}

static CUresult info(bool pt, CUstream handle, CUstreamCaptureStatus *status,
		     cuuint64_t *id, CUgraph *graph, const CUgraphNode **deps,
		     size_t *n)
{
	struct soft_capture_view v;
	CUresult res = look(pt, handle, &v);

	if (res)
		return res;
	if (!status)
		return CUDA_ERROR_INVALID_VALUE;
	*status = (CUstreamCaptureStatus)v.status;
	if (v.status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return CUDA_SUCCESS;
	if (id)
		*id = v.id;
	if (graph)
		*graph = v.graph;
	if (deps)
		*deps = v.deps;
	if (n)
		*n = v.n_deps;
	return CUDA_SUCCESS;
}

SOFT_STREAM_API(cuStreamGetCaptureInfo,
		(CUstream s, CUstreamCaptureStatus *status, cuuint64_t *id),
		(s, status, id))
{
	return info(pt, s, status, id, NULL, NULL, NULL);
}

SOFT_STREAM_API(cuStreamGetCaptureInfo_v2,
		(CUstream s, CUstreamCaptureStatus *status, cuuint64_t *id,
		 CUgraph *graph, const CUgraphNode **deps, size_t *n),
		(s, status, id, graph, deps, n))
{
	return info(pt, s, status, id, graph, deps, n);
}

SOFT_STREAM_API(cuStreamGetCaptureInfo_v3,
		(CUstream s, CUstreamCaptureStatus *status, cuuint64_t *id,
		 CUgraph *graph, const CUgraphNode **deps,
		 const CUgraphEdgeData **edges, size_t *n),
		(s, status, id, graph, deps, edges, n))
{
	if (edges)
		*edges = NULL; /* all edges are plain */
	return info(pt, s, status, id, graph, deps, n);
}

static CUresult update(bool pt, CUstream handle, const CUgraphNode *nodes,
		       size_t n, unsigned flags)
{
	CUstream s;
	CUresult res = soft_stream(handle, pt, &s);

	if (!res && n && !nodes)
		res = CUDA_ERROR_INVALID_VALUE;
	return res ? res : soft_capture_update(s, nodes, n, flags);
}

SOFT_STREAM_API(cuStreamUpdateCaptureDependencies,
		(CUstream s, CUgraphNode *nodes, size_t n, unsigned int flags),
		(s, nodes, n, flags))
{
	return update(pt, s, nodes, n, flags);
}

SOFT_STREAM_API(cuStreamUpdateCaptureDependencies_v2,
		(CUstream s, CUgraphNode *nodes, const CUgraphEdgeData *edges,
		 size_t n, unsigned int flags),
		(s, nodes, edges, n, flags))
{
	return update(pt, s, nodes, n, flags);
}

SOFT_API(cuThreadExchangeStreamCaptureMode, (CUstreamCaptureMode * mode),
	 (mode))
{
	return soft_capture_mode_exchange(mode);
}
