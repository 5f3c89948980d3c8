/* SPDX-License-Identifier: Apache-2.0
 *
 * What the audit log has of changes to the workspace over HTTP. */
#include "unit/front/filestest.h"

#include "unit/audittest.h"

#define ID "X-Request-Id: req-1\r\n"

static void open_all(void)
{
    open_audit();
    open_it();
    api_files_tell(api.files, audit);
}

static void close_all(void)
{
    close_it();
    close_audit();
}

static void post_it(const char *target, const char *body)
{
    send_to("POST", target, ID "Content-Type: application/json\r\n", body, strlen(body));
}

static void changes_are_told_and_what_only_reads_or_fails_is_not(void)
{
    open_all();
    send_to("PUT", "/v1/files/a.txt", ID, "hello", 5);
    check_head("HTTP/1.1 201 ");
    get("/v1/files/a.txt", ID);
    post_it("/v1/files/d", "{\"action\":\"make_folder\"}");
    post_it("/v1/files/d", "{\"action\":\"make_folder\"}");
    check_head("HTTP/1.1 409 ");
    post_it("/v1/files/a.txt", "{\"action\":\"move\",\"to\":\"d/b.txt\"}");
    check_head("HTTP/1.1 200 ");
    send_to("DELETE", "/v1/files/none", ID, "", 0);
    check_head("HTTP/1.1 404 ");
    send_to("DELETE", "/v1/files/d", ID, "", 0);
    check_head("HTTP/1.1 409 ");
    send_to("PUT", "/v1/files/d/c.txt", ID "If-Match: \"x\"\r\n", "hello", 5);
    check_head("HTTP/1.1 412 ");
    send_to("DELETE", "/v1/files/d?recursive=true", ID, "", 0);
    check_head("HTTP/1.1 204 ");
    check_trail("start\n"
                "file_written request_id=req-1 path=a.txt bytes=5\n"
                "folder_made request_id=req-1 path=d\n"
                "file_moved request_id=req-1 path=a.txt to=d/b.txt\n"
                "file_deleted request_id=req-1 path=d\n");
    close_all();
}

static void an_archive_is_told_with_its_files_and_bytes(void)
{
    open_all();
    drop_buf struct buf tar = BUF_INIT(1 << 20);
    add_member(&tar, '0', "x", "12345");
    add_member(&tar, '0', "y", "678");
    tar_put_end(&tar);
    send_to("PUT", "/v1/tar/in?parents=true", ID, tar.data, tar.len);
    check_head("HTTP/1.1 200 ");
    send_to("PUT", "/v1/tar/in", ID, tar.data, 1024); /* it ends after the first file */
    check_head("HTTP/1.1 4");
    check_trail("start\n"
                "archive_unpacked request_id=req-1 outcome=ok path=in files=2 bytes=8\n"
                "archive_unpacked request_id=req-1 outcome=partial path=in files=1 bytes=5\n");
    close_all();
}

static void what_cannot_be_told_is_not_done(void)
{
    static const char *const bodies[] = {"{\"action\":\"make_folder\"}", "x"};
    open_all();
    TEST_CHECK(truncate(audit_file, 1) == 0);
    send_to("PUT", "/v1/files/a.txt", ID, "hello", 5);
    check_problem(503, "the audit log was changed from outside");
    post_it("/v1/files/d", bodies[0]);
    check_head("HTTP/1.1 503 ");
    send_to("PUT", "/v1/tar", ID, bodies[1], 1);
    check_head("HTTP/1.1 503 ");
    send_to("DELETE", "/v1/files/a.txt", ID, "", 0);
    check_head("HTTP/1.1 503 ");
    get("/v1/files/a.txt", ID);
    check_head("HTTP/1.1 404 ");
    close_all();
}

TEST_LIST = {
    {"changes are told, and what only reads or fails is not",
     changes_are_told_and_what_only_reads_or_fails_is_not},
    {"an archive is told with its files and bytes", an_archive_is_told_with_its_files_and_bytes},
    {"what cannot be told is not done", what_cannot_be_told_is_not_done},
    {NULL, NULL},
};
