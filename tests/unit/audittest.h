/* SPDX-License-Identifier: Apache-2.0
 *
 * tests/unit/audittest.h - an audit log for the tests of those who write to one, and its records in
 * short: "kind member=value …", without what differs from run to run. */
#ifndef UNIT_AUDITTEST_H
#define UNIT_AUDITTEST_H

#include <acutest.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/alloc.h"
#include "base/json/json.h"

static struct audit *audit;
static char audit_dir[64], audit_file[128];
static char audit_trail[20000]; /* of the last read_trail() */

static void ignore_audit_log(enum log_level level, const char *text)
{
    (void)level, (void)text;
}

static void open_audit(void)
{
    struct err e = ERR_NONE;
    (void)snprintf(audit_dir, sizeof audit_dir, "/tmp/audit-XXXXXX");
    TEST_ASSERT(mkdtemp(audit_dir) != NULL);
    (void)snprintf(audit_file, sizeof audit_file, "%s/log", audit_dir);
    struct audit_config config = {
        .path = audit_file, .workspace = "/nowhere", .version = "1", .log = ignore_audit_log};
    TEST_ASSERT(audit_open(&config, &audit, &e) == 0);
    TEST_MSG("%s", e.msg);
}

/* A request's id that the server has made. */
static bool is_random(const struct json *m)
{
    const char *text = json_text(m);
    bool id = strcmp(json_name(m), "request_id") == 0 || strcmp(json_name(m), "decided_in") == 0;
    return id && strlen(text) == 32 && strspn(text, "0123456789abcdef") == 32;
}

static void put_line(const struct json *line)
{
    static const char *const left_out[] = {"seq", "time", "prev", "hash", "kind", "ms", "version"};
    size_t n = strlen(audit_trail);
    n += (size_t)snprintf(audit_trail + n, sizeof audit_trail - n, "%s",
                          json_get_text(line, "kind"));
    for (const struct json *m = json_first(line); m; m = json_next(m)) {
        bool shown = !is_random(m);
        for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
            shown = shown && strcmp(json_name(m), left_out[i]) != 0;
        drop_str char *value = json_print(m);
        if (shown)
            n += (size_t)snprintf(audit_trail + n, sizeof audit_trail - n, " %s=%s", json_name(m),
                                  json_text(m) ? json_text(m) : value);
    }
    (void)snprintf(audit_trail + n, sizeof audit_trail - n, "\n");
}

static void read_trail(void)
{
    static char text[65536];
    drop_fd int fd = open(audit_file, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, text, sizeof text - 1);
    TEST_ASSERT(n >= 0);
    text[n] = '\0';
    audit_trail[0] = '\0';
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        drop_json struct json *tree =
            json_parse_copy(line, (size_t)(end - line), JSON_STRICT, NULL);
        put_line(tree);
    }
}

static __attribute__((unused)) void check_trail(const char *expected)
{
    read_trail();
    TEST_CHECK_(strcmp(audit_trail, expected) == 0, "the audit log has\n%s", audit_trail);
}

static void close_audit(void)
{
    audit = audit_close(audit);
    (void)unlink(audit_file);
    TEST_CHECK(rmdir(audit_dir) == 0);
}

#endif
