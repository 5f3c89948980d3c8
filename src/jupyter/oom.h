/* SPDX-License-Identifier: Apache-2.0
 *
 * jupyter/oom.h - how many processes of this container the kernel killed for want of memory
 * (cgroup v2 memory.events, cgroup v1 memory.oom_control; the field oom_kill of either). */
#ifndef JUPYTER_OOM_H
#define JUPYTER_OOM_H

/* 0 where the count cannot be read. */
long oom_kills(void);

#endif
