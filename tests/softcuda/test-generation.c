/* SPDX-License-Identifier: Apache-2.0 */
/* A driver of 12.2 knows neither parameter information nor discards. */
#include "testing.h"

int main(void)
{
	size_t offset, size;
	void *at;
	int version;

	setenv("SOFTCUDA_DRIVER", "12020", 1);
	open_context();
	ok(CALL(cuDriverGetVersion)(&version));
	expect(version == 12020);
	expect_code(CALL(cuGetProcAddress_v2)("cuFuncGetParamInfo", &at, 13000,
					      0, NULL),
		    CUDA_ERROR_NOT_FOUND);
	expect_code(CALL(cuGetProcAddress_v2)("cuMemDiscardBatchAsync", &at,
					      13000, 0, NULL),
		    CUDA_ERROR_NOT_FOUND);
	ok(CALL(cuGetProcAddress_v2)("cuMemPrefetchAsync", &at, 13000, 0,
				     NULL));
	expect(at == symbol("cuMemPrefetchAsync_v2"));
	expect_code(CALL(cuFuncGetParamInfo)(function(open_module(), "add"), 0,
					     &offset, &size),
		    CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
	expect(counters().too_new_calls == 1);
	return 0;
}
