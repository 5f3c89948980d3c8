/* SPDX-License-Identifier: Apache-2.0
 *
 * The console's policy: its own script and style, requests to this port, pictures that the page
 * already has. No HTML is made of text (Trusted Types), nothing is framed, no form is sent. */
#include "front/console/api_console.h"

#include "front/api/api_internal.h"

#define POLICY                                                                                     \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "                                \
    "require-trusted-types-for 'script'; trusted-types 'none'"

static void answer_console(struct http_request *r, const char *type, const unsigned char *bytes,
                           size_t n)
{
    const struct http_header headers[] = {{"Content-Type", type},
                                          {"Content-Security-Policy", POLICY},
                                          {"X-Content-Type-Options", "nosniff"},
                                          {"Referrer-Policy", "no-referrer"},
                                          {"Cross-Origin-Opener-Policy", "same-origin"},
                                          {"Cross-Origin-Resource-Policy", "same-origin"},
                                          {"Cache-Control", "no-cache"}};
    http_answer(r, 200, headers, sizeof headers / sizeof *headers, (const char *)bytes, n);
}

static void get_page(void *ctx, struct http_request *r)
{
    (void)ctx;
    answer_console(r, "text/html; charset=utf-8", console_html, console_html_size);
}

static void get_script(void *ctx, struct http_request *r)
{
    (void)ctx;
    answer_console(r, "text/javascript; charset=utf-8", console_js, console_js_size);
}

static void get_style(void *ctx, struct http_request *r)
{
    (void)ctx;
    answer_console(r, "text/css; charset=utf-8", console_css, console_css_size);
}

static const struct http_route routes[] = {
    {"GET", "/", HTTP_NO_BODY, 0, NULL, API_EVERYONE, get_page},
    {"GET", "/console.js", HTTP_NO_BODY, 0, NULL, API_EVERYONE, get_script},
    {"GET", "/console.css", HTTP_NO_BODY, 0, NULL, API_EVERYONE, get_style},
};

const struct api_group api_console_group = {.routes = routes, .n = sizeof routes / sizeof *routes};
