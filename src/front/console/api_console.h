/* SPDX-License-Identifier: Apache-2.0
 *
 * front/console/api_console.h - the console at / (private to front/): three files of
 * front/console/, as the build embeds them. It is a client of the API like any other and needs no
 * token to be read. */
#ifndef FRONT_CONSOLE_API_CONSOLE_H
#define FRONT_CONSOLE_API_CONSOLE_H

#include <stddef.h>

extern const unsigned char console_html[], console_js[], console_css[];
extern const size_t console_html_size, console_js_size, console_css_size;

#endif
