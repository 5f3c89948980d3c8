/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/identity/user_base.h - where packages go that are installed: Python's user base.
 * Order:   PYTHONUSERBASE of the container, $HOME/.local, <workspace>/.ipybox/python. A directory
 *          serves when it can be written and modules with machine code can be loaded from it.
 *          Natively the workspace's alone: what is installed for cells is no package of the user's.
 * Links:   a workspace may come from somebody who put links into it. What is below it is made and
 *          entered one step after the other, and only directories of the cells' user or of the
 *          workspace's owner are taken. PYTHONUSERBASE is the operator's word. */
#ifndef ENTRYPOINT_IDENTITY_USER_BASE_H
#define ENTRYPOINT_IDENTITY_USER_BASE_H

/* A path, which the caller frees. Where there is none, that is logged, and it is $HOME/.local. */
char *user_base_choose(const char *home, const char *workspace);

#endif
