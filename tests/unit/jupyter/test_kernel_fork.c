/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel that is forked from another: what the server does, the process and the channels being
 * played. */
#include <acutest.h>

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "fakes/fake_link.h"
#include "fakes/fake_spawn.h"
#include "jupyter/kernel.h"
#include "jupyter/tokens.h"

#define OURS "ours"
#define IDLE "{\"execution_state\":\"idle\"}"

static struct loop *loop;
static struct tokens tokens;
static struct sandbox_spec walls;
static struct kernel_config config;
static struct kernel *parent, *branch;
static char told[400]; /* what was told of the branch */

static void note(const char *what)
{
    const size_t n = strlen(told);
    (void)snprintf(told + n, sizeof told - n, "%s;", what);
}

static void on_ready(void *ctx)
{
    if (ctx)
        note("ready");
}

static void on_forked(void *ctx)
{
    if (ctx)
        note("forked");
}

static void on_ended(void *ctx, const struct err *why, const char *last_words)
{
    (void)last_words;
    if (ctx) {
        branch = NULL;
        note(why->msg);
    }
}

static const struct kernel_events events = {
    .ready = on_ready, .forked = on_forked, .ended = on_ended};

static void come_up(int request)
{
    char id[16];
    (void)snprintf(id, sizeof id, "r%d", request);
    fake_link_say(LINK_SHELL, JUPYTER_KERNEL_INFO_REPLY, id, OURS, "{}");
    fake_link_say(LINK_IOPUB, JUPYTER_STATUS, id, OURS, IDLE);
}

static void begin(void)
{
    static const char *const environment[] = {NULL};
    TEST_ASSERT(loop_new(&loop, NULL) == 0);
    config = (struct kernel_config){.loop = loop,
                                    .channels = "/nowhere",
                                    .python = "python3",
                                    .envp = environment,
                                    .cwd = "/",
                                    .tokens = &tokens,
                                    .alone = true,
                                    .sandbox = &walls,
                                    .start_timeout_ms = 5000};
    TEST_ASSERT(kernel_start(&config, &events, NULL, &parent, NULL) == 0);
    kernel_set_owner(parent, "s1");
    come_up(1);
    told[0] = '\0';
}

static void end(void)
{
    branch = branch ? kernel_kill(branch) : NULL;
    parent = parent ? kernel_kill(parent) : NULL;
    loop = loop_free(loop);
    TEST_CHECK(tokens.first == NULL);
}

static int fork_with(struct kernel_branch how, struct err *e)
{
    fake_link.requests = 0;
    return kernel_fork(parent, &how, &config, &events, told, &branch, e);
}

static const char *said(enum child_slot slot)
{
    return fake_spawn.said + (size_t)slot * CHILD_SLOT;
}

/* What is told in a slot: {"token":"…"}. */
static const char *token_in(enum child_slot slot)
{
    static char text[CHILD_SLOT];
    TEST_CHECK(sscanf(said(slot), "{\"token\":\"%4000[^\"]\"}", text) == 1);
    return text;
}

static void a_branch_is_forked_and_then_ready(void)
{
    begin();
    TEST_CHECK(fork_with((struct kernel_branch){.force = true, .keep_random = true}, NULL) == 0);
    TEST_CHECK(fake_spawn.branches == 1);
    TEST_CHECK(strstr(said(CHILD_SLOT_ORDER), "\"force\":true,\"keep_random\":true") != NULL);
    come_up(1); /* it answers before its shim knows it */
    TEST_CHECK(strcmp(told, "") == 0);
    fake_spawn_started();
    TEST_CHECK(strcmp(told, "forked;ready;") == 0);
    TEST_MSG("%s", told);
    end();
}

static void a_branch_that_is_known_first_is_ready_when_it_answers(void)
{
    begin();
    TEST_CHECK(fork_with((struct kernel_branch){0}, NULL) == 0);
    TEST_CHECK(strstr(said(CHILD_SLOT_ORDER), "\"force\":false,\"keep_random\":false") != NULL);
    fake_spawn_started();
    TEST_CHECK(strcmp(told, "forked;") == 0);
    come_up(1);
    TEST_CHECK(strcmp(told, "forked;ready;") == 0);
    end();
}

static void a_refusal_is_told_in_the_kernels_words(void)
{
    begin();
    TEST_CHECK(fork_with((struct kernel_branch){0}, NULL) == 0);
    fake_spawn_fail("a cell is running");
    for (int i = 0; i < 4; i++)
        loop_turn(loop, 0);
    TEST_CHECK(strcmp(told, "a cell is running;") == 0);
    TEST_MSG("%s", told);
    end();
}

static void only_a_kernel_behind_walls_that_is_idle_is_forked(void)
{
    struct err e = ERR_NONE;
    begin();
    TEST_CHECK(kernel_execute(parent, (struct slice){(char[]){"1"}, 1}, KERNEL_CELL, NULL) == 0);
    TEST_CHECK(fork_with((struct kernel_branch){0}, &e) == -EBUSY);
    end();
    walls.limits.disk = 1 << 20;
    begin();
    TEST_CHECK(fork_with((struct kernel_branch){0}, &e) == -EDOM);
    TEST_CHECK(strstr(e.msg, "--kernel-disk") != NULL);
    end();
    walls.limits.disk = 0;
    begin();
    config.sandbox = NULL;
    TEST_CHECK(fork_with((struct kernel_branch){0}, &e) == -EDOM);
    TEST_CHECK(strstr(e.msg, "ipybox doctor") != NULL);
    end();
    begin();
    config.alone = false; /* tests have one uid */
    TEST_CHECK(fork_with((struct kernel_branch){0}, &e) == -EDOM);
    TEST_CHECK(strstr(e.msg, "--kernel-gateway-port") != NULL);
    end();
    begin();
    fake_spawn.refuses = true;
    TEST_CHECK(fork_with((struct kernel_branch){0}, &e) == -EPIPE && branch == NULL);
    fake_spawn.refuses = false;
    end();
}

/* The fork has the parent's memory, and with it its token: it gets another, and so does the
 * parent. */
static void both_get_tokens_that_the_other_does_not_know(void)
{
    const char *owner = NULL;
    begin();
    const struct token *first = tokens.first;
    char old[sizeof first->text];
    memcpy(old, first->text, sizeof old);
    TEST_CHECK(tokens_know(&tokens, old, &owner) && strcmp(owner, "s1") == 0);
    TEST_CHECK(fork_with((struct kernel_branch){.renew = true}, NULL) == 0);
    kernel_set_owner(branch, "s2");
    drop_str char *theirs = xstrdup(token_in(CHILD_SLOT_BRANCH));
    drop_str char *next = xstrdup(token_in(CHILD_SLOT_PARENT));
    TEST_CHECK(strcmp(theirs, old) != 0 && strcmp(next, old) != 0 && strcmp(theirs, next) != 0);
    TEST_CHECK(tokens_know(&tokens, old, &owner)); /* the parent has not been told yet */
    fake_spawn_started();
    kernel_renew(parent);
    TEST_CHECK(!tokens_know(&tokens, old, &owner));
    TEST_CHECK(tokens_know(&tokens, next, &owner) && strcmp(owner, "s1") == 0);
    TEST_CHECK(tokens_know(&tokens, theirs, &owner) && strcmp(owner, "s2") == 0);
    branch = kernel_kill(branch);
    TEST_CHECK(!tokens_know(&tokens, theirs, &owner) && tokens_know(&tokens, next, &owner));
    end();
}

TEST_LIST = {
    {"a_branch_is_forked_and_then_ready", a_branch_is_forked_and_then_ready},
    {"a_branch_that_is_known_first_is_ready_when_it_answers",
     a_branch_that_is_known_first_is_ready_when_it_answers},
    {"a_refusal_is_told_in_the_kernels_words", a_refusal_is_told_in_the_kernels_words},
    {"only_a_kernel_behind_walls_that_is_idle_is_forked",
     only_a_kernel_behind_walls_that_is_idle_is_forked},
    {"both_get_tokens_that_the_other_does_not_know", both_get_tokens_that_the_other_does_not_know},
    {NULL, NULL},
};
