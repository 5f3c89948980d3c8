/* SPDX-License-Identifier: Apache-2.0
 *
 * session/packages/package_look.h - says in a sentence or two which Python there is and which of
 * the packages that models reach for first are installed. It looks at names of folders alone, so it
 * starts nothing and blocks for a moment; package_list.h knows all of them, with their versions. */
#ifndef SESSION_PACKAGES_PACKAGE_LOOK_H
#define SESSION_PACKAGES_PACKAGE_LOOK_H

#include "base/buf.h"
#include "session/packages/packages.h"

void packages_put_about(struct buf *out, const struct packages_config *config);

#endif
