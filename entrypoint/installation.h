/* SPDX-License-Identifier: Apache-2.0
 *
 * entrypoint/installation.h - where the files of ipybox are: at fixed places of the image,
 * or beside the program, where a wheel has put them.
 * Native:  outside of a container and of its init: cells are the user who has started the server,
 *          and without --sandbox nothing keeps them from what is the user's.
 * Returns: texts that live as long as the process. */
#ifndef ENTRYPOINT_INSTALLATION_H
#define ENTRYPOINT_INSTALLATION_H

#include <stdbool.h>

bool installation_is_native(void); /* opens.so is beside the program */

const char *installation_opens(void);   /* src/sandbox/preload/opens.c */
const char *installation_forks(void);   /* src/sandbox/preload/forks.c */
const char *installation_home(void);    /* HOME of what runs outside: nobody's settings are there */
const char *installation_console(void); /* the folder of the page for a browser */
const char *installation_npm_shell(void); /* by which npx starts a server */

#endif
