/* SPDX-License-Identifier: Apache-2.0
 *
 * bare_client.c - the least that a Jupyter client can be; limits.sh measures the server beside it.
 *
 *     bare_client IP KEY [PASSWORD] < requests      as in the kernel's connection file; ipc only
 *
 * A request is one line: how often, and the content of an execute_request as JSON. For each time it
 * prints one line: seconds from the request until reply and idle status were read, bytes of stream
 * messages' contents, their number. It signs, as it must, but verifies nothing, parses nothing and
 * keeps nothing: a server that does all of that has to come near it. */
#define _GNU_SOURCE
#include <mbedtls/md.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

enum { SHELL = 1, IOPUB = 2, PARTS = 16, HEX = 64, NUDGE_MS = 50 };

struct message {
    zmq_msg_t parts[PARTS];
    int n, json; /* index of the header */
};

static void *context, *shell, *iopub;
static const char *key;
static char session[32];

static void die(const char *what)
{
    (void)fprintf(stderr, "bare_client: %s\n", what);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const char *password; /* of the kernel's sockets; NULL: they ask for none */

static void *connect_to(const char *ip, int type, int port)
{
    const int one = 1, all = 0;
    char endpoint[256];
    void *s = zmq_socket(context, type);
    (void)zmq_setsockopt(s, ZMQ_LINGER, &all, sizeof all);
    (void)zmq_setsockopt(s, ZMQ_RECONNECT_IVL, &one, sizeof one);
    (void)zmq_setsockopt(s, ZMQ_RCVHWM, &all, sizeof all);
    if (type == ZMQ_SUB)
        (void)zmq_setsockopt(s, ZMQ_SUBSCRIBE, "", 0);
    if (password) {
        (void)zmq_setsockopt(s, ZMQ_PLAIN_USERNAME, "ipybox", 6);
        (void)zmq_setsockopt(s, ZMQ_PLAIN_PASSWORD, password, strlen(password));
    }
    (void)snprintf(endpoint, sizeof endpoint, "ipc://%s-%d", ip, port);
    if (zmq_connect(s, endpoint) < 0)
        die(zmq_strerror(errno));
    return s;
}

static void request(const char *type, const char *content, char id[64])
{
    static int count;
    char header[400], hex[HEX + 1];
    unsigned char digest[32];
    (void)snprintf(id, 64, "%s-%d", session, ++count);
    (void)snprintf(header, sizeof header,
                   "{\"msg_id\":\"%s\",\"session\":\"%s\",\"username\":\"bare\","
                   "\"date\":\"2026-01-01T00:00:00Z\",\"msg_type\":\"%s\",\"version\":\"5.4\"}",
                   id, session, type);
    const char *const json[] = {header, "{}", "{}", content};
    mbedtls_md_context_t md;
    mbedtls_md_init(&md);
    (void)mbedtls_md_setup(&md, mbedtls_md_info_from_type(MBEDTLS_MD_SHA256), 1);
    (void)mbedtls_md_hmac_starts(&md, (const unsigned char *)key, strlen(key));
    for (int i = 0; i < 4; i++)
        (void)mbedtls_md_hmac_update(&md, (const unsigned char *)json[i], strlen(json[i]));
    (void)mbedtls_md_hmac_finish(&md, digest);
    mbedtls_md_free(&md);
    for (int i = 0; i < 32; i++)
        (void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    (void)zmq_send(shell, "<IDS|MSG>", 9, ZMQ_SNDMORE);
    (void)zmq_send(shell, hex, HEX, ZMQ_SNDMORE);
    for (int i = 0; i < 4; i++)
        (void)zmq_send(shell, json[i], strlen(json[i]), i < 3 ? ZMQ_SNDMORE : 0);
}

static bool receive(void *s, struct message *m)
{
    *m = (struct message){.json = -1};
    for (int more = 1; more; m->n++) {
        if (m->n == PARTS)
            die("a message has too many parts");
        zmq_msg_t *part = &m->parts[m->n];
        (void)zmq_msg_init(part);
        if (zmq_msg_recv(part, s, ZMQ_DONTWAIT) < 0)
            return false;
        if (m->json < 0 && zmq_msg_size(part) == 9 &&
            memcmp(zmq_msg_data(part), "<IDS|MSG>", 9) == 0)
            m->json = m->n + 2;
        more = zmq_msg_more(part);
    }
    if (m->json < 0 || m->n < m->json + 4)
        die("a message is none");
    return true;
}

static void drop(struct message *m)
{
    for (int i = 0; i < m->n; i++)
        (void)zmq_msg_close(&m->parts[i]);
}

/* Headers and statuses are short; contents of streams are never searched. */
static bool has(struct message *m, int part, const char *text)
{
    zmq_msg_t *frame = &m->parts[m->json + part];
    return memmem(zmq_msg_data(frame), zmq_msg_size(frame), text, strlen(text)) != NULL;
}

static void wait_for_news(long ms)
{
    zmq_pollitem_t items[] = {{iopub, 0, ZMQ_POLLIN, 0}, {shell, 0, ZMQ_POLLIN, 0}};
    (void)zmq_poll(items, 2, ms);
}

static void come_up(void)
{
    char id[64];
    struct message m;
    for (bool heard = false, answered = false; !heard || !answered;) {
        request("kernel_info_request", "{}", id);
        wait_for_news(NUDGE_MS);
        for (; receive(shell, &m); drop(&m))
            answered = true;
        for (; receive(iopub, &m); drop(&m))
            heard = true;
    }
}

static void run(const char *content)
{
    char id[64];
    struct message m;
    size_t bytes = 0, messages = 0;
    bool replied = false, idle = false;
    double start = now();
    request("execute_request", content, id);
    while (!replied || !idle) {
        wait_for_news(-1);
        for (; receive(iopub, &m); drop(&m)) {
            if (!has(&m, 1, id))
                continue;
            if (has(&m, 0, "\"stream\"")) {
                bytes += zmq_msg_size(&m.parts[m.json + 3]);
                messages++;
            } else if (has(&m, 0, "\"status\"") && has(&m, 3, "idle")) {
                idle = true;
            }
        }
        for (; receive(shell, &m); drop(&m))
            replied = replied || has(&m, 1, id);
    }
    (void)printf("%.9f %zu %zu\n", now() - start, bytes, messages);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 4)
        die("usage: bare_client IP KEY [PASSWORD] < requests");
    key = argv[2];
    password = argv[3];
    (void)snprintf(session, sizeof session, "bare%x", (unsigned)getpid());
    context = zmq_ctx_new();
    shell = connect_to(argv[1], ZMQ_DEALER, SHELL);
    iopub = connect_to(argv[1], ZMQ_SUB, IOPUB);
    come_up();
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, stdin) > 0) {
        char *content = NULL;
        line[strcspn(line, "\n")] = '\0';
        for (long times = strtol(line, &content, 10); times > 0; times--)
            run(content);
    }
    free(line);
    return 0;
}
