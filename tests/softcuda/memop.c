/* SPDX-License-Identifier: Apache-2.0 */
/* Values that a stream writes to memory, or waits for. */
#include "soft.h"

static CUresult queue(bool pt, CUstream handle, CUdeviceptr addr,
		      uint64_t value, unsigned flags, bool wide, bool wait)
{
	struct soft_op op = {.kind = wait ? SOFT_OP_WAIT_VALUE : SOFT_OP_WRITE,
			     .memop = {.addr = (void *)addr,
				       .value = value,
				       .flags = flags,
				       .wide = wide}};
	enum soft_place place;
	CUstream s;
	CUresult res = soft_stream(handle, pt, &s);

	if (!res && (addr % (wide ? 8 : 4) ||
		     (flags & ~(wait ? 3u | (unsigned)CU_STREAM_WAIT_VALUE_FLUSH
				     : 1u))))
		res = CUDA_ERROR_INVALID_VALUE;
	if (!res)
		res = soft_range_check(addr, wide ? 8 : 4,
				       CU_MEMORYTYPE_DEVICE, &place);
	return res ? res : soft_submit(s, &op, NULL);
}

#define MEMOP(name_, type_, wide_, wait_)                             \
	SOFT_STREAM_API(name_,                                        \
			(CUstream s, CUdeviceptr addr, type_ value,   \
			 unsigned int flags),                         \
			(s, addr, value, flags))                      \
	{                                                             \
		return queue(pt, s, addr, value, flags, wide_, wait_); \
	}

MEMOP(cuStreamWriteValue32, cuuint32_t, false, false)
MEMOP(cuStreamWriteValue32_v2, cuuint32_t, false, false)
MEMOP(cuStreamWriteValue64, cuuint64_t, true, false)
MEMOP(cuStreamWriteValue64_v2, cuuint64_t, true, false)
MEMOP(cuStreamWaitValue32, cuuint32_t, false, true)
MEMOP(cuStreamWaitValue32_v2, cuuint32_t, false, true)
MEMOP(cuStreamWaitValue64, cuuint64_t, true, true)
MEMOP(cuStreamWaitValue64_v2, cuuint64_t, true, true)

static CUresult one(bool pt, CUstream s, const CUstreamBatchMemOpParams *p)
{
	switch ((int)p->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
		return queue(pt, s, p->waitValue.address, p->waitValue.value,
			     p->waitValue.flags, false, true);
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		return queue(pt, s, p->waitValue.address, p->waitValue.value64,
			     p->waitValue.flags, true, true);
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
		return queue(pt, s, p->writeValue.address, p->writeValue.value,
			     p->writeValue.flags, false, false);
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		return queue(pt, s, p->writeValue.address,
			     p->writeValue.value64, p->writeValue.flags, true,
			     false);
	case CU_STREAM_MEM_OP_BARRIER:
	case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult batch(bool pt, CUstream s, unsigned n,
		      const CUstreamBatchMemOpParams *p, unsigned flags)
{
	CUresult res = CUDA_SUCCESS;

	if (!p || !n || n > 256 || flags)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; !res && i < n; i++)
		res = one(pt, s, &p[i]);
	return res;
}

SOFT_STREAM_API(cuStreamBatchMemOp,
		(CUstream s, unsigned int n, CUstreamBatchMemOpParams *p,
		 unsigned int flags),
		(s, n, p, flags))
{
	return batch(pt, s, n, p, flags);
}

SOFT_STREAM_API(cuStreamBatchMemOp_v2,
		(CUstream s, unsigned int n, CUstreamBatchMemOpParams *p,
		 unsigned int flags),
		(s, n, p, flags))
{
	return batch(pt, s, n, p, flags);
}
