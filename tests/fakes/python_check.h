/* SPDX-License-Identifier: Apache-2.0
 *
 * fakes/python_check.h - whether a text is what a generated module may be, and nothing else: every
 * string and docstring ends where it should, outside of them there are only the statements, calls
 * and characters that the generator has words for. It stands in for Python where that is not at
 * hand: in unit tests and below a fuzzer. */
#ifndef FAKES_PYTHON_CHECK_H
#define FAKES_PYTHON_CHECK_H

/* NULL, or what is wrong and where; valid until the next call. */
const char *python_check(const char *text);

#endif
