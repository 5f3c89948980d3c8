/* SPDX-License-Identifier: Apache-2.0
 *
 * /metrics: the server's numbers in the text format of Prometheus 0.0.4. There is no label that
 * names a session, a user or a tool, so their number does not grow. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "front/api.h"
#include "front/api/api_internal.h"
#include "front/api/api_metrics.h"
#include "session/events/metrics.h"

enum { METRICS_TEXT_MAX = 64 << 10, FILE_TEXT_MAX = 256 };

static void put_metric_head(struct buf *out, const char *name, const char *type, const char *help)
{
    (void)buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_one(struct buf *out, const char *name, const char *type, const char *help,
                    uint64_t value)
{
    put_metric_head(out, name, type, help);
    (void)buf_addf(out, "%s %llu\n", name, (unsigned long long)value);
}

static void put_metric_table(struct buf *out, const char *name, const char *help, const char *label,
                             const char *const *names, const uint64_t *values, size_t n)
{
    put_metric_head(out, name, "counter", help);
    for (size_t i = 0; i < n; i++)
        (void)buf_addf(out, "%s{%s=\"%s\"} %llu\n", name, label, names[i],
                       (unsigned long long)values[i]);
}

static void put_durations(struct buf *out, const char *name, const char *help,
                          const struct metrics_durations *d)
{
    uint64_t count = 0;
    put_metric_head(out, name, "histogram", help);
    for (size_t i = 0; i < METRICS_BUCKETS; i++) {
        count += d->buckets[i];
        (void)buf_addf(out, "%s_bucket{le=\"%g\"} %llu\n", name,
                       (double)metrics_bounds_ms[i] / 1000, (unsigned long long)count);
    }
    count += d->buckets[METRICS_BUCKETS];
    (void)buf_addf(out, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.3f\n%s_count %llu\n", name,
                   (unsigned long long)count, name, (double)d->ms / 1000, name,
                   (unsigned long long)count);
}

/* Of these the server hears from the kernel, where code can make up what it likes: they stand
 * apart from what the server has seen itself. */
static void put_external(struct buf *out, const struct metrics *m)
{
    static const enum cell_status ends[] = {CELL_OK, CELL_ERROR, CELL_LOST};
    const char *names[sizeof ends / sizeof *ends];
    uint64_t counts[sizeof ends / sizeof *ends];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        names[i] = cell_status_names[ends[i]];
        counts[i] = m->external[ends[i]];
    }
    put_metric_table(out, "ipybox_gateway_cells_total",
                     "Cells of the kernel gateway's clients that have ended, as kernels tell it.",
                     "status", names, counts, sizeof ends / sizeof *ends);
    put_durations(out, "ipybox_gateway_cell_duration_seconds", "How long those cells ran.",
                  &m->external_durations);
}

static void put_counters(struct buf *out, const struct metrics *m)
{
    static const char *const restarts[METRICS_RESTARTS] = {"reset", "lost", "unresponsive", "idle",
                                                           "rewind"};
    static const char *const verdicts[METRICS_VERDICTS] = {"accepted", "rejected", "expired",
                                                           "failed"};
    static const char *const calls[METRICS_OUTCOMES] = {"ok", "error", "rejected", "expired"};
    put_metric_table(out, "ipybox_cells_total", "Cells that have ended, by how.", "status",
                     cell_status_names, m->cells, METRICS_STATUSES);
    put_durations(out, "ipybox_cell_duration_seconds", "How long cells ran.", &m->durations);
    put_external(out, m);
    put_one(out, "ipybox_kernels_started_total", "counter", "Kernels that sessions were given.",
            m->kernels);
    put_metric_table(out, "ipybox_kernel_restarts_total", "Kernels that were replaced, by why.",
                     "reason", restarts, m->restarts, METRICS_RESTARTS);
    put_one(out, "ipybox_output_bytes_total", "counter", "Text that cells printed.",
            m->output_bytes);
    put_metric_table(out, "ipybox_approvals_total", "Decisions about tool calls.", "verdict",
                     verdicts, m->verdicts, METRICS_VERDICTS);
    put_metric_table(out, "ipybox_tool_calls_total", "Tool calls of code, by outcome.", "outcome",
                     calls, m->calls, METRICS_OUTCOMES);
}

/* The number that is the `field`th word of a small file; 0: there is none. */
static uint64_t read_proc_number(const char *path, int field)
{
    char text[FILE_TEXT_MAX + 1];
    drop_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, FILE_TEXT_MAX);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    const char *at = text;
    while (field-- > 0)
        at += strcspn(at, " ") + 1 > strlen(at) ? strlen(at) : strcspn(at, " ") + 1;
    char *end;
    unsigned long long value = strtoull(at, &end, 10);
    return end > at ? value : 0;
}

static void put_gauges(struct buf *out, const struct api *api)
{
    const struct api_config *c = api->config;
    struct sessions_view view;
    struct approval_view waiting;
    size_t at = 0, cells = 0, running = 0, kernels = 0, asked = 0;
    while (sessions_next(c->sessions, &at, &view)) {
        bool ready;
        cells += session_waiting(view.session);
        running += session_cell(view.session) > 0;
        kernels += session_kernel(view.session, &ready) != NULL;
    }
    for (at = 0; approvals_next(c->approvals, &at, &waiting);)
        asked++;
    put_one(out, "ipybox_sessions", "gauge", "Sessions.", sessions_count(c->sessions));
    put_one(out, "ipybox_kernels", "gauge", "Kernels of sessions.", kernels);
    put_one(out, "ipybox_cells_waiting", "gauge", "Cells that run or wait.", cells);
    put_one(out, "ipybox_cells_running", "gauge", "Cells that run.", running);
    put_one(out, "ipybox_approvals_pending", "gauge", "Questions without an answer.", asked);
    put_one(out, "ipybox_http_open_requests", "gauge", "Requests that are being served.",
            http_busy(api->http));
}

static size_t count_descriptors(void)
{
    size_t n = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir))
        n++;
    if (dir)
        (void)closedir(dir);
    return n > 3 ? n - 3 : 0; /* ".", ".." and that of this folder */
}

/* The names that Prometheus' own clients use. */
static void put_process(struct buf *out)
{
    struct rusage used = {0};
    (void)getrusage(RUSAGE_SELF, &used);
    put_metric_head(out, "process_cpu_seconds_total", "counter", "CPU time of the server itself.");
    (void)buf_addf(out, "process_cpu_seconds_total %.2f\n",
                   (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6);
    put_one(out, "process_open_fds", "gauge", "Descriptors of the server.", count_descriptors());
    put_one(out, "process_resident_memory_bytes", "gauge", "Memory of the server itself.",
            read_proc_number("/proc/self/statm", 1) * (uint64_t)sysconf(_SC_PAGESIZE));
    uint64_t container = read_proc_number("/sys/fs/cgroup/memory.current", 0);
    if (container == 0) /* cgroup v1 */
        container = read_proc_number("/sys/fs/cgroup/memory/memory.usage_in_bytes", 0);
    if (container > 0)
        put_one(out, "ipybox_container_memory_bytes", "gauge",
                "Memory of the container, kernels and caches among it.", container);
}

static void put_traffic(struct buf *out, const struct http *http)
{
    uint64_t received = 0, sent = 0;
    http_traffic(http, &received, &sent);
    put_one(out, "ipybox_http_received_bytes_total", "counter", "Bodies of requests.", received);
    put_one(out, "ipybox_http_sent_bytes_total", "counter", "Bodies of answers.", sent);
}

static void put_audit_metrics(struct buf *out, const struct audit *audit)
{
    struct audit_numbers numbers;
    enum audit_state state = audit_state(audit, &numbers);
    if (state == AUDIT_OFF)
        return;
    put_metric_head(out, "ipybox_audit_state", "gauge", "1: how the audit log is.");
    for (size_t i = AUDIT_WRITTEN; i < AUDIT_STATES; i++)
        (void)buf_addf(out, "ipybox_audit_state{state=\"%s\"} %d\n", audit_state_names[i],
                       state == (enum audit_state)i);
    put_one(out, "ipybox_audit_left_out_total", "counter",
            "Events that have no record each, because a session made too many.", numbers.left_out);
    put_one(out, "ipybox_audit_outside_total", "counter",
            "Records that are in the log for want of room.", numbers.outside);
}

/* Processor time says what the loop did; the other also how busy the machine was. */
static void put_turns(struct buf *out, const struct loop_turns *t)
{
    static const char *const clocks[] = {"cpu", "wall"};
    const int64_t longest[] = {t->max_cpu_ns, t->max_wall_ns};
    const uint64_t longs[] = {t->long_cpu, t->long_wall};
    put_one(out, "ipybox_loop_turns_total", "counter", "Turns of the event loop.", t->turns);
    put_metric_table(out, "ipybox_loop_long_turns_total", "Turns that took more than 20 ms.",
                     "clock", clocks, longs, 2);
    put_metric_head(out, "ipybox_loop_turn_seconds_max", "gauge",
                    "The longest turn since the start.");
    for (size_t i = 0; i < 2; i++)
        (void)buf_addf(out, "ipybox_loop_turn_seconds_max{clock=\"%s\"} %.6f\n", clocks[i],
                       (double)longest[i] / 1e9);
}

static void put_build(struct buf *out, const char *version)
{
    put_metric_head(out, "ipybox_build_info", "gauge", "The version.");
    (void)buf_addf(out, "ipybox_build_info{version=\"%s\"} 1\n", version);
}

static void put_identity_metrics(struct buf *out, const struct api_config *c)
{
    put_one(out, "ipybox_server_uid_apart", "gauge",
            "1: the server has a uid for itself, beside that of kernels.", c->uid != c->kernel_uid);
}

static void put_sandbox_metrics(struct buf *out, const struct api_config *c)
{
    if (!c->sandbox_level)
        return;
    put_metric_head(out, "ipybox_sandbox_level", "gauge",
                    "The isolation that this machine grants.");
    (void)buf_addf(out, "ipybox_sandbox_level{level=\"%s\"} 1\n", c->sandbox_level);
    put_one(out, "ipybox_sandbox_kernels", "gauge", "1: kernels run in a sandbox.", c->sandboxed);
    put_one(out, "ipybox_sandbox_refusals_total", "counter", "Calls that sandboxes refused.",
            c->metrics->refusals);
}

void api_metrics_get(void *ctx, struct http_request *r)
{
    static const struct http_header type = {"Content-Type",
                                            "text/plain; version=0.0.4; charset=utf-8"};
    struct api *api = ctx;
    drop_buf struct buf out = BUF_INIT(METRICS_TEXT_MAX);
    put_build(&out, api->config->version);
    put_one(&out, "ipybox_http_requests_total", "counter", "Requests that were let in.",
            api_requests(api));
    put_counters(&out, api->config->metrics);
    put_traffic(&out, api->http);
    put_gauges(&out, api);
    put_audit_metrics(&out, api->config->audit);
    put_turns(&out, loop_turns(api->config->loop));
    put_process(&out);
    put_identity_metrics(&out, api->config);
    put_sandbox_metrics(&out, api->config);
    http_answer(r, 200, &type, 1, buf_text(&out), out.len);
}
