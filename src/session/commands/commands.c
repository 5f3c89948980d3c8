/* SPDX-License-Identifier: Apache-2.0
 *
 * A command is over when its program has ended and nobody has its output open. Then it stays with
 * its `end` until COMMANDS_ENDED_MS are over or COMMANDS_ENDED_MAX others have ended; whoever reads
 * it was told and is let go. It has a child until nothing is left of what it started; that is what
 * counts for COMMANDS_MAX, and no command is freed before. */
#include "session/commands/commands.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/list.h"
#include "sandbox/shim/spawn.h"
#include "session/commands/command_words.h"

enum { KEPT_HEAD = 1 + sizeof(uint32_t), CODE_MAX = 1 << 20 };

struct command {
    struct command *prev, *next;
    struct commands *owner;
    struct child *child; /* NULL: nothing is left of it */
    bool over, old;
    pid_t pid; /* 0: it has not started yet */
    char *program, *cwd, *tag;
    struct json *args, *envs;
    bool input, terminal, timed_out, killed;
    struct command_reader *readers;
    struct buf kept;  /* records: the stream, the length, the bytes */
    struct buf typed; /* that it did not take yet */
    bool input_ends;  /* behind what was typed */
    int64_t begun_ms;
    char request_id[LOG_REQUEST_MAX + 1];
    struct command_end end; /* its texts are owned */
    struct loop_timer timer;
};

struct commands {
    struct commands_config config;
    struct loop *loop;
    struct command *first; /* the newest */
    size_t running, ended;
    bool stopping;
};

/* --- the end ---------------------------------------------------------------------------------- */

static void free_command(struct command *c)
{
    struct commands *all = c->owner;
    list_remove(&all->first, c);
    *(c->child ? &all->running : &all->ended) -= 1;
    loop_timer_stop(all->loop, &c->timer);
    c->child = child_end(c->child);
    buf_done(&c->kept);
    buf_done(&c->typed);
    (void)json_free(c->args);
    (void)json_free(c->envs);
    xfree((void *)(size_t)c->end.limit);
    xfree((void *)(size_t)c->end.why);
    xfree(c->program);
    xfree(c->cwd);
    xfree(c->tag);
    xfree(c);
}

static void let_reader_go(struct command_reader *reader)
{
    loop_defer_stop(reader->command->owner->loop, &reader->tell);
    list_remove(&reader->command->readers, reader);
    reader->command = NULL;
}

static void on_command_old(void *ctx)
{
    struct command *c = ctx;
    c->old = true;
    if (!c->child)
        free_command(c);
}

static void drop_oldest_command(struct commands *all)
{
    struct command *oldest = NULL;
    for (struct command *c = all->first; c; c = c->next)
        oldest = c->child || !c->over || c->readers ? oldest : c;
    if (oldest)
        free_command(oldest);
}

/* Those that have had all that came before. The others are told by their own deferred call. */
static void notify_command_ended(struct command *c)
{
    for (struct command_reader *reader = c->readers, *next; reader; reader = next) {
        next = reader->next;
        if (!reader->told && c->pid > 0)
            continue;
        let_reader_go(reader);
        reader->events->ended(reader->ctx, &c->end);
    }
}

static const char *command_outcome(const struct command_end *end)
{
    if (end->why)
        return "refused";
    if (end->timed_out)
        return "timeout";
    return end->signal || end->limit ? "killed" : end->code == 0 ? "ok" : "error";
}

static void audit_end(const struct command *c)
{
    (void)audit_add(c->owner->config.config->audit,
                    &(struct audit_event){.kind = AUDIT_COMMAND_END,
                                          .request_id = c->request_id,
                                          .session = c->owner->config.config->id,
                                          .outcome = command_outcome(&c->end),
                                          .timed = true,
                                          .ms = clock_ms() - c->begun_ms});
}

static void end_command(struct command *c)
{
    c->over = true;
    buf_done(&c->typed);
    audit_end(c);
    loop_timer_set(c->owner->loop, &c->timer, COMMANDS_ENDED_MS, on_command_old, c);
    notify_command_ended(c);
    if (c->owner->ended > COMMANDS_ENDED_MAX)
        drop_oldest_command(c->owner);
}

/* Nothing is left of it. */
static void count_ended(struct command *c)
{
    c->child = NULL;
    c->owner->running--;
    c->owner->ended++;
}

static void on_command_gone(void *ctx)
{
    struct command *c = ctx;
    struct commands *all = c->owner;
    count_ended(c);
    if (c->old)
        free_command(c);
    else if (all->ended > COMMANDS_ENDED_MAX)
        drop_oldest_command(all);
}

static void on_command_ended(void *ctx, const struct child_exit *how, const struct err *why)
{
    struct command *c = ctx;
    if (!how || !how->left)
        count_ended(c);
    if (c->over) { /* its time was over before */
        if (c->old && !c->child)
            free_command(c);
        return;
    }
    c->end = (struct command_end){.code = how ? how->code : -1,
                                  .signal = how ? how->signal : 0,
                                  .limit = how ? xstrdup(how->limit) : NULL,
                                  .why = how ? NULL : xstrdup(why->msg),
                                  .error = how ? 0 : why->code,
                                  .timed_out = c->timed_out};
    end_command(c);
}

/* Settings that cannot hold for what runs end it. */
static void on_command_confined(void *ctx, const struct err *why)
{
    const struct command *c = ctx;
    if (why)
        child_kill(c->child);
}

static void on_command_timeout(void *ctx)
{
    struct command *c = ctx;
    c->timed_out = true;
    if (!child_has_exited(c->child)) {
        child_kill(c->child);
        return;
    }
    c->end = (struct command_end){.timed_out = true};
    end_command(c);
}

/* --- output ----------------------------------------------------------------------------------- */

static void keep_output(struct command *c, enum command_stream stream, const char *bytes, size_t n)
{
    uint32_t length;
    if (n > COMMANDS_KEPT_MAX - KEPT_HEAD) {
        bytes += n - (COMMANDS_KEPT_MAX - KEPT_HEAD);
        n = COMMANDS_KEPT_MAX - KEPT_HEAD;
    }
    while (c->kept.len + KEPT_HEAD + n > COMMANDS_KEPT_MAX) {
        memcpy(&length, c->kept.data + 1, sizeof length);
        buf_cut_front(&c->kept, KEPT_HEAD + length);
    }
    length = (uint32_t)n;
    (void)buf_addc(&c->kept, (char)stream);
    (void)buf_add(&c->kept, &length, sizeof length);
    (void)buf_add(&c->kept, bytes, n);
}

static bool anybody_behind(const struct command *c)
{
    for (const struct command_reader *reader = c->readers; reader; reader = reader->next)
        if (reader->behind)
            return true;
    return false;
}

/* The report of a start may come after the first output: what is written before it waits in the
 * pipe, as what is kept for late readers has a limit. */
static void pace(const struct command *c)
{
    bool not_told_yet = c->pid == 0 && c->readers;
    if (c->child)
        child_pause(c->child, not_told_yet || anybody_behind(c));
}

static void put_command_output(struct command *c, enum command_stream stream, const char *bytes,
                               size_t n)
{
    bool given = c->over; /* what it left writes for nobody */
    for (struct command_reader *reader = c->readers, *next; reader; reader = next) {
        next = reader->next;
        if (!reader->told || c->over)
            continue;
        given = true;
        reader->behind |= !reader->events->output(reader->ctx, stream, bytes, n);
    }
    if (!given)
        keep_output(c, stream, bytes, n);
    pace(c);
}

static void on_command_output(void *ctx, const char *bytes, size_t n)
{
    struct command *c = ctx;
    put_command_output(c, c->terminal ? COMMAND_TERMINAL : COMMAND_STDOUT, bytes, n);
}

static void on_command_errors(void *ctx, const char *bytes, size_t n)
{
    put_command_output(ctx, COMMAND_STDERR, bytes, n);
}

/* --- readers ---------------------------------------------------------------------------------- */

static void give_kept(struct command *c, struct command_reader *reader)
{
    struct buf kept = c->kept;
    uint32_t length;
    c->kept = BUF_INIT(COMMANDS_KEPT_MAX);
    for (size_t at = 0; reader->command && at < kept.len; at += KEPT_HEAD + length) {
        const char *record = kept.data + at;
        memcpy(&length, record + 1, sizeof length);
        reader->behind |= !reader->events->output(reader->ctx, (enum command_stream)record[0],
                                                  record + KEPT_HEAD, length);
    }
    buf_done(&kept);
}

static void tell_reader(void *ctx)
{
    struct command_reader *reader = ctx;
    struct command *c = reader->command;
    if (c->pid == 0 && !c->over)
        return; /* on_command_started() comes here again */
    reader->told = true;
    if (c->pid > 0)
        reader->events->started(reader->ctx, c->pid);
    if (reader->command)
        give_kept(c, reader);
    if (reader->command && c->over) {
        let_reader_go(reader);
        reader->events->ended(reader->ctx, &c->end);
    }
    pace(c);
}

static void on_command_started(void *ctx, pid_t pid)
{
    struct command *c = ctx;
    c->pid = pid;
    for (struct command_reader *reader = c->readers, *next; reader; reader = next) {
        next = reader->next;
        tell_reader(reader);
    }
}

void command_follow(struct command *c, const struct command_events *events, void *ctx,
                    struct command_reader *reader)
{
    *reader = (struct command_reader){.command = c, .events = events, .ctx = ctx};
    list_push(&c->readers, reader);
    if (c->pid > 0 || c->over)
        loop_defer(c->owner->loop, &reader->tell, tell_reader, reader);
}

void command_unfollow(struct command_reader *reader)
{
    const struct command *c = reader->command;
    if (!c)
        return;
    let_reader_go(reader);
    pace(c);
}

void command_continue(struct command_reader *reader)
{
    reader->behind = false;
    if (reader->command)
        pace(reader->command);
}

/* --- input ------------------------------------------------------------------------------------ */

static void type_on(void *ctx)
{
    struct command *c = ctx;
    while (c->typed.len > 0) {
        ssize_t n = child_write(c->child, c->typed.data, c->typed.len);
        if (n == -EAGAIN)
            return;
        if (n < 0) {
            buf_clear(&c->typed);
            return;
        }
        buf_cut_front(&c->typed, (size_t)n);
    }
    if (c->input_ends)
        child_close_input(c->child);
}

int command_type(struct command *c, const char *bytes, size_t n)
{
    if (c->over)
        return -ESRCH;
    if ((!c->input && !c->terminal) || c->input_ends)
        return -EPIPE;
    if (n > COMMANDS_INPUT_MAX - c->typed.len || buf_add(&c->typed, bytes, n) < 0)
        return -EAGAIN;
    type_on(c);
    return 0;
}

int command_close_input(struct command *c)
{
    if (c->over)
        return -ESRCH;
    if (c->terminal)
        return -ENOTTY;
    c->input_ends = true;
    type_on(c);
    return 0;
}

int command_resize(struct command *c, unsigned short columns, unsigned short rows)
{
    if (c->over)
        return -ESRCH;
    return child_resize(c->child, &(struct child_size){.columns = columns, .rows = rows});
}

int command_kill(struct command *c, bool at_once)
{
    if (!c->child || c->killed)
        return -ESRCH;
    c->killed = at_once;
    if (at_once)
        child_kill(c->child);
    else
        child_terminate(c->child);
    return 0;
}

int command_interrupt(struct command *c)
{
    if (!c->child)
        return -ESRCH;
    child_interrupt(c->child);
    return 0;
}

/* --- a start ---------------------------------------------------------------------------------- */

/* The words as one text, of which the log has the digest. */
static void audit_begin(const struct command *c, const struct command_words *words)
{
    drop_buf struct buf code = BUF_INIT(CODE_MAX);
    for (size_t i = 0; words->argv[i]; i++)
        (void)buf_addf(&code, "%s%s", i ? " " : "", words->argv[i]);
    (void)audit_add(c->owner->config.config->audit,
                    &(struct audit_event){.kind = AUDIT_COMMAND,
                                          .request_id = c->request_id,
                                          .session = c->owner->config.config->id,
                                          .code = buf_text(&code),
                                          .code_len = code.len});
}

static struct json *copy_given(const struct json *value)
{
    drop_str char *text = value ? json_print(value) : NULL;
    return text ? json_parse_copy(text, strlen(text), JSON_STRICT, NULL) : NULL;
}

static struct command *new_command(struct commands *all, const struct command_spec *spec)
{
    const char *cwd = spec->cwd && *spec->cwd ? spec->cwd : all->config.cwd;
    struct command *c = NEW(struct command);
    *c = (struct command){.owner = all,
                          .program = xstrdup(spec->program),
                          .cwd =
                              *cwd == '/' ? xstrdup(cwd) : xasprintf("%s/%s", all->config.cwd, cwd),
                          .tag = xstrdup(spec->tag),
                          .args = copy_given(spec->args),
                          .envs = copy_given(spec->envs),
                          .input = spec->input,
                          .terminal = spec->terminal,
                          .kept = BUF_INIT(COMMANDS_KEPT_MAX),
                          .typed = BUF_INIT(COMMANDS_INPUT_MAX),
                          .begun_ms = clock_ms()};
    (void)snprintf(c->request_id, sizeof c->request_id, "%s", log_request() ? log_request() : "");
    return c;
}

static int start_program(struct command *c, const struct command_spec *spec,
                         const struct command_words *words, struct err *e)
{
    static const struct child_events events = {.started = on_command_started,
                                               .output = on_command_output,
                                               .errors = on_command_errors,
                                               .writable = type_on,
                                               .confined = on_command_confined,
                                               .ended = on_command_ended,
                                               .gone = on_command_gone};
    const struct kernel_config *kernel = &c->owner->config.config->kernel;
    const struct child_size size = {.columns = spec->columns, .rows = spec->rows};
    const struct child_spec child = {.argv = words->argv,
                                     .envp = words->envp,
                                     .cwd = c->cwd,
                                     .program = true,
                                     .piped = true,
                                     .terminal = spec->terminal ? &size : NULL,
                                     .sandbox = kernel->sandbox};
    int r = child_start(kernel->spawner, &child, &events, c, &c->child, e);
    if (r == 0 && !spec->input && !spec->terminal)
        child_close_input(c->child);
    return r;
}

static int check_start(const struct commands *all, struct err *e)
{
    if (all->stopping)
        return err_set(e, -ESHUTDOWN, "the server is stopping");
    if (all->running >= COMMANDS_MAX)
        return err_set(e, -EAGAIN, "%d commands run in this session, which is the limit",
                       COMMANDS_MAX);
    return audit_check(all->config.config->audit, e);
}

int command_start(struct commands *all, const struct command_spec *spec,
                  const struct command_events *events, void *ctx, struct command_reader *reader,
                  struct err *e)
{
    struct command_words words = {0};
    int r = check_start(all, e);
    if (r == 0)
        r = command_words_make(spec, all->config.config->kernel.envp, all->config.env, &words, e);
    if (r < 0)
        return r;
    struct command *c = new_command(all, spec);
    list_push(&all->first, c);
    audit_begin(c, &words);
    r = start_program(c, spec, &words, e);
    command_words_done(&words);
    if (r < 0) {
        c->over = true;
        all->ended++; /* as free_command() counts one without a child */
        c->end = (struct command_end){.why = xstrdup("it could not be started"), .error = r};
        audit_end(c);
        free_command(c);
        return r;
    }
    all->running++;
    if (spec->timeout_ms > 0)
        loop_timer_set(all->loop, &c->timer, spec->timeout_ms, on_command_timeout, c);
    command_follow(c, events, ctx, reader);
    return 0;
}

/* --- all of them ------------------------------------------------------------------------------ */

struct command *commands_find(const struct commands *all, pid_t pid)
{
    struct command *c = all->first;
    while (c && (c->pid == 0 || c->pid != pid))
        c = c->next;
    return c;
}

struct command *commands_find_tag(const struct commands *all, const char *tag)
{
    struct command *c = all->first;
    while (c && !(c->tag && strcmp(c->tag, tag) == 0))
        c = c->next;
    return c;
}

struct command *commands_next(const struct commands *all, const struct command *at)
{
    struct command *c = at ? at->next : all->first;
    while (c && (c->over || c->pid == 0))
        c = c->next;
    return c;
}

void command_look(const struct command *c, struct command_view *ret)
{
    *ret = (struct command_view){.pid = c->pid,
                                 .program = c->program,
                                 .cwd = c->cwd,
                                 .tag = c->tag,
                                 .args = c->args,
                                 .envs = c->envs,
                                 .running = !c->over,
                                 .input = c->input,
                                 .terminal = c->terminal};
}

size_t commands_running(const struct commands *all)
{
    return all->running;
}

struct commands *commands_open(const struct commands_config *config)
{
    struct commands *all = NEW(struct commands);
    *all = (struct commands){.config = *config, .loop = config->config->kernel.loop};
    return all;
}

void commands_stop(struct commands *all)
{
    all->stopping = true;
    for (struct command *c = all->first; c; c = c->next) {
        if (!c->child)
            continue;
        child_terminate(c->child);
        child_resume(c->child); /* what is paused hears of it only then */
    }
}

void commands_pause(struct commands *all, bool pause)
{
    for (struct command *c = all->first; c; c = c->next)
        if (c->child)
            (pause ? child_freeze : child_resume)(c->child);
}

/* What has not started yet would begin behind the old settings. */
void commands_confine(struct commands *all)
{
    const struct sandbox_spec *walls = all->config.config->kernel.sandbox;
    for (struct command *c = all->first; c; c = c->next) {
        if (!c->child)
            continue;
        if (c->pid == 0 || !walls || child_confine(c->child, walls, NULL) < 0)
            child_kill(c->child);
    }
}

struct commands *commands_close(struct commands *all)
{
    if (!all)
        return NULL;
    while (all->first) {
        struct command *c = all->first;
        if (!c->over) {
            c->end = (struct command_end){
                .code = -1, .why = xstrdup("the session has ended"), .error = -ESHUTDOWN};
            audit_end(c);
        }
        while (c->readers) {
            struct command_reader *reader = c->readers;
            let_reader_go(reader);
            reader->events->ended(reader->ctx, &c->end);
        }
        free_command(c);
    }
    xfree(all);
    return NULL;
}
