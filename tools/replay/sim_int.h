/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Between the files of the simulator.
 */
#ifndef HZ_REPLAY_SIM_INT_H
#define HZ_REPLAY_SIM_INT_H

#include "replay/sim.h"

/* Give an idle channel something to do. */
void sim_start(struct sim *sim, enum channel ch);
void sim_finish(struct sim *sim, enum channel ch);

/* What is drawn (view.c). */
void view_kernel(struct sim *sim);
void view_op(struct sim *sim, enum channel ch);

#endif
