/* SPDX-License-Identifier: Apache-2.0 */
#include "fakes/fake_kernel.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

struct kernel {
    const struct kernel_events *events;
    void *ctx;
    void (*confined)(void *ctx, const struct err *why);
    void *confined_ctx;
};

struct fake_kernel fake;
static const struct kernel_leave *held_leave;
static void *held_ctx;

static struct kernel *new_kernel(const struct kernel_events *events, void *ctx)
{
    struct kernel *kernel = NEW(struct kernel);
    *kernel = (struct kernel){.events = events, .ctx = ctx};
    fake.current = kernel;
    if (!fake.first)
        fake.first = kernel;
    return kernel;
}

int kernel_start(const struct kernel_config *config, const struct kernel_events *events, void *ctx,
                 struct kernel **ret, struct err *e)
{
    fake.starts++;
    fake.limits = config->sandbox ? config->sandbox->limits : (struct sandbox_limits){0};
    (void)snprintf(fake.started_with, sizeof fake.started_with, "%s",
                   config->sandbox && config->sandbox->settings ? config->sandbox->settings : "");
    (void)snprintf(fake.environment, sizeof fake.environment, "%s",
                   config->envp && *config->envp ? *config->envp : "");
    if (fake.fail_start)
        return err_set(e, -ENOENT, "no python");
    *ret = new_kernel(events, ctx);
    return 0;
}

int kernel_fork(struct kernel *parent, const struct kernel_branch *how,
                const struct kernel_config *config, const struct kernel_events *events, void *ctx,
                struct kernel **ret, struct err *e)
{
    (void)parent, (void)config;
    fake.same_session = how->same_session;
    fake.forks++;
    if (fake.fail_start)
        return err_set(e, -EDOM, "such kernels cannot be forked");
    *ret = new_kernel(events, ctx);
    return 0;
}

void kernel_renew(struct kernel *parent)
{
    (void)parent;
    fake.renewals++;
}

void kernel_sleep(struct kernel *kernel, bool sleep)
{
    fake.sleeps += sleep;
    fake.wakes += !sleep;
    if (!sleep)
        fake.current = kernel;
}

void kernel_measure(struct kernel *kernel)
{
    (void)kernel;
    fake.measures++;
}

void fake_kernel_measured(uint64_t bytes)
{
    fake.current->events->measured(fake.current->ctx, bytes);
}

int kernel_execute(struct kernel *kernel, struct slice code, enum kernel_code kind, struct err *e)
{
    (void)kernel, (void)kind, (void)e;
    (void)snprintf(fake.code, sizeof fake.code, "%.*s", (int)code.len, code.data);
    return 0;
}

const char *kernel_connection(const struct kernel *kernel)
{
    (void)kernel;
    return "{}";
}

void kernel_rebind(struct kernel *kernel, const struct kernel_events *events, void *ctx,
                   bool finish_first)
{
    kernel->events = events;
    kernel->ctx = ctx;
    fake.finish_first = finish_first;
}

void kernel_set_owner(struct kernel *kernel, const char *owner)
{
    (void)kernel;
    (void)snprintf(fake.owner, sizeof fake.owner, "%s", owner);
}

void kernel_interrupt(struct kernel *kernel)
{
    (void)kernel;
    fake.interrupts++;
}

int kernel_confine(struct kernel *kernel, const char *settings,
                   void (*done)(void *ctx, const struct err *why), void *ctx, struct err *e)
{
    (void)e;
    (void)snprintf(fake.settings, sizeof fake.settings, "%s", settings);
    kernel->confined = done;
    kernel->confined_ctx = ctx;
    return 0;
}

static void notify_confined(struct kernel *kernel, const struct err *why)
{
    void (*confined)(void *ctx, const struct err *why) = kernel->confined;
    kernel->confined = NULL;
    if (confined)
        confined(kernel->confined_ctx, why);
}

void fake_kernel_confined(int code, const char *why)
{
    struct err e = ERR_NONE;
    if (why)
        (void)err_set(&e, code, "%s", why);
    notify_confined(fake.current, why ? &e : NULL);
}

/* As the real one says it of a kernel that is given up. */
static void free_kernel(struct kernel *kernel)
{
    struct err e = ERR_NONE;
    (void)err_set(&e, -EBUSY, "the kernel has ended");
    notify_confined(kernel, &e);
    xfree(kernel);
}

static struct kernel_question { /* the one that there may be */
    question_fn fn;
    void *ctx;
} fake_question;

int kernel_ask(struct kernel *kernel, enum question_kind kind, struct slice content, question_fn fn,
               void *ctx, struct kernel_question **ret, struct err *e)
{
    (void)kernel, (void)e;
    (void)snprintf(fake.asked, sizeof fake.asked, "%d %.*s", (int)kind, (int)content.len,
                   content.data);
    fake_question = (struct kernel_question){fn, ctx};
    *ret = &fake_question;
    return 0;
}

void question_forget(struct kernel_question *question)
{
    *question = (struct kernel_question){0};
}

bool fake_kernel_is_asked(void)
{
    return fake_question.fn != NULL;
}

void fake_kernel_answers(const char *content, int code)
{
    struct err e = ERR_NONE;
    drop_json struct json *tree =
        content ? json_parse_copy(content, strlen(content), JSON_REPAIR, NULL) : NULL;
    (void)err_set(&e, code, "it has not answered");
    struct kernel_question question = fake_question;
    fake_question = (struct kernel_question){0};
    question.fn(question.ctx, tree, &e);
}

void kernel_freeze(struct kernel *kernel)
{
    (void)kernel;
    fake.freezes++;
}

void kernel_resume(struct kernel *kernel)
{
    (void)kernel;
    fake.resumes++;
}

struct kernel *kernel_retire(struct kernel *kernel, const struct kernel_leave *leave, void *ctx)
{
    fake.retires++;
    free_kernel(kernel);
    if (fake.hold_retired) {
        held_leave = leave;
        held_ctx = ctx;
    } else {
        leave->released(ctx);
        leave->gone(ctx);
    }
    return NULL;
}

void kernel_look(struct kernel *kernel)
{
    (void)kernel;
    fake.looks++;
}

struct kernel *kernel_kill(struct kernel *kernel)
{
    fake.kills += kernel != NULL;
    if (kernel)
        free_kernel(kernel);
    return NULL;
}

void fake_kernel_heartbeat(bool alive)
{
    fake.current->events->heartbeat(fake.current->ctx, alive);
}

void fake_kernel_limited(const char *text)
{
    fake.current->events->limited(fake.current->ctx, text);
}

void fake_kernel_refused(const char *text)
{
    fake.current->events->refused(fake.current->ctx, text);
}

void fake_kernel_released(void)
{
    held_leave->released(held_ctx);
}

void fake_kernel_gone(void)
{
    held_leave->gone(held_ctx);
}

void fake_kernel_ready(void)
{
    fake.current->events->ready(fake.current->ctx);
}

void fake_kernel_forked(void)
{
    fake.current->events->forked(fake.current->ctx);
}

static void send(enum jupyter_type type, char *content, bool current)
{
    drop_json struct json *tree = json_parse(content, strlen(content), JSON_REPAIR, NULL);
    struct jupyter_msg m = {.type = type, .content = tree};
    fake.current->events->message(fake.current->ctx, &m, current);
}

void fake_kernel_stream(const char *text, bool current)
{
    drop_str char *content = xasprintf("{\"name\":\"stdout\",\"text\":\"%s\"}", text);
    send(JUPYTER_STREAM, content, current);
}

void fake_kernel_message(enum jupyter_type type, const char *content)
{
    drop_str char *copy = xstrdup(content);
    send(type, copy, true);
}

/* Of an execute_request of another client with the id `request`. */
void fake_kernel_external(enum jupyter_type type, const char *request, const char *content)
{
    static const char parent[] = "{\"msg_type\":\"execute_request\",\"session\":\"other\"}";
    drop_json struct json *tree = json_parse_copy(content, strlen(content), JSON_STRICT, NULL);
    drop_json struct json *head = json_parse_copy(parent, strlen(parent), JSON_STRICT, NULL);
    struct jupyter_msg m = {.type = type, .parent_id = request, .parent = head, .content = tree};
    fake.current->events->external(fake.current->ctx, &m);
}

void fake_kernel_input(void)
{
    char content[] = "{\"code\":\"\",\"execution_count\":1}";
    send(JUPYTER_EXECUTE_INPUT, content, true);
}

void fake_kernel_error(const char *ename, const char *evalue)
{
    drop_str char *content = xasprintf(
        "{\"ename\":\"%s\",\"evalue\":\"%s\",\"traceback\":[\"one\",\"two\"]}", ename, evalue);
    send(JUPYTER_ERROR, content, true);
}

void fake_kernel_done(const char *reply)
{
    drop_json struct json *tree = json_parse_copy(reply, strlen(reply), JSON_REPAIR, NULL);
    fake.current->events->done(fake.current->ctx, tree);
}

void fake_kernel_dies(const char *why, const char *last_words)
{
    struct kernel *kernel = fake.current;
    struct err e = ERR_NONE;
    (void)err_set(&e, -ECHILD, "%s", why);
    const struct kernel_events *events = kernel->events;
    void *ctx = kernel->ctx;
    free_kernel(kernel);
    fake.current = NULL;
    events->ended(ctx, &e, last_words);
}
