/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/jsonrpc.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

static bool is_integer(const char *id)
{
    const char *p = *id == '-' ? id + 1 : id;
    size_t digits = strspn(p, "0123456789");
    return digits > 0 && p[digits] == '\0';
}

static bool valid_id(const char *id)
{
    return *id == '"' || is_integer(id);
}

static int fail_rpc(struct rpc_message *m, struct err *e, int code, const char *text)
{
    rpc_message_done(m);
    if (!valid_id(m->id))
        memcpy(m->id, "null", 5);
    return err_set(e, code, "%s", text);
}

/* What the members say the message is; a negative code when they contradict each other. */
static int classify(struct rpc_message *m, struct err *e)
{
    const struct json *method = json_get(m->tree, "method");
    const struct json *id = json_get(m->tree, "id");
    const char *version = json_get_text(m->tree, "jsonrpc");
    if (!version || strcmp(version, "2.0") != 0)
        return fail_rpc(m, e, RPC_INVALID_REQUEST, "Invalid Request: \"jsonrpc\" must be \"2.0\"");
    if (id && !valid_id(m->id))
        return fail_rpc(m, e, RPC_INVALID_REQUEST,
                        "Invalid Request: \"id\" must be a string or an integer");
    if (!method) {
        if (!id || (!json_get(m->tree, "result") && !json_get(m->tree, "error")))
            return fail_rpc(m, e, RPC_INVALID_REQUEST, "Invalid Request: \"method\" is missing");
        m->kind = RPC_RESPONSE;
        return 0;
    }
    m->method = json_text(method);
    if (!m->method)
        return fail_rpc(m, e, RPC_INVALID_REQUEST, "Invalid Request: \"method\" must be a string");
    m->kind = id ? RPC_REQUEST : RPC_NOTIFICATION;
    if (!id)
        m->id[0] = '\0';
    const struct json *params = json_get(m->tree, "params");
    if (params && !json_is_object(params) && !json_is_null(params))
        return fail_rpc(m, e, RPC_INVALID_PARAMS, "Invalid params: \"params\" must be an object");
    m->params = json_is_object(params) ? params : NULL;
    return 0;
}

int rpc_parse(char *text, size_t len, enum json_mode mode, struct rpc_message *ret, struct err *e)
{
    *ret = (struct rpc_message){.kind = RPC_NOTIFICATION};
    struct jsonscan scan = {0};
    jsonscan_feed(&scan, text, len);
    memcpy(ret->id, jsonscan_id(&scan), strlen(jsonscan_id(&scan)) + 1);
    struct err why = ERR_NONE;
    ret->tree = json_parse(text, len, mode, &why);
    if (!ret->tree) {
        char reason[sizeof why.msg + 16];
        (void)snprintf(reason, sizeof reason, "Parse error: %s", why.msg);
        memcpy(ret->id, "null", 5); /* an id in broken JSON is not to be trusted */
        return fail_rpc(ret, e, RPC_PARSE_ERROR, reason);
    }
    if (!json_is_object(ret->tree)) {
        memcpy(ret->id, "null", 5);
        return fail_rpc(ret, e, RPC_INVALID_REQUEST,
                        json_is_array(ret->tree) ? "Invalid Request: batches are not supported"
                                                 : "Invalid Request: an object is needed");
    }
    return classify(ret, e);
}

void rpc_message_done(struct rpc_message *m)
{
    m->tree = json_free(m->tree);
    m->method = NULL;
    m->params = NULL;
}

bool rpc_same_id(const char *a, const char *b)
{
    if (strcmp(a, b) == 0)
        return true;
    if (*a != '"' || *b != '"')
        return false;
    drop_json struct json *ja = json_parse_copy(a, strlen(a), JSON_STRICT, NULL);
    drop_json struct json *jb = json_parse_copy(b, strlen(b), JSON_STRICT, NULL);
    const char *ta = json_text(ja), *tb = json_text(jb);
    return ta && tb && strcmp(ta, tb) == 0;
}

void rpc_result_begin(struct jsonw *w, const char *id)
{
    jsonw_object(w);
    jsonw_set_text(w, "jsonrpc", "2.0");
    jsonw_set_raw(w, "id", id);
    jsonw_set_object(w, "result");
}

void rpc_notification_begin(struct jsonw *w, const char *method)
{
    jsonw_object(w);
    jsonw_set_text(w, "jsonrpc", "2.0");
    jsonw_set_text(w, "method", method);
    jsonw_set_object(w, "params");
}

void rpc_end(struct jsonw *w)
{
    jsonw_end(w);
    jsonw_end(w);
}

void rpc_put_error(struct buf *out, const char *id, int code, const char *message, const char *data)
{
    struct jsonw w = JSONW(out);
    jsonw_object(&w);
    jsonw_set_text(&w, "jsonrpc", "2.0");
    jsonw_set_raw(&w, "id", *id ? id : "null");
    jsonw_set_object(&w, "error");
    jsonw_set_int(&w, "code", code);
    jsonw_set_text(&w, "message", message);
    if (data)
        jsonw_set_raw(&w, "data", data);
    jsonw_end(&w);
    jsonw_end(&w);
}
