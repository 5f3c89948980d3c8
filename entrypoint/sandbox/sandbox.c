/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/sandbox/sandbox.h"

#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/process/exec.h"
#include "base/service.h"
#include "entrypoint/options.h"
#include "entrypoint/sandbox/confined.h"
#include "entrypoint/sandbox/sandbox_place.h"
#include "sandbox/proc/proctree.h"

enum {
    FAILED_STATUS = 1,
    NOT_RUNNABLE_STATUS = 126,
    NOT_FOUND_STATUS = 127,
    SIGNAL_STATUS = 128,
    COMMAND_MAX = 1 << 20, /* bytes of words that are joined */
    EXPLAIN_MAX = 1 << 20,
};

struct sandbox_request {
    bool as_srt, debug;
    const char *settings_file; /* NULL: the default */
    const char *check;         /* a file to explain instead; NULL: none */
    const char *text;          /* for bash -c; NULL: words */
    char **words;              /* end with NULL */
    enum sandbox_level least;
    /* made from these */
    struct buf joined;
    char *settings, cwd[PATH_MAX];
    struct sandbox_spec spec;
    struct guard *guard;
    struct net_proxies proxies;
    struct words variables;
    sigset_t mask;
    int signals;
    pid_t pid;
};

#define SAYS "ipybox sandbox: "
#define SRT_ERROR "Error: "
#define SRT_DEBUG "[SandboxDebug] "

static void say_sandbox(const char *who, const char *fmt, ...) PRINTF(2, 3);
static void say_sandbox(const char *who, const char *fmt, ...)
{
    char line[1200];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    (void)dprintf(STDERR_FILENO, "%s%s\n", who, line);
}

static const char *for_errors(const struct sandbox_request *q)
{
    return q->as_srt ? SRT_ERROR : SAYS;
}

static const char *for_debugging(const struct sandbox_request *q)
{
    return q->as_srt ? SRT_DEBUG : SAYS;
}

/* --- words ----------------------------------------------------------------------------------- */

static const char usage[] =
    "Usage: ipybox sandbox [OPTION]... [--] COMMAND [ARGUMENT]...\n"
    "       ipybox sandbox [OPTION]... -c TEXT\n"
    "       srt [OPTION]... COMMAND [ARGUMENT]...     joined by blanks, for bash\n\n"
    "  -s, --settings FILE    settings in the form of srt; without it those of ipybox --sandbox,\n"
    "                         as srt ~/.srt-settings.json, or no writes and no network\n"
    "  -c TEXT                a command for bash\n"
    "  -d, --debug            tell what is refused on standard error\n"
    "  --min LEVEL            least isolation: full (the default), landlock or none;\n"
    "                         also IPYBOX_SANDBOX_MIN\n"
    "  --check-config FILE    tell what these settings mean here, and run nothing\n"
    "  -h, --help\n";

static int set_least(struct sandbox_request *q, const char *name)
{
    int level = sandbox_level_of(name);
    if (level < 0)
        return level;
    q->least = (enum sandbox_level)level;
    return 0;
}

struct word { /* an option that takes a value */
    const char *name, *other;
    size_t field;
};

static const struct word valued[] = {
    {"-s", "--settings", offsetof(struct sandbox_request, settings_file)},
    {"-c", NULL, offsetof(struct sandbox_request, text)},
    {NULL, "--check-config", offsetof(struct sandbox_request, check)},
};

static bool is_word(const char *word, const char *name, const char *other)
{
    return (name && strcmp(word, name) == 0) || (other && strcmp(word, other) == 0);
}

/* How many words the option at argv[0] took; 0: it is none; negative: it cannot be understood. */
static int take_option(struct sandbox_request *q, int argc, char **argv)
{
    if (is_word(argv[0], "-d", "--debug")) {
        q->debug = true;
        return 1;
    }
    if (is_word(argv[0], NULL, "--min"))
        return argc > 1 && set_least(q, argv[1]) == 0 ? 2 : -EINVAL;
    for (size_t i = 0; i < sizeof valued / sizeof *valued; i++) {
        if (!is_word(argv[0], valued[i].name, valued[i].other))
            continue;
        if (argc < 2)
            return -EINVAL;
        *(const char **)(void *)((char *)q + valued[i].field) = argv[1];
        return 2;
    }
    return argv[0][0] == '-' && argv[0][1] ? -EINVAL : 0;
}

static int parse_sandbox_options(struct sandbox_request *q, int argc, char **argv)
{
    const char *least = getenv("IPYBOX_SANDBOX_MIN");
    int at = 0, r = 1;
    q->least = SANDBOX_FULL;
    if (least && *least && set_least(q, least) < 0)
        return -EINVAL;
    while (at < argc && strcmp(argv[at], "--") != 0 && r > 0) {
        r = take_option(q, argc - at, argv + at);
        at += r > 0 ? r : 0;
    }
    if (r < 0)
        return r;
    if (at < argc && strcmp(argv[at], "--") == 0)
        at++;
    q->words = argv + at;
    bool words = at < argc;
    if (q->check || words != (q->text != NULL))
        return 0;
    return !words ? -ENODATA : q->as_srt ? 0 : -EINVAL; /* to srt, -c goes before words */
}

/* srt hands its words to a shell as one text. */
static int join_words(struct sandbox_request *q, struct err *e)
{
    if (!q->as_srt || q->check)
        return 0;
    if (q->text) {
        if (q->debug)
            say_sandbox(SRT_DEBUG, "Command string mode (-c): %s", q->text);
        return 0;
    }
    q->joined = BUF_INIT(COMMAND_MAX);
    for (char **word = q->words; *word; word++) {
        if (word != q->words)
            (void)buf_addc(&q->joined, ' ');
        (void)buf_adds(&q->joined, *word);
    }
    q->text = buf_text(&q->joined);
    if (q->debug)
        say_sandbox(SRT_DEBUG, "Original command: %s", q->text);
    return q->joined.failed ? err_set(e, -E2BIG, "the command is too long") : 0;
}

/* --- settings -------------------------------------------------------------------------------- */

/* What srt does without settings. */
static const char srt_default[] =
    "{\"network\":{\"allowedDomains\":[],\"deniedDomains\":[]},"
    "\"filesystem\":{\"denyRead\":[],\"allowWrite\":[],\"denyWrite\":[]}}";

static int read_sandbox_settings(struct sandbox_request *q, struct err *e)
{
    const char *file = q->check ? q->check : q->settings_file;
    drop_str char *home_file = xasprintf("%s/.srt-settings.json", sandbox_home());
    if (!file && q->as_srt && may_access(home_file, F_OK))
        file = home_file;
    if (file)
        return sandbox_settings_read(file, &q->settings, e);
    q->settings = xstrdup(q->as_srt ? srt_default : sandbox_settings_default);
    return 0;
}

static int find_level(struct sandbox_request *q, struct buf *text, struct err *e)
{
    struct sandbox_probe probe;
    sandbox_probe(&probe);
    sandbox_probe_text(&probe, text);
    q->spec.level = probe.level;
    if (!q->check && (probe.level < q->least || probe.filter_errno))
        return err_set(e, -ENOTSUP, "isolation of the level %s is needed (--min): %s",
                       sandbox_level_name(q->least), buf_text(text));
    return 0;
}

/* Programs under srt know it by how changes of files are refused, and by its proxies. Where the
 * settings name proxies there are no others. */
static int prepare_srt(struct sandbox_request *q, struct err *e)
{
    const struct policy *policy = guard_policy(q->guard);
    uint16_t http = 0, socks = 0;
    guard_set_write_error(q->guard, EROFS);
    policy_proxy_ports(policy, &http, &socks);
    if (q->spec.level < SANDBOX_FULL || !policy_has_network(policy) || http || socks)
        return 0;
    int r = net_proxies_listen(&q->proxies, e);
    if (r == 0)
        guard_set_proxies(q->guard, &q->proxies);
    return r;
}

static int prepare_sandbox(struct sandbox_request *q, struct buf *level, struct err *e)
{
    if (!getcwd(q->cwd, sizeof q->cwd))
        return err_set(e, -errno, "the working directory: %s", strerror(errno));
    int r = join_words(q, e);
    if (r == 0)
        r = read_sandbox_settings(q, e);
    if (r == 0)
        r = find_level(q, level, e);
    if (r < 0)
        return r;
    q->spec.settings = q->settings;
    q->spec.cwd = q->cwd;
    q->spec.home = sandbox_home();
    r = guard_open(&q->spec, &q->guard, e);
    if (r == 0 && q->as_srt && !q->check)
        r = prepare_srt(q, e);
    const struct net_proxies *proxies = q->proxies.http_port ? &q->proxies : NULL;
    if (r == 0)
        sandbox_variables(guard_policy(q->guard), proxies, &q->variables);
    const char *preload = r == 0 && !getenv("LD_PRELOAD") ? sandbox_preload(q->guard) : NULL;
    if (preload) {
        drop_str char *variable = xasprintf("LD_PRELOAD=%s", preload);
        words_add(&q->variables, variable);
    }
    return r;
}

static int explain_refusal(const struct sandbox_request *q, const struct buf *level)
{
    drop_buf struct buf text = BUF_INIT(EXPLAIN_MAX);
    policy_explain(guard_policy(q->guard), &text);
    (void)buf_addf(&text, "%s\n", buf_text(level));
    return !text.failed && fd_write(STDOUT_FILENO, buf_text(&text), text.len) == 0 ? 0
                                                                                   : FAILED_STATUS;
}

/* --- the command ----------------------------------------------------------------------------- */

/* In the child, behind the walls. */
static int run_command(void *ctx)
{
    struct sandbox_request *q = ctx;
    char *shell[] = {(char[]){"bash"}, (char[]){"-c"}, (char *)(uintptr_t)q->text, NULL};
    char **words = q->text ? shell : q->words;
    for (size_t i = 0; i < q->variables.count; i++)
        (void)putenv(q->variables.items[i]);
    int code = -exec_with_all(words[0], words);
    say_sandbox(for_errors(q), "%s: %s", words[0], strerror(code));
    return code == ENOENT ? NOT_FOUND_STATUS : NOT_RUNNABLE_STATUS;
}

static void on_sandbox_refused(void *ctx, const struct refusal *refusal)
{
    const struct sandbox_request *q = ctx;
    if (q->debug)
        say_sandbox(for_debugging(q), "refused pid=%d call=%s path=%s", (int)refusal->pid,
                    refusal->call, refusal->what ? refusal->what : "");
}

static void fill_sandbox_signals(sigset_t *set)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigfillset(set);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(set, faults[i]);
}

static int start_sandboxed(struct sandbox_request *q, struct err *e)
{
    sigset_t blocked;
    fill_sandbox_signals(&blocked);
    if (sigprocmask(SIG_SETMASK, &blocked, &q->mask) < 0)
        return err_set(e, -errno, "sigprocmask: %s", strerror(errno));
    (void)signal(SIGCHLD, SIG_DFL);
    q->signals = signalfd(-1, &blocked, SFD_CLOEXEC);
    if (q->signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return err_set(e, -errno, "signalfd: %s", strerror(errno));
    const struct confined confined = {.guard = q->guard,
                                      .run = run_command,
                                      .ctx = q,
                                      .refused = on_sandbox_refused,
                                      .mask = &q->mask};
    return confined_start(&confined, &q->pid, e);
}

/* The command was stopped by its terminal: so are we, and whoever waits for us sees it. */
static void stop_too(const struct sandbox_request *q)
{
    (void)kill(getpid(), SIGSTOP);
    (void)kill(q->pid, SIGCONT);
}

/* Reaps what has ended. True: the command is among them. */
static bool reap_sandboxed(const struct sandbox_request *q, int *ret_status)
{
    int status;
    bool ended = false;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG | WUNTRACED | __WALL)) > 0;) {
        if (pid != q->pid)
            continue;
        if (WIFSTOPPED(status)) {
            stop_too(q);
            continue;
        }
        *ret_status = status;
        ended = true;
    }
    return ended;
}

/* A terminal's signals come from the kernel and have reached the command already. */
static void pass_on(const struct sandbox_request *q, const struct signalfd_siginfo *info)
{
    if (info->ssi_code != SI_KERNEL && info->ssi_signo != SIGCHLD)
        (void)kill(q->pid, (int)info->ssi_signo);
}

static int supervise_sandboxed(const struct sandbox_request *q)
{
    int status = 0;
    struct signalfd_siginfo info;
    while (!reap_sandboxed(q, &status)) {
        if (read(q->signals, &info, sizeof info) == (ssize_t)sizeof info)
            pass_on(q, &info);
    }
    (void)proctree_end(0);
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    if (!q->as_srt)
        return SIGNAL_STATUS + WTERMSIG(status);
    say_sandbox("", "Process killed by signal: %d", WTERMSIG(status));
    return FAILED_STATUS;
}

bool sandbox_is_srt(const char *program)
{
    const char *slash = strrchr(program, '/');
    return strcmp(slash ? slash + 1 : program, "srt") == 0;
}

static int act_on_event(struct sandbox_request *q)
{
    drop_buf struct buf level = BUF_INIT(4096);
    struct err e = ERR_NONE;
    int r = prepare_sandbox(q, &level, &e);
    if (r == 0 && q->check)
        return explain_refusal(q, &level);
    if (r == 0 && q->debug)
        say_sandbox(for_debugging(q), "%s", buf_text(&level));
    if (r == 0)
        r = start_sandboxed(q, &e);
    if (r == 0)
        return supervise_sandboxed(q);
    say_sandbox(for_errors(q), "%s", e.msg);
    return FAILED_STATUS;
}

int sandbox_main(bool as_srt, int argc, char **argv)
{
    static struct sandbox_request q; /* the broker's threads know its guard to the end */
    const char *debug = getenv("SRT_DEBUG");
    q = (struct sandbox_request){
        .as_srt = as_srt, .debug = as_srt && debug && *debug, .signals = -1};
    if (argc > 0 && is_word(argv[0], "-h", "--help"))
        return fd_write(STDOUT_FILENO, usage, sizeof usage - 1) == 0 ? 0 : FAILED_STATUS;
    int r = parse_sandbox_options(&q, argc, argv);
    if (r == -ENODATA && as_srt) {
        say_sandbox(SRT_ERROR,
                    "No command specified. Use -c <command> or provide command arguments.");
        return FAILED_STATUS;
    }
    if (r < 0) {
        (void)dprintf(STDERR_FILENO, "%s", usage);
        return OPTIONS_USAGE_STATUS;
    }
    return act_on_event(&q);
}
