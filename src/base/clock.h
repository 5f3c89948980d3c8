/* SPDX-License-Identifier: Apache-2.0
 *
 * base/clock.h - monotonic milliseconds and nanoseconds (CLOCK_MONOTONIC: stands still while the
 * machine sleeps, never jumps). */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

int64_t clock_ms(void);
int64_t clock_ns(void);

#endif
