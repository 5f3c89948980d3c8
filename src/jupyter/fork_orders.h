/* SPDX-License-Identifier: Apache-2.0
 *
 * jupyter/fork_orders.h - what is told to a kernel that is to fork, and to its fork, in the slots
 * of a file (child_branch()); ipybox_kernel/branch.py reads it. Private to kernel.c. */
#ifndef JUPYTER_FORK_ORDERS_H
#define JUPYTER_FORK_ORDERS_H

#include "jupyter/kernel.h"

MUST_CHECK int fork_orders_put(int fd, const struct kernel_branch *how, struct err *e);
MUST_CHECK int fork_orders_put_token(int fd, enum child_slot slot, const struct token *token,
                                     struct err *e);

#endif
