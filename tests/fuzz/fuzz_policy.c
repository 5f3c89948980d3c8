/* SPDX-License-Identifier: Apache-2.0
 *
 * A policy file, and what it decides for the calls that the lines after it name ("server tool
 * digest"). Nobody is there to be asked, so every call has its end, and a bad policy its place. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "approval/approvals.h"
#include "base/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_decided(void *ctx, enum approval_verdict verdict, const char *why)
{
    if ((verdict == APPROVAL_ACCEPTED) != (*why == '\0'))
        abort();
    ++*(int *)ctx;
}

static char *next_word(char **at, char end)
{
    char *word = *at, *stop = strchr(word, end);
    *at = stop ? stop + 1 : word + strlen(word);
    if (stop)
        *stop = '\0';
    return word;
}

static void call(struct loop *loop, struct approvals *all, char *line)
{
    struct approval *approval = NULL;
    int ends = 0;
    struct approval_subject subject = {.session = "s", .shown = "x", .arguments = "{}"};
    subject.server = next_word(&line, ' ');
    subject.tool = next_word(&line, ' ');
    subject.digest = line;
    if (approvals_ask(all, &subject, on_decided, &ends, &approval, NULL) < 0)
        abort();
    for (int i = 0; i < 3; i++)
        loop_turn(loop, 0);
    if (ends != 1)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct loop *loop;
    if (!loop && loop_new(&loop, NULL) < 0)
        abort();
    drop_str char *text = xstrndup((const char *)data, size);
    char *at = text, *first = next_word(&at, '\n');
    struct err e = ERR_NONE;
    drop_json struct json *policy = json_parse_copy(first, strlen(first), JSON_STRICT, &e);
    struct approvals_config config = {.loop = loop, .policy = policy};
    struct approvals *all = NULL;
    if (policy && approvals_check_policy(policy, &e) < 0 && *e.msg == '\0')
        abort();
    if (!policy || approvals_open(&config, &all, &e) < 0)
        return 0;
    while (*at)
        call(loop, all, next_word(&at, '\n'));
    (void)approvals_close(all);
    return 0;
}
