/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/jupyter_msg.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/hmac.h"
#include "base/json/jsonw.h"

enum { HEADER, PARENT, METADATA, CONTENT, JSON_FRAMES };

static const char delimiter[] = "<IDS|MSG>";

static const char *const type_names[JUPYTER__COUNT] = {
    [JUPYTER_STATUS] = "status",
    [JUPYTER_STREAM] = "stream",
    [JUPYTER_DISPLAY_DATA] = "display_data",
    [JUPYTER_UPDATE_DISPLAY_DATA] = "update_display_data",
    [JUPYTER_EXECUTE_RESULT] = "execute_result",
    [JUPYTER_EXECUTE_INPUT] = "execute_input",
    [JUPYTER_ERROR] = "error",
    [JUPYTER_CLEAR_OUTPUT] = "clear_output",
    [JUPYTER_IOPUB_WELCOME] = "iopub_welcome",
    [JUPYTER_COMM_OPEN] = "comm_open",
    [JUPYTER_COMM_MSG] = "comm_msg",
    [JUPYTER_COMM_CLOSE] = "comm_close",
    [JUPYTER_EXECUTE_REQUEST] = "execute_request",
    [JUPYTER_EXECUTE_REPLY] = "execute_reply",
    [JUPYTER_KERNEL_INFO_REQUEST] = "kernel_info_request",
    [JUPYTER_KERNEL_INFO_REPLY] = "kernel_info_reply",
    [JUPYTER_INTERRUPT_REQUEST] = "interrupt_request",
    [JUPYTER_INTERRUPT_REPLY] = "interrupt_reply",
    [JUPYTER_SHUTDOWN_REQUEST] = "shutdown_request",
    [JUPYTER_SHUTDOWN_REPLY] = "shutdown_reply",
    [JUPYTER_INPUT_REQUEST] = "input_request",
    [JUPYTER_INPUT_REPLY] = "input_reply",
    [JUPYTER_COMPLETE_REQUEST] = "complete_request",
    [JUPYTER_COMPLETE_REPLY] = "complete_reply",
    [JUPYTER_INSPECT_REQUEST] = "inspect_request",
    [JUPYTER_INSPECT_REPLY] = "inspect_reply",
    [JUPYTER_VARIABLES_REQUEST] = "variables_request",
    [JUPYTER_VARIABLES_REPLY] = "variables_reply",
};

/* The first 64 bits of a signature stand for it: they cannot be chosen without the key, and two
 * equal ones among 4096 honest messages come once in 10^15 messages. */
struct jupyter_key {
    struct hmac *hmac;
    size_t seen_count; /* of all time */
    uint64_t seen[JUPYTER_HISTORY];
};

const char *jupyter_type_name(enum jupyter_type type)
{
    return type_names[type];
}

static enum jupyter_type message_type_of(const char *name)
{
    for (int i = 0; i < JUPYTER__COUNT; i++) {
        if (type_names[i] && strcmp(type_names[i], name) == 0)
            return (enum jupyter_type)i;
    }
    return JUPYTER_OTHER;
}

struct jupyter_key *jupyter_key_new(const char *key, size_t len)
{
    struct jupyter_key *k = NEW(struct jupyter_key);
    k->hmac = hmac_new(key, len);
    return k;
}

struct jupyter_key *jupyter_key_free(struct jupyter_key *key)
{
    if (key)
        (void)hmac_free(key->hmac);
    xfree(key);
    return NULL;
}

static bool seen_before(const struct jupyter_key *key, uint64_t mark)
{
    size_t n = key->seen_count < JUPYTER_HISTORY ? key->seen_count : JUPYTER_HISTORY;
    for (size_t i = 0; i < n; i++) {
        if (key->seen[i] == mark)
            return true;
    }
    return false;
}

static void sign(struct jupyter_key *key, const struct slice *json,
                 unsigned char digest[HMAC_BYTES])
{
    hmac_begin(key->hmac);
    for (int i = 0; i < JSON_FRAMES; i++)
        hmac_add(key->hmac, json[i].data, json[i].len);
    hmac_end(key->hmac, digest);
}

static int verify(struct jupyter_key *key, const struct slice *signature, const struct slice *json,
                  struct err *e)
{
    if (signature->len == 0)
        return err_set(e, -EKEYREJECTED, "the message is not signed");
    unsigned char digest[HMAC_BYTES];
    char hex[HMAC_HEX + 1];
    sign(key, json, digest);
    hmac_hex(digest, hex);
    if (signature->len != HMAC_HEX || !hmac_equal(signature->data, hex))
        return err_set(e, -EKEYREJECTED, "the signature is wrong");
    uint64_t mark;
    memcpy(&mark, digest, sizeof mark);
    if (seen_before(key, mark))
        return err_set(e, -EALREADY, "the message was received before");
    key->seen[key->seen_count++ % JUPYTER_HISTORY] = mark;
    return 0;
}

/* Frames before the delimiter; n when there is none. */
static size_t identities(const struct slice *frames, size_t n)
{
    size_t i = 0;
    for (; i < n; i++) {
        if (frames[i].len == sizeof delimiter - 1 &&
            memcmp(frames[i].data, delimiter, frames[i].len) == 0)
            break;
    }
    return i;
}

static int parse_object(struct slice frame, size_t max, struct json **ret, struct err *e)
{
    if (frame.len > max)
        return err_set(e, -EMSGSIZE, "%zu bytes are over the limit of %zu", frame.len, max);
    struct err why = ERR_NONE;
    struct json *j = json_parse(frame.data, frame.len, JSON_REPAIR, &why);
    if (!j)
        return err_set(e, why.code, "%s", why.msg);
    if (!json_is_object(j)) {
        (void)json_free(j);
        return err_set(e, -EBADMSG, "not a JSON object");
    }
    *ret = j;
    return 0;
}

static int parse_header(const struct slice *json, struct jupyter_msg *m, struct err *e)
{
    if (parse_object(json[HEADER], JUPYTER_HEADER_MAX, &m->trees[HEADER], e) < 0)
        return err_wrap(e, "header");
    if (json_need_text(m->trees[HEADER], "msg_id", &m->msg_id, e) < 0 ||
        json_need_text(m->trees[HEADER], "msg_type", &m->type_name, e) < 0)
        return err_wrap(e, "header");
    if (parse_object(json[PARENT], JUPYTER_HEADER_MAX, &m->trees[PARENT], e) < 0)
        return err_wrap(e, "parent_header");
    const char *parent_id = json_get_text(m->trees[PARENT], "msg_id");
    m->parent_id = parent_id ? parent_id : "";
    m->type = message_type_of(m->type_name);
    return 0;
}

static void parse_body(const struct slice *json, struct jupyter_msg *m)
{
    int content = parse_object(json[CONTENT], JUPYTER_CONTENT_MAX, &m->trees[CONTENT], NULL);
    int metadata = parse_object(json[METADATA], JUPYTER_METADATA_MAX, &m->trees[METADATA], NULL);
    m->content_error = content < 0 ? content : metadata;
}

int jupyter_msg_decode(struct slice *frames, size_t n, struct jupyter_key *key,
                       struct jupyter_msg *ret, struct err *e)
{
    struct err unread;
    e = e ? e : &unread;
    if (n > JUPYTER_FRAMES_MAX)
        return err_set(e, -EMSGSIZE, "%zu frames are over the limit of %d", n, JUPYTER_FRAMES_MAX);
    size_t before = identities(frames, n);
    size_t fixed = 2 + JSON_FRAMES;
    if (n - before < fixed)
        return err_set(e, -EBADMSG, "%zu frames are no message", n);
    const struct slice *json = frames + before + 2;
    int r = verify(key, &frames[before + 1], json, e);
    if (r < 0)
        return r;
    struct jupyter_msg m = {
        .identities = frames,
        .identity_count = before,
        .buffers = frames + before + fixed,
        .buffer_count = n - before - fixed,
    };
    r = parse_header(json, &m, e);
    if (r < 0) {
        jupyter_msg_done(&m);
        return r;
    }
    parse_body(json, &m);
    m.header = m.trees[HEADER];
    m.parent = m.trees[PARENT];
    m.metadata = m.trees[METADATA];
    m.content = m.trees[CONTENT];
    *ret = m;
    return 0;
}

void jupyter_msg_done(struct jupyter_msg *m)
{
    for (int i = 0; i < JSON_FRAMES; i++)
        (void)json_free(m->trees[i]);
    *m = (struct jupyter_msg){0};
}

static void put_date(struct jsonw *w, int64_t unix_us)
{
    struct timespec t = clock_timespec_of(unix_us);
    char date[CLOCK_ISO_MAX];
    if (unix_us == 0)
        clock_gettime(CLOCK_REALTIME, &t);
    jsonw_set_text(w, "date", clock_iso_of(&t, 6, date));
}

static void put_message_header(struct buf *out, const struct jupyter_head *head)
{
    struct jsonw w = JSONW(out);
    jsonw_object(&w);
    jsonw_set_text(&w, "msg_id", head->msg_id);
    jsonw_set_text(&w, "session", head->session);
    jsonw_set_text(&w, "username", head->username ? head->username : "ipybox");
    put_date(&w, head->unix_us);
    jsonw_set_text(&w, "msg_type", type_names[head->type]);
    jsonw_set_text(&w, "version", JUPYTER_VERSION);
    jsonw_end(&w);
}

/* For frames that nobody writes to. */
static struct slice constant(const char *text)
{
    return (struct slice){(char *)(uintptr_t)text, strlen(text)};
}

int jupyter_msg_encode(struct jupyter_key *key, const struct jupyter_head *head,
                       struct slice content, struct jupyter_sent *ret, struct err *e)
{
    char hex[HMAC_HEX + 1] = "";
    struct buf text = BUF_INIT(JUPYTER_HEADER_MAX);
    (void)buf_add(&text, hex, sizeof hex); /* its room; filled in when all is there to be signed */
    put_message_header(&text, head);
    if (text.failed) {
        int code = text.failed;
        buf_done(&text);
        return err_set(e, code, "the header of a %s does not fit", type_names[head->type]);
    }
    struct slice frames[JUPYTER_SENT_FRAMES] = {
        constant(delimiter),
        {text.data, HMAC_HEX},
        {text.data + sizeof hex, text.len - sizeof hex},
        constant(head->parent ? head->parent : "{}"),
        constant("{}"),
        content,
    };
    unsigned char digest[HMAC_BYTES];
    sign(key, frames + 2, digest);
    hmac_hex(digest, hex);
    memcpy(text.data, hex, HMAC_HEX);
    memcpy(ret->frames, frames, sizeof frames);
    ret->text = text;
    return 0;
}

void jupyter_sent_done(struct jupyter_sent *sent)
{
    buf_done(&sent->text);
    *sent = (struct jupyter_sent){0};
}

void jupyter_put_execute(struct buf *out, const struct jupyter_execute *x)
{
    struct jsonw w = JSONW(out);
    jsonw_object(&w);
    jsonw_name(&w, "code");
    jsonw_text_n(&w, x->code.data, x->code.len);
    jsonw_set_bool(&w, "silent", x->silent);
    jsonw_set_bool(&w, "store_history", x->store_history);
    jsonw_set_raw(&w, "user_expressions", x->tell_variables ? "{\"ipybox.variables\":\"\"}" : "{}");
    jsonw_set_bool(&w, "allow_stdin", false);
    jsonw_set_bool(&w, "stop_on_error", false);
    jsonw_end(&w);
}

void jupyter_put_shutdown(struct buf *out, bool restart)
{
    struct jsonw w = JSONW(out);
    jsonw_object(&w);
    jsonw_set_bool(&w, "restart", restart);
    jsonw_end(&w);
}
