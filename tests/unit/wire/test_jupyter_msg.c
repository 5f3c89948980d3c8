/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "base/hmac.h"
#include "wire/jupyter_msg.h"

struct frame {
    const char *data;
    size_t len;
};
#define FRAME(literal) {literal, sizeof(literal) - 1}

struct golden {
    const char *type;
    size_t count;
    struct frame frames[10];
};

#include "golden/jupyter_msg/session.inc"

#define GOLDEN_COUNT (sizeof golden_messages / sizeof *golden_messages)

/* --- messages to be received: frames in blocks of exactly their size --- */

enum { MOST = JUPYTER_FRAMES_MAX + 10 };

struct message {
    struct slice frames[MOST];
    size_t n;
};

static void add(struct message *m, const char *data, size_t len)
{
    char *copy = xcalloc(1, len ? len : 1);
    memcpy(copy, data, len);
    m->frames[m->n++] = (struct slice){copy, len};
}

static void adds(struct message *m, const char *text)
{
    add(m, text, strlen(text));
}

static void message_done(struct message *m)
{
    for (size_t i = 0; i < m->n; i++)
        xfree(m->frames[i].data);
    m->n = 0;
}
#define drop_message __attribute__((cleanup(message_done)))

/* Signs the four frames behind `at` with the golden key and puts the result into frame `at`. */
static void resign(struct message *m, size_t at)
{
    struct hmac *h = hmac_new(golden_key, strlen(golden_key));
    unsigned char digest[HMAC_BYTES];
    hmac_begin(h);
    for (size_t i = at + 1; i <= at + 4; i++)
        hmac_add(h, m->frames[i].data, m->frames[i].len);
    hmac_end(h, digest);
    (void)hmac_free(h);
    xfree(m->frames[at].data);
    m->frames[at] = (struct slice){xcalloc(1, HMAC_HEX + 1), HMAC_HEX};
    hmac_hex(digest, m->frames[at].data);
}

/* <IDS|MSG> signature and the four parts. */
static struct message build(const char *header, const char *parent, const char *metadata,
                            const char *content)
{
    struct message m = {0};
    adds(&m, "<IDS|MSG>");
    adds(&m, "");
    adds(&m, header);
    adds(&m, parent);
    adds(&m, metadata);
    adds(&m, content);
    resign(&m, 1);
    return m;
}

#define HEADER "{\"msg_id\":\"a\",\"msg_type\":\"status\"}"

static struct message from_golden(const struct golden *g)
{
    struct message m = {0};
    for (size_t i = 0; i < g->count; i++)
        add(&m, g->frames[i].data, g->frames[i].len);
    return m;
}

static struct jupyter_key *golden_key_new(void)
{
    return jupyter_key_new(golden_key, strlen(golden_key));
}

/* Decodes with a key that has seen nothing. */
static int decode(struct message *m, struct jupyter_msg *ret, struct err *e)
{
    struct jupyter_key *key = golden_key_new();
    int r = jupyter_msg_decode(m->frames, m->n, key, ret, e);
    (void)jupyter_key_free(key);
    return r;
}

/* --- decoding --- */

static void messages_of_jupyter_client_are_read(void)
{
    struct jupyter_key *key = golden_key_new();
    for (size_t i = 0; i < GOLDEN_COUNT; i++) {
        const struct golden *g = &golden_messages[i];
        TEST_CASE(g->type);
        drop_message struct message in = from_golden(g);
        struct jupyter_msg m;
        struct err e = ERR_NONE;
        int r = jupyter_msg_decode(in.frames, in.n, key, &m, &e);
        TEST_ASSERT_(r == 0, "%s", e.msg);
        TEST_CHECK(strcmp(m.type_name, g->type) == 0);
        TEST_CHECK(strcmp(jupyter_type_name(m.type), g->type) == 0);
        TEST_CHECK(strncmp(m.msg_id, "kernel-session_", 15) == 0);
        TEST_CHECK(strcmp(m.parent_id, golden_parent_id) == 0);
        TEST_CHECK(strcmp(json_get_text(m.header, "username"), "kernel") == 0);
        TEST_CHECK(strcmp(json_get_text(m.parent, "msg_type"), "execute_request") == 0);
        TEST_CHECK(m.content_error == 0 && json_is_object(m.content));
        TEST_CHECK(json_count(m.metadata) == 0 && json_is_object(m.metadata));
        jupyter_msg_done(&m);
        TEST_CHECK(m.content == NULL && m.trees[0] == NULL);
    }
    (void)jupyter_key_free(key);
}

static void the_parts_of_a_message_are_lent_out(void)
{
    drop_message struct message in = from_golden(&golden_messages[3]);
    struct jupyter_msg m;
    TEST_ASSERT(decode(&in, &m, NULL) == 0);
    TEST_CHECK(m.identity_count == 1 && m.identities[0].data == in.frames[0].data);
    TEST_CHECK(m.buffer_count == 3 && m.buffers[0].data == in.frames[7].data);
    TEST_CHECK(m.buffers[1].len == 0);
    TEST_CHECK(memcmp(m.buffers[2].data, "<IDS|MSG>", 9) == 0);
    jupyter_msg_done(&m);
}

static void text_of_a_stream_keeps_nul_and_loses_only_bad_bytes(void)
{
    drop_message struct message in = from_golden(&golden_messages[1]);
    struct jupyter_msg m;
    TEST_ASSERT(decode(&in, &m, NULL) == 0);
    const char *text = json_get_text(m.content, "text");
    TEST_CHECK(strcmp(text, "\u00e9\xC0\x80\u2028\U0001f600\n?") == 0);
    jupyter_msg_done(&m);
}

static void an_unknown_type_keeps_its_name(void)
{
    drop_message struct message in =
        build("{\"msg_id\":\"a\",\"msg_type\":\"debug_event\"}", "{}", "{}", "{}");
    struct jupyter_msg m;
    TEST_ASSERT(decode(&in, &m, NULL) == 0);
    TEST_CHECK(m.type == JUPYTER_OTHER && strcmp(m.type_name, "debug_event") == 0);
    TEST_CHECK(strcmp(m.parent_id, "") == 0);
    TEST_CHECK(m.identity_count == 0 && m.buffer_count == 0);
    jupyter_msg_done(&m);
}

static void a_message_changed_at_any_byte_is_refused(void)
{
    const struct golden *g = &golden_messages[2];
    struct jupyter_key *key = golden_key_new();
    for (size_t f = 1; f < g->count; f++) {
        for (size_t i = 0; i < g->frames[f].len; i++) {
            drop_message struct message in = from_golden(g);
            in.frames[f].data[i] ^= 1;
            struct jupyter_msg m;
            struct err e = ERR_NONE;
            if (jupyter_msg_decode(in.frames, in.n, key, &m, &e) != -EKEYREJECTED)
                TEST_CHECK_(false, "byte %zu of frame %zu: %s", i, f, e.msg);
        }
    }
    (void)jupyter_key_free(key);
}

static void a_message_signed_with_another_key_is_refused(void)
{
    drop_message struct message in = from_golden(&golden_messages[0]);
    struct jupyter_key *key = jupyter_key_new("another", 7);
    struct jupyter_msg m;
    TEST_CHECK(jupyter_msg_decode(in.frames, in.n, key, &m, NULL) == -EKEYREJECTED);
    (void)jupyter_key_free(key);
}

static void a_signature_of_another_length_is_refused(void)
{
    static const size_t lengths[] = {0, 1, 32, 63, 65, 128};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        drop_message struct message in = from_golden(&golden_messages[2]);
        char *longer = xcalloc(1, 129);
        memcpy(longer, in.frames[1].data, HMAC_HEX);
        xfree(in.frames[1].data);
        in.frames[1] = (struct slice){xrealloc(longer, lengths[i] ? lengths[i] : 1), lengths[i]};
        struct jupyter_msg m;
        TEST_CHECK_(decode(&in, &m, NULL) == -EKEYREJECTED, "%zu", lengths[i]);
    }
}

static void an_unsigned_message_is_not_parsed(void)
{
    static const char header[] = "{\"msg_id\":\"\\u0000\",\"msg_type\":\"status\"}";
    drop_message struct message in = build(header, "{}", "{}", "{}");
    in.frames[1].data[0] ^= 1;
    struct jupyter_msg m;
    TEST_CHECK(decode(&in, &m, NULL) == -EKEYREJECTED);
    /* parsing would have rewritten the text in place */
    TEST_CHECK(memcmp(in.frames[2].data, header, sizeof header - 1) == 0);
}

static void a_message_is_accepted_once(void)
{
    struct jupyter_key *key = golden_key_new();
    struct jupyter_msg m;
    for (int round = 0; round < 3; round++) {
        drop_message struct message in = from_golden(&golden_messages[0]);
        int r = jupyter_msg_decode(in.frames, in.n, key, &m, NULL);
        TEST_CHECK_(r == (round ? -EALREADY : 0), "round %d: %d", round, r);
        if (r == 0)
            jupyter_msg_done(&m);
    }
    (void)jupyter_key_free(key);
}

static int decode_number(struct jupyter_key *key, int number)
{
    drop_str char *header = xasprintf("{\"msg_id\":\"%d\",\"msg_type\":\"status\"}", number);
    drop_message struct message in = build(header, "{}", "{}", "{}");
    struct jupyter_msg m;
    int r = jupyter_msg_decode(in.frames, in.n, key, &m, NULL);
    if (r == 0)
        jupyter_msg_done(&m);
    return r;
}

static void the_history_holds_the_last_4096_messages(void)
{
    struct jupyter_key *key = golden_key_new();
    for (int i = 0; i < JUPYTER_HISTORY; i++)
        TEST_ASSERT(decode_number(key, i) == 0);
    TEST_CHECK(decode_number(key, 0) == -EALREADY);
    TEST_CHECK(decode_number(key, JUPYTER_HISTORY) == 0);
    TEST_CHECK(decode_number(key, 1) == -EALREADY);
    TEST_CHECK(decode_number(key, JUPYTER_HISTORY) == -EALREADY);
    TEST_CHECK(decode_number(key, 0) == 0); /* forgotten by now */
    (void)jupyter_key_free(key);
}

static void a_refused_message_does_not_fill_the_history(void)
{
    struct jupyter_key *key = golden_key_new();
    struct jupyter_msg m;
    drop_message struct message forged = from_golden(&golden_messages[0]);
    forged.frames[6].data[2] ^= 1;
    TEST_CHECK(jupyter_msg_decode(forged.frames, forged.n, key, &m, NULL) == -EKEYREJECTED);
    drop_message struct message honest = from_golden(&golden_messages[0]);
    TEST_CHECK(jupyter_msg_decode(honest.frames, honest.n, key, &m, NULL) == 0);
    jupyter_msg_done(&m);
    (void)jupyter_key_free(key);
}

static void every_wrong_count_of_frames_is_refused(void)
{
    const struct golden *g = &golden_messages[0];
    struct jupyter_msg m;
    for (size_t n = 0; n < g->count; n++) {
        drop_message struct message in = from_golden(g);
        struct jupyter_key *key = golden_key_new();
        TEST_CHECK_(jupyter_msg_decode(in.frames, n, key, &m, NULL) == -EBADMSG, "%zu frames", n);
        (void)jupyter_key_free(key);
    }
    drop_message struct message many = from_golden(g);
    while (many.n < JUPYTER_FRAMES_MAX)
        adds(&many, "x");
    TEST_ASSERT(decode(&many, &m, NULL) == 0);
    TEST_CHECK(m.buffer_count == JUPYTER_FRAMES_MAX - g->count);
    jupyter_msg_done(&m);
    adds(&many, "x");
    TEST_CHECK(decode(&many, &m, NULL) == -EMSGSIZE);
}

static void frames_without_delimiter_are_refused(void)
{
    drop_message struct message in = {0};
    static const char *const frames[] = {"<IDS|MSG", "<ids|msg>", "<IDS|MSG> ", "",  "{}",
                                         "{}",       "{}",        "{}",         "{}"};
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
        adds(&in, frames[i]);
    struct jupyter_msg m;
    TEST_CHECK(decode(&in, &m, NULL) == -EBADMSG);
}

static void a_wrong_header_or_parent_is_named(void)
{
    static const struct {
        const char *header, *parent, *message;
    } cases[] = {
        {"", "{}", "header: not JSON at byte 1"},
        {"[]", "{}", "header: not a JSON object"},
        {"{}", "{}", "header: msg_id: a string is needed"},
        {"{\"msg_id\":\"a\"}", "{}", "header: msg_type: a string is needed"},
        {"{\"msg_id\":1,\"msg_type\":\"status\"}", "{}", "header: msg_id: a string is needed"},
        {HEADER, "null", "parent_header: not a JSON object"},
        {HEADER, "{", "parent_header: not JSON at byte 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drop_message struct message in = build(cases[i].header, cases[i].parent, "{}", "{}");
        struct jupyter_msg m;
        struct err e = ERR_NONE;
        TEST_CASE(cases[i].message);
        TEST_CHECK(decode(&in, &m, &e) < 0);
        TEST_CHECK_(strncmp(e.msg, cases[i].message, strlen(cases[i].message) - 1) == 0, "%s",
                    e.msg);
        TEST_CHECK(e.code != 0 && decode(&in, &m, NULL) == e.code);
    }
}

static void a_parent_that_names_nothing_is_no_parent(void)
{
    drop_message struct message in = build(HEADER, "{\"msg_id\":7}", "{}", "{}");
    struct jupyter_msg m;
    TEST_ASSERT(decode(&in, &m, NULL) == 0);
    TEST_CHECK(strcmp(m.parent_id, "") == 0);
    jupyter_msg_done(&m);
}

static char *filled(size_t n, const char *before, char with, const char *behind)
{
    char *text = xcalloc(1, strlen(before) + n + strlen(behind) + 1);
    memcpy(text, before, strlen(before));
    memset(text + strlen(before), with, n);
    memcpy(text + strlen(before) + n, behind, strlen(behind));
    return text;
}

static void a_message_with_unusable_content_still_arrives(void)
{
    drop_str char *deep = filled(200, "{\"a\":", '[', "");
    drop_str char *huge = filled(JUPYTER_METADATA_MAX, "{\"a\":\"", 'x', "\"}");
    const struct {
        const char *metadata, *content;
        int code;
    } cases[] = {
        {"{}", "{", -EBADMSG},   {"{}", "", -EBADMSG},     {"{}", "[]", -EBADMSG},
        {"{}", deep, -ELOOP},    {"{", "{}", -EBADMSG},    {deep, "{}", -ELOOP},
        {huge, "{}", -EMSGSIZE}, {"{", "\"x\"", -EBADMSG}, {"{}", huge, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        drop_message struct message in =
            build(HEADER, "{\"msg_id\":\"p\"}", cases[i].metadata, cases[i].content);
        struct jupyter_msg m;
        TEST_CASE_("case %zu", i);
        TEST_ASSERT(decode(&in, &m, NULL) == 0);
        TEST_CHECK(m.type == JUPYTER_STATUS && strcmp(m.parent_id, "p") == 0);
        TEST_CHECK_(m.content_error == cases[i].code, "%d", m.content_error);
        TEST_CHECK((m.content == NULL || m.metadata == NULL) == (cases[i].code != 0));
        jupyter_msg_done(&m);
    }
}

static void a_header_over_its_limit_is_refused(void)
{
    static const char before[] = "{\"msg_type\":\"status\",\"msg_id\":\"";
    size_t room = JUPYTER_HEADER_MAX - (sizeof before - 1) - 2;
    for (size_t over = 0; over < 2; over++) {
        drop_str char *header = filled(room + over, before, 'x', "\"}");
        drop_message struct message in = build(header, "{}", "{}", "{}");
        struct jupyter_msg m;
        int r = decode(&in, &m, NULL);
        TEST_CHECK_(r == (over ? -EMSGSIZE : 0), "%d", r);
        if (r == 0)
            jupyter_msg_done(&m);
    }
}

static void no_memory_at_any_point_is_an_error_and_no_leak(void)
{
    int r = -1;
    for (long n = 1; r < 0 || n < 5; n++) {
        TEST_ASSERT(n < 200);
        drop_message struct message in = from_golden(&golden_messages[1]);
        struct jupyter_msg m;
        try_realloc_fail_at(n);
        r = decode(&in, &m, NULL);
        try_realloc_fail_at(0);
        TEST_CHECK(r == 0 || r == -ENOMEM);
        if (r == 0 && m.content_error != 0) {
            TEST_CHECK(m.content_error == -ENOMEM);
            r = -1;
            jupyter_msg_done(&m);
        } else if (r == 0) {
            jupyter_msg_done(&m);
        }
    }
}

/* --- encoding --- */

static struct slice constant(const char *text)
{
    static char copy[1000];
    memcpy(copy, text, strlen(text) + 1);
    return (struct slice){copy, strlen(text)};
}

static bool frame_is(struct slice frame, const char *text)
{
    return frame.len == strlen(text) && memcmp(frame.data, text, frame.len) == 0;
}

static void a_sent_message_has_the_frames_of_the_protocol(void)
{
    struct jupyter_key *key = golden_key_new();
    struct jupyter_head head = {.type = JUPYTER_KERNEL_INFO_REQUEST,
                                .msg_id = "id",
                                .session = "s\"",
                                .unix_us = 1795248005000042};
    struct jupyter_sent sent;
    TEST_ASSERT(jupyter_msg_encode(key, &head, constant("{}"), &sent, NULL) == 0);
    TEST_CHECK(frame_is(sent.frames[0], "<IDS|MSG>"));
    TEST_CHECK(sent.frames[1].len == HMAC_HEX);
    TEST_CHECK_(frame_is(sent.frames[2],
                         "{\"msg_id\":\"id\",\"session\":\"s\\\"\",\"username\":\"ipybox\","
                         "\"date\":\"2026-11-21T08:00:05.000042Z\","
                         "\"msg_type\":\"kernel_info_request\",\"version\":\"5.4\"}"),
                "%.*s", (int)sent.frames[2].len, sent.frames[2].data);
    TEST_CHECK(frame_is(sent.frames[3], "{}") && frame_is(sent.frames[4], "{}"));
    TEST_CHECK(frame_is(sent.frames[5], "{}"));
    jupyter_sent_done(&sent);
    (void)jupyter_key_free(key);
}

static void what_is_sent_is_read_back_by_the_other_side(void)
{
    for (int type = JUPYTER_OTHER + 1; type < JUPYTER__COUNT; type++) {
        struct jupyter_key *key = golden_key_new();
        struct jupyter_head head = {.type = (enum jupyter_type)type,
                                    .msg_id = "\u00e9",
                                    .session = "s",
                                    .username = "me",
                                    .parent = "{\"msg_id\":\"p\"}"};
        struct jupyter_sent sent;
        TEST_ASSERT(jupyter_msg_encode(key, &head, constant("{\"a\":1}"), &sent, NULL) == 0);
        drop_message struct message in = {0};
        for (size_t i = 0; i < JUPYTER_SENT_FRAMES; i++)
            add(&in, sent.frames[i].data, sent.frames[i].len);
        struct jupyter_msg m;
        TEST_CASE(jupyter_type_name(head.type));
        TEST_ASSERT(decode(&in, &m, NULL) == 0);
        TEST_CHECK(m.type == head.type && strcmp(m.msg_id, "\u00e9") == 0);
        TEST_CHECK(strcmp(m.parent_id, "p") == 0);
        TEST_CHECK(strncmp(json_get_text(m.header, "date"), "20", 2) == 0);
        TEST_CHECK(json_number(json_get(m.content, "a")) == 1);
        jupyter_msg_done(&m);
        jupyter_sent_done(&sent);
        (void)jupyter_key_free(key);
    }
}

static void a_header_that_does_not_fit_is_not_sent(void)
{
    struct jupyter_key *key = golden_key_new();
    drop_str char *session = filled(JUPYTER_HEADER_MAX, "", 'x', "");
    struct jupyter_head head = {.type = JUPYTER_STATUS, .msg_id = "a", .session = session};
    struct jupyter_sent sent = {0};
    TEST_CHECK(jupyter_msg_encode(key, &head, constant("{}"), &sent, NULL) == -EMSGSIZE);
    TEST_CHECK(sent.text.data == NULL);
    head.session = "s";
    try_realloc_fail_at(1);
    TEST_CHECK(jupyter_msg_encode(key, &head, constant("{}"), &sent, NULL) == -ENOMEM);
    (void)jupyter_key_free(key);
}

static void contents_of_requests_are_what_a_kernel_expects(void)
{
    struct buf b = BUF_INIT(1000);
    struct jupyter_execute x = {.code = constant("print('\xC0\x80\u00e9')\n")};
    jupyter_put_execute(&b, &x);
    TEST_CHECK(strcmp(buf_text(&b),
                      "{\"code\":\"print('\\u0000\u00e9')\\n\",\"silent\":false,"
                      "\"store_history\":false,\"user_expressions\":{},\"allow_stdin\":false,"
                      "\"stop_on_error\":false}") == 0);
    buf_clear(&b);
    x = (struct jupyter_execute){constant(""), true, true, true};
    jupyter_put_execute(&b, &x);
    TEST_CHECK(strcmp(buf_text(&b), "{\"code\":\"\",\"silent\":true,\"store_history\":true,"
                                    "\"user_expressions\":{\"ipybox.variables\":\"\"},"
                                    "\"allow_stdin\":false,"
                                    "\"stop_on_error\":false}") == 0);
    buf_clear(&b);
    jupyter_put_shutdown(&b, true);
    jupyter_put_shutdown(&b, false);
    TEST_CHECK(strcmp(buf_text(&b), "{\"restart\":true}{\"restart\":false}") == 0);
    buf_done(&b);
    b = BUF_INIT(20);
    jupyter_put_execute(&b, &x);
    TEST_CHECK(b.failed == -EMSGSIZE);
    buf_done(&b);
}

TEST_LIST = {
    {"messages of jupyter_client are read", messages_of_jupyter_client_are_read},
    {"the parts of a message are lent out", the_parts_of_a_message_are_lent_out},
    {"text of a stream keeps NUL and loses only bad bytes",
     text_of_a_stream_keeps_nul_and_loses_only_bad_bytes},
    {"an unknown type keeps its name", an_unknown_type_keeps_its_name},
    {"a message changed at any byte is refused", a_message_changed_at_any_byte_is_refused},
    {"a message signed with another key is refused", a_message_signed_with_another_key_is_refused},
    {"a signature of another length is refused", a_signature_of_another_length_is_refused},
    {"an unsigned message is not parsed", an_unsigned_message_is_not_parsed},
    {"a message is accepted once", a_message_is_accepted_once},
    {"the history holds the last 4096 messages", the_history_holds_the_last_4096_messages},
    {"a refused message does not fill the history", a_refused_message_does_not_fill_the_history},
    {"every wrong count of frames is refused", every_wrong_count_of_frames_is_refused},
    {"frames without delimiter are refused", frames_without_delimiter_are_refused},
    {"a wrong header or parent is named", a_wrong_header_or_parent_is_named},
    {"a parent that names nothing is no parent", a_parent_that_names_nothing_is_no_parent},
    {"a message with unusable content still arrives",
     a_message_with_unusable_content_still_arrives},
    {"a header over its limit is refused", a_header_over_its_limit_is_refused},
    {"no memory at any point is an error and no leak",
     no_memory_at_any_point_is_an_error_and_no_leak},
    {"a sent message has the frames of the protocol",
     a_sent_message_has_the_frames_of_the_protocol},
    {"what is sent is read back by the other side", what_is_sent_is_read_back_by_the_other_side},
    {"a header that does not fit is not sent", a_header_that_does_not_fit_is_not_sent},
    {"contents of requests are what a kernel expects",
     contents_of_requests_are_what_a_kernel_expects},
    {NULL, NULL},
};
