/* SPDX-License-Identifier: Apache-2.0
 *
 * The console at /: a page, its scripts and styles, from the folder api_config.console, which no
 * cell can write. `app/build.mjs` makes it: index.html, and console/ with the names of the table
 * below, each also as NAME.gz. The page is a client of the API like any other, and needs no token
 * to be read.
 * Page:  its own scripts and styles, requests to this port, pictures that it already has, and
 *        frames of this port. No HTML is made of text (Trusted Types), no form is sent.
 * Frame: the files that show one output which could act (HTML, SVG, charts), and a terminal. The
 *        policy itself takes their origin away, however they are opened: they run scripts, and
 *        reach nothing. Connection-Allowlist (Chromium) closes what no Content-Security-Policy
 *        does: WebRTC, preconnect and names that are looked up ahead (decision 0063). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "front/api.h"
#include "front/api/api_internal.h"

#define PAGE_POLICY                                                                                \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "                \
    "img-src 'self' data:; frame-src 'self'; base-uri 'none'; form-action 'none'; "                \
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
#define FRAME_POLICY                                                                               \
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; "        \
    "style-src 'unsafe-inline'; img-src data: blob:; font-src data:; media-src data: blob:; "      \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

enum { PATH_ROOM = 4096 };

static const struct console_file {
    const char *name, *type;
    bool is_frame;
} files[] = {
    {"index.html", "text/html; charset=utf-8", false},
    {"console/frame.html", "text/html; charset=utf-8", true},
    {"console/terminal.html", "text/html; charset=utf-8", true},
    {"console/main.js", "text/javascript; charset=utf-8", false},
    {"console/math.js", "text/javascript; charset=utf-8", false},
    {"console/vega.js", "text/javascript; charset=utf-8", false},
    {"console/plotly.js", "text/javascript; charset=utf-8", false},
    {"console/main.css", "text/css; charset=utf-8", false},
    {"console/icon.svg", "image/svg+xml", false},
};

/* A regular file. -ENOENT: there is none. */
static int open_console_file(const char *folder, const char *name, const char *end,
                             struct stat *ret)
{
    char path[PATH_ROOM];
    if (!folder || snprintf(path, sizeof path, "%s/%s%s", folder, name, end) >= PATH_ROOM)
        return -ENOENT;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, ret) == 0 && S_ISREG(ret->st_mode))
        return fd;
    if (fd >= 0)
        (void)close(fd);
    return -ENOENT;
}

static bool takes_gzip(const struct http_request *r)
{
    const char *codings = http_header(r, "Accept-Encoding");
    return codings && strstr(codings, "gzip") && !strstr(codings, "gzip;q=0");
}

static void answer_console(struct http_request *r, const char *folder,
                           const struct console_file *file)
{
    struct stat st;
    bool packed = takes_gzip(r);
    int fd = packed ? open_console_file(folder, file->name, ".gz", &st) : -ENOENT;
    if (fd < 0) {
        packed = false;
        fd = open_console_file(folder, file->name, "", &st);
    }
    if (fd < 0) {
        http_problem(r, 404, NULL, 0, "the console is not installed beside this server");
        return;
    }
    struct http_header headers[10] = {
        {"Content-Type", file->type},
        {"Content-Security-Policy", file->is_frame ? FRAME_POLICY : PAGE_POLICY},
        {"X-Content-Type-Options", "nosniff"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cache-Control", "no-cache"},
        {"Vary", "Accept-Encoding"}};
    size_t n = 8;
    if (file->is_frame)
        headers[n++] = (struct http_header){"Connection-Allowlist", "()"};
    if (packed)
        headers[n++] = (struct http_header){"Content-Encoding", "gzip"};
    http_answer_file(r, 200, headers, n, fd, 0, (uint64_t)st.st_size);
}

static void get_page(void *ctx, struct http_request *r)
{
    struct api *api = ctx;
    answer_console(r, api->config->console, &files[0]);
}

static void get_console_file(void *ctx, struct http_request *r)
{
    struct api *api = ctx;
    const char *name = http_param(r, "file");
    for (size_t i = 1; i < sizeof files / sizeof *files; i++) {
        if (strcmp(strchr(files[i].name, '/') + 1, name) == 0) {
            answer_console(r, api->config->console, &files[i]);
            return;
        }
    }
    http_problem(r, 404, NULL, 0, "the console has no file of this name");
}

static const struct http_route routes[] = {
    {"GET", "/", HTTP_NO_BODY, 0, NULL, API_EVERYONE, get_page},
    {"GET", "/console/{file}", HTTP_NO_BODY, 0, NULL, API_EVERYONE, get_console_file},
};

const struct api_group api_console_group = {.routes = routes, .n = sizeof routes / sizeof *routes};
