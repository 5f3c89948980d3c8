/* SPDX-License-Identifier: Apache-2.0
 *
 * A cell is done when two messages have come, in either order: the reply on the shell channel and
 * the status "idle" on iopub (finish_cell()). A reply that is REPLY_LATE_MS behind the status is
 * not waited for.
 * Who completes what: complete_cell() tells `done` once for each kernel_execute(). end_with() tells
 * `ended` once, after what the dead process had still sent was read (on_drain()), and the kernel is
 * freed before; nothing follows. A cell that had answered when its process died is told first. A
 * kernel that was retired tells `released` and `gone` in place of both. kernel_confine() is
 * answered by notify_confined(), at the latest when the kernel is freed.
 * Re-entry: `done` and `ready` may execute the next cell. All of it runs on the loop's thread. */
#include "jupyter/kernel.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json/jsonw.h"
#include "base/random.h"
#include "base/service.h"
#include "base/text/utf8.h"
#include "jupyter/fork_orders.h"
#include "jupyter/link.h"
#include "jupyter/loading.h"
#include "jupyter/oom.h"

enum {
    NAME_BYTES = 8, /* of a kernel's sockets, two digits each */
    NUDGE_MS = 50,  /* between kernel_info requests until iopub has spoken */
    LAST_WORDS = 8192,
    REPLY_LATE_MS = 3000, /* after the idle status: IPython can lose a reply to interrupts */
    DRAIN_MS = 200,       /* of silence on iopub, then a dead kernel has nothing more to say */
    DRAIN_MAX_MS = 2000,
    KILL_MS = 3000, /* what SIGKILL has not ended by then sleeps in the system: it is left there */
    REQUEST_CODE_MAX = 64 << 20,
};

/* The last of what it is started with, behind its sockets. */
_Static_assert(CHILD_FIRST_FD + LINK_SOCKETS == 10, "the file has this number");
#define CONNECTION_FILE "/proc/self/fd/10"

enum kernel_state { STARTING, IDLE, BUSY, RETIRING };

struct kernel {
    const struct kernel_config *config;
    enum kernel_state state;
    struct token token;
    const char **envp; /* the configured one and the token */
    char *token_variable;
    struct token renewed;        /* another, which it was told when a kernel was forked from it */
    struct sandbox_spec sandbox; /* the configured one; its settings: while it starts */
    void (*confined)(void *ctx, const struct err *why); /* NULL: no change is under way */
    void *confined_ctx;
    struct child *child;
    struct link *link;
    struct loop_timer nudge, deadline, drain;
    struct err why; /* the process has ended: what is still on its way is read first */
    int64_t drain_until;
    bool drained_some;
    bool answered, heard_iopub;
    bool forked;   /* by the template: when that fails, there is another way */
    bool branch;   /* by another kernel, which says why it does not; */
    bool apart;    /* and its shim knows it */
    bool asleep;   /* kernel_sleep() */
    bool old_cell; /* the running cell is not the owner's: its end means "ready" */
    bool got_reply, got_idle;
    char request[LINK_ID_SIZE];
    struct json *reply;
    struct buf last_words;
    long oom_kills;
    const struct kernel_events *events;
    void *ctx;                        /* of the events, and of these once it is retiring: */
    const struct kernel_leave *leave; /* NULL: it is not */
    struct questions questions;
    bool released;
    bool *freed; /* set to true when it is freed inside an event; NULL: nobody looks */
};

static void notify_confined(struct kernel *kernel, const struct err *why)
{
    void (*confined)(void *ctx, const struct err *why) = kernel->confined;
    kernel->confined = NULL;
    if (confined)
        confined(kernel->confined_ctx, why);
}

static void give_up_change(struct kernel *kernel)
{
    struct err why = ERR_NONE;
    (void)err_set(&why, -EBUSY, "the kernel has ended before its sandbox was changed");
    notify_confined(kernel, &why);
}

static void give_up_questions(struct kernel *kernel)
{
    struct err why = ERR_NONE;
    (void)err_set(&why, -EBUSY, "the kernel has ended");
    questions_end(&kernel->questions, &why);
}

static void release(struct kernel *kernel)
{
    if (kernel->leave && !kernel->released)
        kernel->leave->released(kernel->ctx);
    kernel->released = true;
}

static void revoke_tokens(struct kernel *kernel)
{
    if (!kernel->config->tokens)
        return;
    token_revoke(kernel->config->tokens, &kernel->token);
    token_revoke(kernel->config->tokens, &kernel->renewed);
}

static struct kernel *free_kernel(struct kernel *kernel)
{
    give_up_change(kernel);
    give_up_questions(kernel);
    release(kernel);
    const struct kernel_leave *leave = kernel->leave;
    void *ctx = kernel->ctx;
    loop_timer_stop(kernel->config->loop, &kernel->nudge);
    loop_timer_stop(kernel->config->loop, &kernel->deadline);
    loop_timer_stop(kernel->config->loop, &kernel->drain);
    (void)link_free(kernel->link);
    (void)child_end(kernel->child);
    (void)json_free(kernel->reply);
    buf_done(&kernel->last_words);
    revoke_tokens(kernel);
    xfree(kernel->token_variable);
    xfree(kernel->envp);
    if (kernel->freed)
        *kernel->freed = true;
    xfree(kernel);
    if (leave)
        leave->gone(ctx);
    return NULL;
}

static int send_empty(struct kernel *kernel, enum link_channel channel, enum jupyter_type type)
{
    return link_send(kernel->link, channel, type, (struct slice){(char[]){"{}"}, 2}, NULL, NULL);
}

/* --- the process ---------------------------------------------------------------------------- */

/* Calls fn, in which the owner may give the kernel up. False: he has, and it is freed. */
static bool outlives(struct kernel *kernel, void (*fn)(struct kernel *kernel))
{
    bool freed = false;
    kernel->freed = &freed;
    fn(kernel);
    if (!freed)
        kernel->freed = NULL;
    return !freed;
}

static void end_with(struct kernel *kernel, const struct err *why)
{
    if (!outlives(kernel, give_up_change))
        return;
    const struct kernel_events *events = kernel->events;
    void *ctx = kernel->ctx;
    drop_buf struct buf words = kernel->last_words;
    kernel->last_words = BUF_INIT(0);
    const bool told = kernel->state != RETIRING, starting = kernel->state == STARTING;
    struct err named = *why;
    char path[LOADING_PATH_MAX + 1];
    loading_take(&words, path);
    if (starting && *path)
        (void)err_set(&named, why->code, "%s while it loaded %s; remove that file", why->msg, path);
    (void)free_kernel(kernel);
    if (told)
        events->ended(ctx, &named, buf_text(&words));
}

static void describe_end(const struct kernel *kernel, const struct child_exit *how, struct err *ret)
{
    if (how->limit) {
        (void)err_set(ret, -ENOMEM, "the kernel's process was killed: %s", how->limit);
        return;
    }
    if (how->signal == 0) {
        (void)err_set(ret, -ECHILD, "the kernel's process exited with status %d", how->code);
        return;
    }
    bool oom = how->signal == 9 && oom_kills() > kernel->oom_kills;
    (void)err_set(ret, -ECHILD, "the kernel's process was killed by signal %d (%s)%s", how->signal,
                  strsignal(how->signal),
                  oom ? ": the container ran out of memory (its memory limit was reached)" : "");
}

static void complete_cell(struct kernel *kernel)
{
    if (kernel->state != BUSY || !kernel->got_reply || !kernel->got_idle)
        return;
    loop_timer_stop(kernel->config->loop, &kernel->deadline);
    drop_json struct json *reply = kernel->reply;
    kernel->reply = NULL;
    kernel->request[0] = '\0';
    kernel->state = IDLE;
    if (kernel->old_cell) {
        kernel->old_cell = false;
        kernel->events->ready(kernel->ctx);
        return;
    }
    kernel->events->done(kernel->ctx, reply);
}

/* Messages that the process sent before it ended may still be in the socket: the last output of a
 * cell that crashed. */
static void on_drain(void *ctx)
{
    struct kernel *kernel = ctx;
    struct loop *loop = kernel->config->loop;
    if (!kernel->drained_some || loop_now(loop) >= kernel->drain_until) {
        struct err why = kernel->why;
        if (outlives(kernel, complete_cell))
            end_with(kernel, &why);
        return;
    }
    kernel->drained_some = false;
    loop_timer_set(loop, &kernel->drain, DRAIN_MS, on_drain, kernel);
}

static int start_kernel_process(struct kernel *kernel, struct err *e);

static void on_kernel_process_ended(void *ctx, const struct child_exit *how, const struct err *why)
{
    struct kernel *kernel = ctx;
    kernel->child = NULL; /* it is the spawner's now */
    if (!how && kernel->forked && kernel->state == STARTING) {
        kernel->forked = false;
        if (start_kernel_process(kernel, &kernel->why) == 0)
            return;
    }
    if (how)
        describe_end(kernel, how, &kernel->why);
    else
        (void)err_set(&kernel->why, why->code, "%s%s",
                      kernel->branch ? "" : "the kernel's process: ", why->msg);
    kernel->drain_until = loop_now(kernel->config->loop) + DRAIN_MAX_MS;
    kernel->drained_some = kernel->state == BUSY;
    loop_timer_stop(kernel->config->loop, &kernel->deadline);
    on_drain(kernel);
}

static void on_kernel_output(void *ctx, const char *bytes, size_t n)
{
    struct kernel *kernel = ctx;
    if (n > LAST_WORDS) {
        bytes += n - LAST_WORDS;
        n = LAST_WORDS;
    }
    if (kernel->last_words.len + n > LAST_WORDS)
        buf_cut_front(&kernel->last_words, kernel->last_words.len + n - LAST_WORDS);
    (void)buf_add(&kernel->last_words, bytes, n);
}

static void on_kernel_limited(void *ctx, const char *text)
{
    struct kernel *kernel = ctx;
    if (kernel->state != RETIRING && kernel->events->limited)
        kernel->events->limited(kernel->ctx, text);
}

static void on_kernel_refused(void *ctx, const char *text)
{
    const struct kernel *kernel = ctx;
    if (kernel->state != RETIRING && kernel->events->refused)
        kernel->events->refused(kernel->ctx, text);
}

static void on_kernel_confined(void *ctx, const struct err *why)
{
    notify_confined(ctx, why);
}

static void on_holds(void *ctx, bool any)
{
    if (!any)
        release(ctx);
}

static void on_kernel_measured(void *ctx, uint64_t bytes)
{
    const struct kernel *kernel = ctx;
    if (kernel->state != RETIRING && kernel->events->measured)
        kernel->events->measured(kernel->ctx, bytes);
}

static void notify_forked(struct kernel *kernel)
{
    kernel->events->forked(kernel->ctx);
}

static void become_kernel_ready(struct kernel *kernel);

static void on_kernel_process_started(void *ctx, pid_t pid)
{
    struct kernel *kernel = ctx;
    (void)pid;
    if (!kernel->branch || kernel->state != STARTING)
        return;
    kernel->apart = true;
    if (!kernel->events->forked || outlives(kernel, notify_forked))
        become_kernel_ready(kernel);
}

static const struct child_events child_events = {.started = on_kernel_process_started,
                                                 .output = on_kernel_output,
                                                 .limited = on_kernel_limited,
                                                 .refused = on_kernel_refused,
                                                 .confined = on_kernel_confined,
                                                 .holds = on_holds,
                                                 .measured = on_kernel_measured,
                                                 .ended = on_kernel_process_ended};

static int start_kernel_process(struct kernel *kernel, struct err *e)
{
    const char *argv[] = {kernel->config->python,
                          "-I", /* what users have is for launch.py, behind the walls */
                          "-m",
                          "ipybox_kernel",
                          "-f",
                          CONNECTION_FILE,
                          NULL};
    struct child_spec spec = {.argv = argv,
                              .envp = kernel->envp,
                              .cwd = kernel->config->cwd,
                              .sandbox = kernel->config->sandbox ? &kernel->sandbox : NULL,
                              .fds = link_fds(kernel->link),
                              .fd_count = LINK_FDS};
    return child_start(kernel->config->spawner, &spec, &child_events, kernel, &kernel->child, e);
}

static void make_environment(struct kernel *kernel)
{
    const struct kernel_config *config = kernel->config;
    size_t n = 0;
    while (config->envp[n])
        n++;
    kernel->envp = xcalloc(n + 2, sizeof *kernel->envp);
    memcpy(kernel->envp, config->envp, n * sizeof *kernel->envp);
    if (!config->tokens)
        return;
    token_issue(config->tokens, &kernel->token);
    kernel->token_variable = xasprintf("IPYBOX_TOOL_TOKEN=%s", kernel->token.text);
    kernel->envp[n] = kernel->token_variable;
}

/* Out of the template when there is one that can; a fork takes a tenth of a start. */
static int start_or_fork(struct kernel *kernel, struct err *e)
{
    const struct kernel_config *config = kernel->config;
    const struct template_kernel fork = {.connection_file = CONNECTION_FILE,
                                         .cwd = config->cwd,
                                         .envp = kernel->envp,
                                         .sandbox = config->sandbox ? &kernel->sandbox : NULL,
                                         .fds = link_fds(kernel->link)};
    if (config->template && template_usable(config->template) &&
        template_fork(config->template, &fork, &child_events, kernel, &kernel->child, NULL) == 0) {
        kernel->forked = true;
        return 0;
    }
    return start_kernel_process(kernel, e);
}

/* --- messages ------------------------------------------------------------------------------- */

static void become_kernel_ready(struct kernel *kernel)
{
    if (kernel->state != STARTING || !kernel->answered || !kernel->heard_iopub ||
        (kernel->branch && !kernel->apart))
        return;
    loop_timer_stop(kernel->config->loop, &kernel->nudge);
    loop_timer_stop(kernel->config->loop, &kernel->deadline);
    link_drop_fds(kernel->link); /* or nobody would learn that the kernel has gone */
    kernel->state = IDLE;
    kernel->events->ready(kernel->ctx);
}

/* Not of a process that has ended: its cell is told with its end, or another one would be sent. */
static void finish_cell(struct kernel *kernel)
{
    if (kernel->child)
        complete_cell(kernel);
}

static void on_shell(struct kernel *kernel, const struct jupyter_msg *m)
{
    if (m->type == JUPYTER_KERNEL_INFO_REPLY) {
        kernel->answered = true;
        become_kernel_ready(kernel);
        return;
    }
    questions_hear(&kernel->questions, m);
    bool mine = kernel->state == BUSY && strcmp(m->parent_id, kernel->request) == 0;
    if (m->type != JUPYTER_EXECUTE_REPLY || !mine || kernel->got_reply)
        return;
    kernel->got_reply = true;
    drop_str char *copy = m->content ? json_print(m->content) : NULL;
    if (copy)
        kernel->reply = json_parse(copy, strlen(copy), JSON_REPAIR, NULL);
    finish_cell(kernel);
}

static void on_no_reply(void *ctx)
{
    struct kernel *kernel = ctx;
    kernel->got_reply = true;
    finish_cell(kernel);
}

static void on_kernel_status(struct kernel *kernel, const struct jupyter_msg *m)
{
    const char *state = json_get_text(m->content, "execution_state");
    if (kernel->state != BUSY || !state || strcmp(state, "idle") != 0 ||
        strcmp(m->parent_id, kernel->request) != 0)
        return;
    if (kernel->got_idle)
        return; /* code can say it again and again */
    kernel->got_idle = true;
    if (!kernel->got_reply && kernel->child)
        loop_timer_set(kernel->config->loop, &kernel->deadline, REPLY_LATE_MS, on_no_reply, kernel);
    finish_cell(kernel);
}

/* It belongs to a request that came through the kernel gateway, say. */
static bool of_another_client(const struct kernel *kernel, const struct jupyter_msg *m)
{
    const char *session = json_get_text(m->parent, "session");
    return session && *session && strcmp(session, link_session(kernel->link)) != 0;
}

static void notify_external(struct kernel *kernel, const struct jupyter_msg *m)
{
    if (kernel->events->external)
        kernel->events->external(kernel->ctx, m);
}

static void on_kernel_message(void *ctx, enum link_channel channel, const struct jupyter_msg *m)
{
    struct kernel *kernel = ctx;
    if (kernel->state == RETIRING)
        return;
    if (channel == LINK_SHELL) {
        on_shell(kernel, m);
        return;
    }
    if (channel == LINK_CONTROL)
        questions_hear(&kernel->questions, m);
    if (channel != LINK_IOPUB)
        return;
    kernel->heard_iopub = kernel->drained_some = true;
    bool current = kernel->state == BUSY && strcmp(m->parent_id, kernel->request) == 0;
    if (kernel->state == STARTING)
        become_kernel_ready(kernel);
    else if (of_another_client(kernel, m))
        notify_external(kernel, m);
    else if (m->type == JUPYTER_STATUS)
        on_kernel_status(kernel, m);
    else if (!current || !kernel->old_cell)
        kernel->events->message(kernel->ctx, m, current); /* not the cell of an owner before */
}

static void on_kernel_heartbeat(void *ctx, bool alive)
{
    struct kernel *kernel = ctx;
    if (kernel->state == IDLE || kernel->state == BUSY)
        kernel->events->heartbeat(kernel->ctx, alive);
}

/* --- starting ------------------------------------------------------------------------------- */

/* iopub greets the first subscriber of a topic only; any other hears nothing until something is
 * published, so something is asked for until it does. */
static void on_nudge(void *ctx)
{
    struct kernel *kernel = ctx;
    if (kernel->answered) {
        kernel->answered = false;
        (void)send_empty(kernel, LINK_SHELL, JUPYTER_KERNEL_INFO_REQUEST);
    }
    loop_timer_set(kernel->config->loop, &kernel->nudge, NUDGE_MS, on_nudge, kernel);
}

static void on_kernel_deadline(void *ctx)
{
    struct kernel *kernel = ctx;
    struct err why = ERR_NONE;
    (void)err_set(&why, -ETIMEDOUT, "the kernel did not come up within %.0f s",
                  (double)kernel->config->start_timeout_ms / 1000);
    end_with(kernel, &why);
}

static int open_kernel_link(struct kernel *kernel, struct err *e)
{
    static const struct link_events events = {.message = on_kernel_message,
                                              .heartbeat = on_kernel_heartbeat};
    const struct kernel_config *config = kernel->config;
    char name[17];
    random_hex(name, NAME_BYTES);
    drop_str char *place = xasprintf("%s/%s", config->channels, name);
    const struct link_config link = {
        .loop = config->loop, .zctx = config->zctx, .place = place, .alone = config->alone};
    return link_open(&link, &events, kernel, &kernel->link, e);
}

/* `orders`: of a branch of `parent`; NULL: it is none. */
static int start_all(struct kernel *kernel, const struct kernel *parent, int orders, struct err *e)
{
    const struct kernel_config *config = kernel->config;
    if (config->sandbox)
        kernel->sandbox = *config->sandbox;
    int r = open_kernel_link(kernel, e);
    if (r == 0)
        r = parent ? child_branch(parent->child, link_fds(kernel->link), orders, &child_events,
                                  kernel, &kernel->child, e)
                   : start_or_fork(kernel, e);
    if (r == 0)
        r = send_empty(kernel, LINK_SHELL, JUPYTER_KERNEL_INFO_REQUEST);
    if (r < 0)
        return r;
    loop_timer_set(config->loop, &kernel->nudge, NUDGE_MS, on_nudge, kernel);
    loop_timer_set(config->loop, &kernel->deadline, config->start_timeout_ms, on_kernel_deadline,
                   kernel);
    return 0;
}

static void on_question_unanswered(void *ctx, enum question_kind kind)
{
    struct kernel *kernel = ctx;
    if (kind != QUESTION_VARIABLES && kernel->state == IDLE && kernel->child)
        child_interrupt(kernel->child);
}

static struct kernel *new_kernel(const struct kernel_config *config,
                                 const struct kernel_events *events, void *ctx)
{
    struct kernel *kernel = NEW(struct kernel);
    kernel->config = config;
    kernel->events = events;
    kernel->ctx = ctx;
    kernel->last_words = BUF_INIT(LAST_WORDS);
    kernel->questions =
        (struct questions){.loop = config->loop, .late = on_question_unanswered, .ctx = kernel};
    kernel->oom_kills = oom_kills();
    make_environment(kernel);
    return kernel;
}

int kernel_start(const struct kernel_config *config, const struct kernel_events *events, void *ctx,
                 struct kernel **ret, struct err *e)
{
    struct kernel *kernel = new_kernel(config, events, ctx);
    int r = start_all(kernel, NULL, -1, e);
    if (r < 0) {
        (void)free_kernel(kernel);
        return err_wrap(e, "start a kernel");
    }
    *ret = kernel;
    return 0;
}

/* --- forking -------------------------------------------------------------------------------- */

static int write_orders(struct kernel *parent, const struct kernel *kernel,
                        const struct kernel_branch *how, int *ret_fd, struct err *e)
{
    struct tokens *tokens = parent->config->tokens;
    drop_fd int fd = memfd_create("fork", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, CHILD_SLOTS * CHILD_SLOT) < 0)
        return err_set(e, -errno, "memfd_create: %s", strerror(errno));
    if (how->renew && tokens && !parent->renewed.text[0]) {
        token_issue(tokens, &parent->renewed);
        memcpy(parent->renewed.owner, parent->token.owner, sizeof parent->token.owner);
    }
    int r = fork_orders_put(fd, how, e);
    if (r == 0 && tokens)
        r = fork_orders_put_token(fd, CHILD_SLOT_BRANCH, &kernel->token, e);
    if (r == 0 && tokens && how->renew)
        r = fork_orders_put_token(fd, CHILD_SLOT_PARENT, &parent->renewed, e);
    if (r == 0)
        *ret_fd = fd_take(&fd);
    return r;
}

static int check_forkable(const struct kernel *parent, struct err *e)
{
    if (parent->state != IDLE || !parent->child)
        return err_set(e, -EBUSY, "the kernel is busy");
    if (!parent->config->sandbox)
        return err_set(e, -EDOM, "a kernel without walls cannot be forked (ipybox doctor)");
    if (parent->sandbox.limits.disk > 0)
        return err_set(e, -EDOM, "a kernel with --kernel-disk cannot be forked");
    if (!parent->config->alone && !service_there()) /* names keep nobody out, the password would */
        return err_set(e, -EDOM,
                       "a fork would know the password of the sockets: beside a Kernel Gateway and "
                       "with one uid (--kernel-gateway-port 0 serves none), and below gVisor");
    return 0;
}

int kernel_fork(struct kernel *parent, const struct kernel_branch *how,
                const struct kernel_config *config, const struct kernel_events *events, void *ctx,
                struct kernel **ret, struct err *e)
{
    int r = check_forkable(parent, e);
    if (r < 0)
        return r;
    struct kernel *kernel = new_kernel(config, events, ctx);
    kernel->branch = true;
    drop_fd int orders = -1;
    r = write_orders(parent, kernel, how, &orders, e);
    if (r == 0)
        r = start_all(kernel, parent, orders, e);
    if (r < 0) {
        (void)free_kernel(kernel);
        return r;
    }
    *ret = kernel;
    return 0;
}

void kernel_renew(struct kernel *parent)
{
    if (parent->renewed.text[0])
        token_replace(parent->config->tokens, &parent->token, &parent->renewed);
}

void kernel_sleep(struct kernel *kernel, bool sleep)
{
    kernel->asleep = sleep;
    link_beat(kernel->link, !sleep);
    if (kernel->child)
        (sleep ? child_sleep : child_wake)(kernel->child);
}

void kernel_measure(struct kernel *kernel)
{
    if (kernel->child)
        child_measure(kernel->child);
}

void kernel_rebind(struct kernel *kernel, const struct kernel_events *events, void *ctx,
                   bool finish_first)
{
    kernel->events = events;
    kernel->ctx = ctx;
    kernel->old_cell = finish_first;
}

void kernel_set_owner(struct kernel *kernel, const char *owner)
{
    (void)snprintf(kernel->token.owner, sizeof kernel->token.owner, "%s", owner);
}

/* --- cells ---------------------------------------------------------------------------------- */

int kernel_execute(struct kernel *kernel, struct slice code, enum kernel_code kind, struct err *e)
{
    if (kernel->state != IDLE || !kernel->child)
        return err_set(e, -EBUSY, "the kernel is busy");
    drop_buf struct buf content = BUF_INIT(REQUEST_CODE_MAX);
    struct jupyter_execute x = {.code = code,
                                .store_history = kind != KERNEL_ASIDE,
                                .tell_variables = kind == KERNEL_CELL_TELLING};
    jupyter_put_execute(&content, &x);
    if (content.failed)
        return err_set(e, content.failed, "the cell's code is too long");
    kernel->got_reply = kernel->got_idle = false;
    struct slice text = {content.data, content.len};
    int r = link_send(kernel->link, LINK_SHELL, JUPYTER_EXECUTE_REQUEST, text, kernel->request, e);
    if (r == 0)
        kernel->state = BUSY;
    return r;
}

int kernel_ask(struct kernel *kernel, enum question_kind kind, struct slice content, question_fn fn,
               void *ctx, struct kernel_question **ret, struct err *e)
{
    if (kernel->state == BUSY && kind != QUESTION_VARIABLES)
        return err_set(e, -EBUSY, "a cell runs: the kernel answers when it has ended");
    if ((kernel->state != IDLE && kernel->state != BUSY) || !kernel->child)
        return err_set(e, -EBUSY, "the kernel is not up");
    return question_put(&kernel->questions, kernel->link, kind, content, fn, ctx, ret, e);
}

void kernel_interrupt(struct kernel *kernel)
{
    if (kernel->child)
        child_interrupt(kernel->child);
    /* a coroutine that waits is only reached when its event loop wakes up for something */
    if (kernel->state == BUSY)
        (void)send_empty(kernel, LINK_SHELL, JUPYTER_KERNEL_INFO_REQUEST);
}

const char *kernel_connection(const struct kernel *kernel)
{
    return link_connection_text(kernel->link);
}

int kernel_confine(struct kernel *kernel, const char *settings,
                   void (*done)(void *ctx, const struct err *why), void *ctx, struct err *e)
{
    if ((kernel->state != IDLE && kernel->state != BUSY) || !kernel->child || kernel->confined)
        return err_set(e, -EBUSY, "the kernel's sandbox cannot be changed at this moment");
    struct sandbox_spec spec = kernel->sandbox;
    spec.settings = settings;
    int r = child_confine(kernel->child, &spec, e);
    if (r < 0)
        return r;
    kernel->confined = done;
    kernel->confined_ctx = ctx;
    return 0;
}

void kernel_freeze(struct kernel *kernel)
{
    if (kernel->child)
        child_freeze(kernel->child);
}

void kernel_resume(struct kernel *kernel)
{
    if (kernel->child)
        child_resume(kernel->child);
}

/* --- ending --------------------------------------------------------------------------------- */

struct kernel *kernel_kill(struct kernel *kernel)
{
    return kernel ? free_kernel(kernel) : NULL;
}

static void on_interrupt_given_up(void *ctx)
{
    (void)free_kernel(ctx);
}

/* What the kernel holds is free when its end is told, not when it is killed. */
static void on_retired(void *ctx)
{
    struct kernel *kernel = ctx;
    child_kill(kernel->child);
    loop_timer_set(kernel->config->loop, &kernel->deadline, KILL_MS, on_interrupt_given_up, kernel);
}

struct kernel *kernel_retire(struct kernel *kernel, const struct kernel_leave *leave, void *ctx)
{
    if (!kernel) {
        leave->released(ctx);
        leave->gone(ctx);
        return NULL;
    }
    revoke_tokens(kernel);
    kernel->leave = leave;
    kernel->ctx = ctx;
    bool can_answer = kernel->state == IDLE && !kernel->asleep;
    kernel->state = RETIRING;
    give_up_change(kernel);
    give_up_questions(kernel);
    if (!kernel->child)
        return free_kernel(kernel);
    drop_buf struct buf content = BUF_INIT(256);
    jupyter_put_shutdown(&content, false);
    if (!can_answer || link_send(kernel->link, LINK_CONTROL, JUPYTER_SHUTDOWN_REQUEST,
                                 (struct slice){content.data, content.len}, NULL, NULL) < 0)
        child_kill(kernel->child);
    loop_timer_stop(kernel->config->loop, &kernel->nudge);
    loop_timer_set(kernel->config->loop, &kernel->deadline, KERNEL_RETIRE_MS, on_retired, kernel);
    return NULL;
}

void kernel_look(struct kernel *kernel)
{
    if (kernel->child)
        child_look(kernel->child);
}

void kernel_clean_channels(const char *channels)
{
    drop_service struct service service = service_enter();
    DIR *dir = opendir(channels);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strspn(entry->d_name, "0123456789abcdef") == (size_t)2 * NAME_BYTES)
            (void)unlinkat(dirfd(dir), entry->d_name, 0);
    (void)closedir(dir);
}
