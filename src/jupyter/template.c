/* SPDX-License-Identifier: Apache-2.0 */
#include "jupyter/template.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json/json.h"
#include "base/json/jsonw.h"
#include "base/list.h"
#include "base/unixsock.h"
#include "jupyter/link.h"

enum {
    FIRST_DELAY_MS = 500,
    LAST_DELAY_MS = 60000,
    REQUEST_MAX =
        128 * 1024, /* a packet of a Unix socket; an environment over it starts the slow way */
    PACKET_MAX = 64 * 1024,
    PATH_BYTES = 4096,
    PACKAGES_MAX = 8,
};

enum { CONTROL, OUTPUT, GIVEN, SPEC = GIVEN + LINK_FDS, FDS_MAX };
_Static_assert(FDS_MAX <= UNIXSOCK_FDS_MAX && LINK_FDS <= CHILD_FDS_MAX, "all fit");

struct fork_request { /* waits for the template to come up */
    struct fork_request *next;
    int fds[FDS_MAX]; /* as they are sent; without a sandbox the last is not */
    size_t fd_count;
    struct buf text;
};

enum template_state { AWAY, STARTING, READY };

struct template {
    const struct template_config *config;
    enum template_state state;
    int socket;
    struct loop_io *io;
    struct loop_timer timer; /* AWAY: the next start; STARTING: its deadline */
    int64_t delay;
    int64_t ready_ms; /* when it came up */
    pid_t pid;
    int64_t requests;
    size_t resident; /* when it was ready */
    /* Directories whose times change when packages are installed; the first is the users', of which
     * nothing is in the template. */
    char *packages[PACKAGES_MAX];
    size_t package_count;
    uint64_t installed;           /* of these times but the first: when it was started */
    uint64_t seen;                /* of all, when they were last asked for */
    struct fork_request *waiting; /* in the order of their coming */
    char program[PATH_BYTES];
};

/* --- requests ------------------------------------------------------------------------------- */

static void free_fork_request(struct fork_request *request)
{
    for (size_t i = 0; i < FDS_MAX; i++)
        (void)fd_close(request->fds[i]);
    buf_done(&request->text);
    xfree(request);
}

/* Closing a request's descriptors tells the one who waits for its child. */
static void drop_waiting_forks(struct template *t)
{
    while (t->waiting) {
        struct fork_request *request = t->waiting;
        t->waiting = request->next;
        free_fork_request(request);
    }
}

static int send_fork_request(struct template *t, const struct fork_request *request)
{
    return unixsock_send(t->socket, request->text.data, request->text.len, request->fds,
                         request->fd_count, MSG_DONTWAIT);
}

static void put_fork_words(struct jsonw *w, const char *name, const char *const *words)
{
    jsonw_set_array(w, name);
    for (; *words; words++)
        jsonw_text(w, *words);
    jsonw_end(w);
}

static void put_environment(struct jsonw *w, const char *const *envp)
{
    jsonw_set_object(w, "env");
    for (; *envp; envp++) {
        const char *equals = strchr(*envp, '=');
        drop_str char *name = xstrndup(*envp, (size_t)(equals - *envp));
        jsonw_set_text(w, name, equals + 1);
    }
    jsonw_end(w);
}

/* Descriptors are named by their index into what is sent along. */
static void put_fd(struct jsonw *w, int number, int index)
{
    char name[12];
    (void)snprintf(name, sizeof name, "%d", number);
    jsonw_set_int(w, name, index);
}

static void put_middle(struct template *t, bool sandboxed, struct jsonw *w)
{
    static const char *const nothing[] = {NULL};
    const char *const shim[] = {t->program,  "shim", "3",         "--adopt", "{pid}",
                                "--sandbox", "4",    "--confine", "5",       NULL};
    const char *const plain[] = {t->program, "shim", "3", "--adopt", "{pid}", NULL};
    jsonw_set_object(w, "middle");
    put_fork_words(w, "argv", sandboxed ? shim : plain);
    put_environment(w, nothing);
    jsonw_set_object(w, "fds");
    put_fd(w, 3, CONTROL);
    if (sandboxed)
        put_fd(w, 4, SPEC);
    jsonw_end(w);
    if (sandboxed)
        jsonw_set_int(w, "confine", 5);
    jsonw_end(w);
}

static int make_request(struct template *t, const struct template_kernel *kernel, struct buf *text)
{
    const char *const argv[] = {"-f", kernel->connection_file, NULL};
    struct jsonw w = JSONW(text);
    jsonw_object(&w);
    jsonw_set_int(&w, "id", ++t->requests);
    jsonw_set_object(&w, "kernel");
    put_fork_words(&w, "argv", argv);
    jsonw_set_text(&w, "connection_file", kernel->connection_file);
    jsonw_set_text(&w, "cwd", kernel->cwd);
    put_environment(&w, kernel->envp);
    jsonw_set_object(&w, "fds");
    put_fd(&w, 1, OUTPUT);
    put_fd(&w, 2, OUTPUT);
    for (int i = 0; i < LINK_FDS; i++)
        put_fd(&w, CHILD_FIRST_FD + i, GIVEN + i);
    jsonw_end(&w);
    jsonw_end(&w);
    put_middle(t, kernel->sandbox != NULL, &w);
    jsonw_end(&w);
    return text->failed;
}

/* Beside the two of child_adopt(). What the kernel is given are copies: a request may wait for
 * longer than its kernel. */
static int add_fds(struct fork_request *request, const struct template_kernel *kernel,
                   struct err *e)
{
    for (int i = 0; i < LINK_FDS; i++) {
        request->fds[GIVEN + i] = fcntl(kernel->fds[i], F_DUPFD_CLOEXEC, 0);
        if (request->fds[GIVEN + i] < 0)
            return err_set(e, -errno, "descriptor %d: %s", kernel->fds[i], strerror(errno));
    }
    request->fd_count = SPEC;
    if (!kernel->sandbox)
        return 0;
    int r = sandbox_spec_write(kernel->sandbox, &request->fds[SPEC], e);
    request->fd_count += r == 0;
    return r;
}

int template_fork(struct template *t, const struct template_kernel *kernel,
                  const struct child_events *events, void *ctx, struct child **ret, struct err *e)
{
    struct fork_request *request = NEW(struct fork_request);
    for (int i = 0; i < FDS_MAX; i++)
        request->fds[i] = -1;
    request->text = BUF_INIT(REQUEST_MAX);
    int r = make_request(t, kernel, &request->text);
    if (r < 0)
        (void)err_set(e, r, "the environment is too large for the kernel template");
    if (r == 0)
        r = add_fds(request, kernel, e);
    struct child *child = NULL;
    struct child_ends ends = {-1, -1};
    if (r == 0)
        r = child_adopt(t->config->spawner, events, ctx, &ends, &child, e);
    request->fds[CONTROL] = ends.control;
    request->fds[OUTPUT] = ends.output;
    if (r == 0 && t->state == READY) {
        r = send_fork_request(t, request);
        if (r < 0) {
            (void)child_end(child);
            (void)err_set(e, r, "ask the kernel template: %s", strerror(-r));
        }
    } else if (r == 0) {
        chain_append(&t->waiting, request);
        request = NULL;
    }
    if (request)
        free_fork_request(request);
    if (r == 0)
        *ret = child;
    return r;
}

/* --- the process ---------------------------------------------------------------------------- */

static void start_template(void *ctx);

/* Once it is ready, the end of its input is enough, and what it has forked is its own. Before that
 * it imports, which may hang, and looks at no input. */
static void stop_process(struct template *t)
{
    t->io = loop_io_del(t->io);
    t->socket = fd_close(t->socket);
    loop_timer_stop(t->config->loop, &t->timer);
    if (t->state == STARTING)
        helper_kill(t->config->spawner);
    t->state = AWAY;
}

/* One that comes up and ends at once is as bad as one that does not come up. */
static void fail_template(struct template *t, const char *why)
{
    char text[400];
    if (t->state == READY && loop_now(t->config->loop) - t->ready_ms >= LAST_DELAY_MS)
        t->delay = FIRST_DELAY_MS;
    stop_process(t);
    drop_waiting_forks(t);
    (void)snprintf(
        text, sizeof text,
        "the kernel template %s; kernels start without it, and it is tried again in %lld "
        "ms",
        why, (long long)t->delay);
    t->config->log(LOG_WARNING, text);
    loop_timer_set(t->config->loop, &t->timer, t->delay, start_template, t);
    t->delay = t->delay * 2 < LAST_DELAY_MS ? t->delay * 2 : LAST_DELAY_MS;
}

static size_t resident_bytes(pid_t pid)
{
    char path[40];
    (void)snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "re");
    long size = 0, resident = 0;
    if (file) {
        if (fscanf(file, "%ld %ld", &size, &resident) != 2)
            resident = 0;
        (void)fclose(file);
    }
    return (size_t)resident * (size_t)sysconf(_SC_PAGESIZE);
}

static void forget_packages(struct template *t)
{
    while (t->package_count > 0)
        xfree(t->packages[--t->package_count]);
}

static uint64_t package_stamp(const struct template *t, size_t first)
{
    uint64_t stamp = 0;
    struct stat st;
    for (size_t i = first; i < t->package_count; i++) {
        if (stat(t->packages[i], &st) == 0)
            stamp = stamp * 31 + (uint64_t)st.st_mtim.tv_sec * 1000000000 +
                    (uint64_t)st.st_mtim.tv_nsec;
    }
    return stamp;
}

static void note_packages(struct template *t, const struct json *list)
{
    forget_packages(t);
    for (const struct json *path = json_first(list); path; path = json_next(path)) {
        if (json_text(path) && t->package_count < PACKAGES_MAX)
            t->packages[t->package_count++] = xstrdup(json_text(path));
    }
    t->installed = package_stamp(t, 1);
    t->seen = package_stamp(t, 0);
}

bool template_packages_changed(struct template *t)
{
    uint64_t stamp = package_stamp(t, 0);
    bool changed = t->state == READY && stamp != t->seen;
    t->seen = stamp;
    return changed;
}

static void become_template_ready(struct template *t)
{
    loop_timer_stop(t->config->loop, &t->timer);
    t->state = READY;
    t->ready_ms = loop_now(t->config->loop);
    t->resident = resident_bytes(t->pid);
    struct fork_request *waiting = t->waiting, *next;
    t->waiting = NULL;
    for (; waiting; waiting = next) {
        next = waiting->next;
        (void)send_fork_request(t, waiting); /* a failure closes its descriptors, which is told */
        free_fork_request(waiting);
    }
}

/* A kernel that could not be forked is told by its closed descriptors; here is why. */
static void log_failures(struct template *t, const struct json *packet)
{
    const char *error = json_get_text(packet, "error");
    if (error)
        t->config->log(LOG_WARNING, error);
    for (const struct json *m = json_first(json_get(packet, "failed")); m; m = json_next(m)) {
        drop_str char *text =
            xasprintf("IPYBOX_PRELOAD: %s: %s", json_name(m), json_text(m) ? json_text(m) : "?");
        t->config->log(LOG_WARNING, text);
    }
}

static void on_packet(void *ctx, unsigned events)
{
    (void)events;
    struct template *t = ctx;
    static char text[PACKET_MAX];
    ssize_t n = recv(t->socket, text, sizeof text, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        fail_template(t, "ended");
        return;
    }
    drop_json struct json *packet = json_parse(text, (size_t)n, JSON_REPAIR, NULL);
    if (t->state == STARTING && json_true(json_get(packet, "ready"))) {
        note_packages(t, json_get(packet, "packages"));
        become_template_ready(t);
    }
    log_failures(t, packet);
}

static void on_late(void *ctx)
{
    fail_template(ctx, "did not come up in time");
}

static int start_template_process(struct template *t, struct err *e)
{
    const char *forks = t->config->forks;
    const char *argv[] = {t->config->python,        "-I",       "-m",
                          "ipybox_kernel.template", "--socket", "3",
                          forks ? "--forks" : NULL, forks,      NULL};
    struct child_spec spec = {.argv = argv, .envp = t->config->envp, .cwd = t->config->cwd};
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return err_set(e, -errno, "socketpair: %s", strerror(errno));
    t->socket = sockets[0];
    drop_fd int theirs = sockets[1];
    int r = helper_start(t->config->spawner, &spec, theirs, &t->pid, e);
    if (r == 0)
        r = loop_io_add(t->config->loop, t->socket, LOOP_IN, on_packet, t, &t->io, e);
    return r;
}

static void start_template(void *ctx)
{
    struct template *t = ctx;
    struct err e = ERR_NONE;
    if (start_template_process(t, &e) < 0) {
        fail_template(t, e.msg);
        return;
    }
    t->state = STARTING;
    loop_timer_set(t->config->loop, &t->timer, TEMPLATE_START_MS, on_late, t);
}

/* --- opening and closing -------------------------------------------------------------------- */

struct template *template_open(const struct template_config *config)
{
    struct template *t = NEW(struct template);
    t->config = config;
    t->socket = -1;
    t->delay = FIRST_DELAY_MS;
    if (readlink("/proc/self/exe", t->program, sizeof t->program - 1) < 0) {
        config->log(LOG_WARNING, "no /proc/self/exe: kernels start without a template");
        return t;
    }
    start_template(t);
    return t;
}

struct template *template_close(struct template *t)
{
    if (!t)
        return NULL;
    stop_process(t);
    drop_waiting_forks(t);
    forget_packages(t);
    xfree(t);
    return NULL;
}

bool template_usable(struct template *t)
{
    bool grown = t->state == READY && resident_bytes(t->pid) > t->resident + TEMPLATE_GROWTH_MAX;
    bool stale = t->state == READY && package_stamp(t, 1) != t->installed;
    if (!grown && !stale)
        return t->state != AWAY;
    t->config->log(LOG_INFO, grown
                                 ? "the kernel template has grown; it is started anew"
                                 : "packages were installed; the kernel template is started anew");
    stop_process(t);
    drop_waiting_forks(t);
    start_template(t);
    return false; /* do not let a kernel wait for that */
}
