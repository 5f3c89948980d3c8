/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>
#include <errno.h>
#include <string.h>

#include "wire/connectrpc.h"

enum { MESSAGE_MAX = 20 };

/* What the frames say, with the bytes in pieces of `step`, and what went wrong. */
static void expect_pieces(const char *bytes, size_t n, const char *expected, size_t step)
{
    struct connect_reader c = CONNECT_READER(MESSAGE_MAX);
    drop_buf struct buf out = BUF_INIT(4096);
    struct connect_frame frame;
    int r = 0;
    for (size_t at = 0; at < n && r >= 0; at += step) {
        const char *piece = bytes + at;
        size_t left = n - at < step ? n - at : step;
        while ((r = connect_next(&c, &piece, &left, &frame)) > 0)
            (void)buf_addf(&out, "%s%.*s;", frame.last ? "end " : "", (int)frame.n, frame.data);
    }
    if (connect_end(&c) < 0)
        (void)buf_addf(&out, "%s", strerror(-connect_end(&c)));
    TEST_CHECK(strcmp(buf_text(&out), expected) == 0);
    TEST_MSG("pieces of %zu: expected %s", step, expected);
    TEST_MSG("actual   %s", buf_text(&out));
    connect_done(&c);
}

#define EXPECT(bytes, expected) expect(bytes, sizeof(bytes) - 1, expected)

static void expect(const char *bytes, size_t n, const char *expected)
{
    for (size_t step = 1; step <= n + 1; step++)
        expect_pieces(bytes, n, expected, step);
}

static void frames_are_read_in_any_pieces(void)
{
    EXPECT("", "");
    EXPECT("\0\0\0\0\2{}", "{};");
    EXPECT("\0\0\0\0\0\0\0\0\0\2{}\2\0\0\0\2{}", ";{};end {};");
}

static void half_frames_and_unknown_flags_are_errors(void)
{
    EXPECT("\0\0", "Broken pipe");
    EXPECT("\0\0\0\0\2{", "Broken pipe");
    EXPECT("\1\0\0\0\2{}", "Protocol error");
    EXPECT("\0\0\0\0\2{}\x80\0\0\0\2{}", "{};Protocol error");
}

static void a_message_over_the_limit_is_refused_by_its_head(void)
{
    EXPECT("\0\0\0\0\x15", strerror(EMSGSIZE)); /* musl and glibc have words of their own */
    EXPECT("\0\xFF\xFF\xFF\xFF", strerror(EMSGSIZE));
    EXPECT("\0\0\0\0\x14"
           "12345678901234567890",
           "12345678901234567890;");
}

static void what_is_written_is_read(void)
{
    drop_buf struct buf out = BUF_INIT(100);
    size_t at;
    connect_begin(&out, &at);
    (void)buf_adds(&out, "{\"a\":1}");
    connect_finish(&out, at, 0);
    connect_begin(&out, &at);
    (void)buf_adds(&out, "{}");
    connect_finish(&out, at, CONNECT_LAST);
    expect(out.data, out.len, "{\"a\":1};end {};");
}

static void errors_have_a_code_and_a_status(void)
{
    drop_buf struct buf out = BUF_INIT(100);
    TEST_CHECK(connect_code_of(ENOENT)->status == 404);
    TEST_CHECK(strcmp(connect_code_of(EINVAL)->name, "invalid_argument") == 0);
    TEST_CHECK(connect_code_of(EIO)->status == 500);
    connect_put_error(&out, connect_code_of(EEXIST)->name, "a \"b\"");
    TEST_CHECK(
        strcmp(buf_text(&out), "{\"code\":\"already_exists\",\"message\":\"a \\\"b\\\"\"}") == 0);
}

TEST_LIST = {
    {"frames_are_read_in_any_pieces", frames_are_read_in_any_pieces},
    {"half_frames_and_unknown_flags_are_errors", half_frames_and_unknown_flags_are_errors},
    {"a_message_over_the_limit_is_refused_by_its_head",
     a_message_over_the_limit_is_refused_by_its_head},
    {"what_is_written_is_read", what_is_written_is_read},
    {"errors_have_a_code_and_a_status", errors_have_a_code_and_a_status},
    {NULL, NULL},
};
