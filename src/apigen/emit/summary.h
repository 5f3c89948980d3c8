/* SPDX-License-Identifier: Apache-2.0
 *
 * apigen/emit/summary.h - a tool in one line, for searches: its call, and the first sentence of
 * its description. It stands in the docstring of the package.
 * Form:    create_issue(owner: str, labels: list[str] = None) -> Result: Creates an issue.
 *          Required arguments come first; enums are shown by their values, other classes by name.
 * Limits:  SUMMARY_CALL_MAX bytes of arguments, SUMMARY_TEXT_MAX of the sentence; then "…". */
#ifndef APIGEN_EMIT_SUMMARY_H
#define APIGEN_EMIT_SUMMARY_H

#include "apigen/model/model.h"
#include "base/buf.h"

enum { SUMMARY_CALL_MAX = 400, SUMMARY_TEXT_MAX = 160 };

/* One line with its end. params: the class of the arguments; result: "Result" or "str". */
void put_summary(struct buf *out, const char *module, const struct model *params,
                 const char *result, const char *description);

#endif
