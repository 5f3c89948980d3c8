/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/fakes/fake_packages.h - stands in for session/packages/packages.c and
 * session/packages/package_list.c at link time: a test plays pip, and what lists. */
#ifndef FAKES_FAKE_PACKAGES_H
#define FAKES_FAKE_PACKAGES_H

#include "session/packages/package_list.h"

struct fake_packages {
    int starts, lists, cancels; /* so far */
    char package[128];          /* of the last start */
};

extern struct fake_packages fake_packages;

/* Of the last one that was started: */
void fake_packages_text(const char *text);
void fake_packages_progress(double progress, double total, const char *what);
void fake_packages_finish(const char *output, const char *why); /* NULL: it went well */
void fake_packages_listed(const char *json);                    /* NULL: it failed */

#endif
