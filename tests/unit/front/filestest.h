/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/front/filestest.h - the workspace's routes behind a door of their own. */
#ifndef UNIT_FRONT_FILESTEST_H
#define UNIT_FRONT_FILESTEST_H

#include "unit/front/httptest.h"

#include "front/api/api_internal.h"
#include "front/workspace/api_files.h"
#include "unit/files/scratch.h"
#include "unit/files/tarmake.h"

static struct api api;
static struct buf request = {.cap = (size_t)16 << 20};

static void open_door(void)
{
    struct err e = ERR_NONE;
    struct http_config config = {.loop = loop,
                                 .host = "localhost",
                                 .routes = api_files_group.routes,
                                 .n_routes = api_files_group.n,
                                 .ctx = &api};
    TEST_CHECK(http_open(&config, &api.http, &e) == 0);
    TEST_MSG("%s", e.msg);
    port = http_port(api.http);
}

static void open_it(void)
{
    struct err e = ERR_NONE;
    static char workspace[64];
    open_place();
    open_loop();
    (void)umask(022);
    (void)snprintf(workspace, sizeof workspace, "%s/w", top);
    api = (struct api){.loop = loop, .workspace = workspace};
    api.files = api_files_open(loop, workspace, &e);
    TEST_ASSERT_(api.files != NULL, "%s", e.msg);
    open_door();
    fds_before = count_fds();
}

static void close_it(void)
{
    pass(1);
    TEST_CHECK(count_fds() <= fds_before); /* of its requests none is left */
    TEST_MSG("%d descriptors more", count_fds() - fds_before);
    api.http = http_close(api.http);
    api.files = api_files_close(api.files);
    close_loop();
    buf_done(&request);
    fds_before = count_fds() - 1; /* that of the workspace; libwebsockets keeps one for itself */
    close_place();
}

/* One request with a body; `head` is more lines of the head. */
static void send_to(const char *method, const char *target, const char *head, const char *body,
                    size_t n)
{
    buf_clear(&request);
    (void)buf_addf(&request, "%s %s HTTP/1.1\r\nHost: localhost\r\n%s", method, target, head);
    if (n > 0 || strcmp(method, "PUT") == 0)
        (void)buf_addf(&request, "Content-Length: %zu\r\n", n);
    (void)buf_adds(&request, "\r\n");
    (void)buf_add(&request, body, n);
    int fd = dial();
    say_n(fd, request.data, request.len);
    for (int i = 0; i < 10000 && !hear(fd) && got.len == 0;)
        i++;
    (void)fd_close(fd);
    turn();
}

static void get(const char *target, const char *head)
{
    buf_clear(&request);
    (void)buf_addf(&request, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", target, head);
    ask(buf_text(&request));
}

static __attribute__((unused)) void put(const char *target, const char *head, const char *body)
{
    send_to("PUT", target, head, body, strlen(body));
}

static __attribute__((unused)) void post(const char *target, const char *body)
{
    send_to("POST", target, "Content-Type: application/json\r\n", body, strlen(body));
}

static void check_status(int status)
{
    char head[32];
    (void)snprintf(head, sizeof head, "HTTP/1.1 %d ", status);
    check_head(head);
}

/* A problem document that names the path. */
static void check_problem(int status, const char *detail)
{
    check_status(status);
    check_has("application/problem+json");
    check_has(detail);
}

/* The value of a header of the last answer. */
static __attribute__((unused)) const char *header(const char *name)
{
    static char value[200];
    char start[64];
    (void)snprintf(start, sizeof start, "\r\n%s: ", name);
    const char *at = strcasestr(buf_text(&got), start);
    size_t n = at ? strcspn(at + strlen(start), "\r") : 0;
    (void)snprintf(value, sizeof value, "%.*s", (int)n, at ? at + strlen(start) : "");
    return value;
}

#endif
