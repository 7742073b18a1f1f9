/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the drift test share. */
#ifndef SOFTCUDA_DRIFT_H
#define SOFTCUDA_DRIFT_H

struct drift_row {
	const char *what;
	long long value;
};
extern const struct drift_row drift_ours[], drift_theirs[];
extern const unsigned drift_n_ours, drift_n_theirs;
extern const int drift_calls_compiled;

#endif
