/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "base/buf.h"
#include "wire/multipart.h"

#define TYPE "multipart/form-data; boundary=XX"
#define PART(head) "--XX\r\nContent-Disposition: form-data; " head "\r\n\r\n"

static int on_begin(void *ctx, const char *name, const char *filename)
{
    return buf_addf(ctx, "<%s|%s>", name, filename ? filename : "-");
}

static int on_content(void *ctx, const char *bytes, size_t n)
{
    return buf_add(ctx, bytes, n);
}

static int on_end(void *ctx)
{
    return buf_addc(ctx, ';');
}

static const struct multipart_events events = {on_begin, on_content, on_end};

static void expect_pieces(const char *body, const char *expected, size_t step)
{
    struct multipart *m = NULL;
    drop_buf struct buf out = BUF_INIT(8192);
    size_t n = strlen(body);
    int r = multipart_open(TYPE, &events, &out, &m);
    for (size_t at = 0; at < n && r == 0; at += step)
        r = multipart_feed(m, body + at, n - at < step ? n - at : step);
    if (r == 0)
        r = multipart_end(m);
    if (r < 0)
        (void)buf_addf(&out, "%s", strerror(-r));
    TEST_CHECK(strcmp(buf_text(&out), expected) == 0);
    TEST_MSG("pieces of %zu: expected %s", step, expected);
    TEST_MSG("actual   %s", buf_text(&out));
    (void)multipart_close(m);
}

static void expect(const char *body, const char *expected)
{
    for (size_t step = 1; step <= strlen(body); step += step < 20 ? 1 : 20)
        expect_pieces(body, expected, step);
}

static void parts_are_handed_on_in_any_pieces(void)
{
    expect(PART("name=\"file\"; filename=\"/home/user/a b\"") "hello\r\n--XX--\r\n",
           "<file|/home/user/a b>hello;");
    expect("preamble\r\n" PART("name=a") "1\r\n" PART("filename=x; name=b") "\r\n--XX-- ",
           "<a|->1;<b|x>;");
    expect(PART("name=a") "\r\r\n\r\n-\r\n--X\r\n--XY\r\n--XX--\r\nepilogue",
           "<a|->\r\r\n\r\n-\r\n--X\r\n--XY;");
}

static void escaped_names_are_put_back(void)
{
    expect(PART("name=\"a%22b\"; filename=\"c\\\\d%0Ae\\\"\"") "\r\n--XX--", "<a\"b|c\\d\ne\">;");
    expect(PART("name=a; filename=\"\"") "\r\n--XX--", "<a|>;");
    expect(PART("name=a; filename=\"x; name=b\"") "\r\n--XX--", "<a|x; name=b>;");
}

static void bodies_of_another_form_are_errors(void)
{
    expect("--XX\r\n", "Bad message");
    expect("nothing", "Bad message");
    expect("--XXY", "Bad message");
    expect("--XX\r\n\r\nno head\r\n--XX--", "Bad message");
    expect("--XX\r\nContent-Type: a/b\r\n\r\n\r\n--XX--", "Bad message");
    expect(PART("filename=a") "\r\n--XX--", "Bad message");
    expect(PART("name=\"a") "\r\n--XX--", "Bad message");
    expect("--XX\r\nContent-Disposition: attachment; name=a\r\n\r\n\r\n--XX--", "Bad message");
    expect(PART("name=a") "half", "<a|->halfBad message");
}

static void limits_hold(void)
{
    struct multipart *m = NULL;
    drop_buf struct buf out = BUF_INIT(1 << 20), body = BUF_INIT(1 << 20);
    for (int i = 0; i <= MULTIPART_PARTS_MAX; i++)
        (void)buf_adds(&body, i ? "\r\n" PART("name=a") : PART("name=a"));
    TEST_ASSERT(multipart_open(TYPE, &events, &out, &m) == 0);
    TEST_CHECK(multipart_feed(m, body.data, body.len) == -EMSGSIZE);
    TEST_CHECK(multipart_feed(m, "x", 1) == -EMSGSIZE);
    m = multipart_close(m);
    TEST_ASSERT(multipart_open(TYPE, &events, &out, &m) == 0);
    buf_clear(&body);
    (void)buf_adds(&body, "--XX\r\nX: ");
    for (int i = 0; i < MULTIPART_HEAD_MAX; i++)
        (void)buf_addc(&body, 'x');
    TEST_CHECK(multipart_feed(m, body.data, body.len) == -EMSGSIZE);
    (void)multipart_close(m);
}

static void only_its_own_type_is_taken(void)
{
    static const char *const bad[] = {
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/mixed; boundary=XX",
        "multipart/form-datax; boundary=XX",
        "application/json",
        "multipart/form-data; boundary=\"XX",
    };
    struct multipart *m = NULL;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        TEST_CHECK(multipart_open(bad[i], &events, NULL, &m) == -EINVAL);
        TEST_MSG("%s", bad[i]);
    }
    TEST_CHECK(multipart_open("Multipart/Form-Data ; charset=x; Boundary=\"a b\"", &events, NULL,
                              &m) == 0);
    (void)multipart_close(m);
}

TEST_LIST = {
    {"parts_are_handed_on_in_any_pieces", parts_are_handed_on_in_any_pieces},
    {"escaped_names_are_put_back", escaped_names_are_put_back},
    {"bodies_of_another_form_are_errors", bodies_of_another_form_are_errors},
    {"limits_hold", limits_hold},
    {"only_its_own_type_is_taken", only_its_own_type_is_taken},
    {NULL, NULL},
};
