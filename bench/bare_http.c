/* SPDX-License-Identifier: Apache-2.0
 *
 * The least that a server of /livez can be with libmicrohttpd: one thread, the library's own epoll,
 * one answer that is made once. It does not look at the request. See http.sh.
 *
 *     bare_http PORT      until it is killed */
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct MHD_Response *answer;

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *bytes,
                                  size_t *n, void **request)
{
    (void)ctx, (void)url, (void)method, (void)version, (void)bytes, (void)n;
    if (!*request) { /* the head; the end of the request is the next call */
        *request = connection;
        return MHD_YES;
    }
    return MHD_queue_response(connection, MHD_HTTP_OK, answer);
}

int main(int argc, char **argv)
{
    static char body[] = "{\"status\":\"ok\",\"version\":\"0.10.0\"}";
    if (argc != 2)
        return 2;
    answer = MHD_create_response_from_buffer(strlen(body), body, MHD_RESPMEM_PERSISTENT);
    if (!answer || MHD_add_response_header(answer, "Content-Type", "application/json") != MHD_YES ||
        MHD_add_response_header(answer, "Cache-Control", "no-store") != MHD_YES)
        return 1;
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ERROR_LOG,
                         (unsigned short)strtoul(argv[1], NULL, 10), NULL, NULL, on_request, NULL,
                         MHD_OPTION_CONNECTION_LIMIT, 1024U, MHD_OPTION_END);
    if (!daemon)
        return 1;
    (void)puts("ready");
    (void)fflush(stdout);
    for (;;)
        (void)pause();
}
