/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/guard.h - how long a test in C waits for what has to come. It only ends what would
 * hang: no test passes or fails by it. */
#ifndef GUARD_H
#define GUARD_H

enum { GUARD_MS = 180000 };

#endif
