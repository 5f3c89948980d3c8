/* SPDX-License-Identifier: Apache-2.0
 *
 * Who ends a branch: end_session and forks_close(), which forget it at once, or somebody beside
 * this peer: the sessions tell that (on_branch_ended()) when its calls have been answered.
 * A fork whose call is given up is made all the same, and its sessions, which nobody knows of, are
 * ended at once (on_forked()). */
#include "front/mcp/mcp_forks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/list.h"
#include "base/log.h"
#include "front/mcp/mcp_tools.h"

struct mcp_branch {
    struct mcp_branch *next;
    struct session *session;
    char id[SESSIONS_ID_MAX + 1];
};

/* --- the branches of a peer ------------------------------------------------------------------- */

static struct mcp_branch *find_branch(const struct mcp *mcp, const char *id)
{
    struct mcp_branch *branch = mcp->branches;
    while (branch && strcmp(branch->id, id) != 0)
        branch = branch->next;
    return branch;
}

bool forks_has(const struct mcp *mcp, const char *session)
{
    return find_branch(mcp, session) != NULL;
}

static bool keeps_branches(const struct mcp *mcp)
{
    return mcp->config->forks && !mcp->config->shared && mcp->config->sessions;
}

static void keep_branch(struct mcp *mcp, const char *id)
{
    struct sessions_view view;
    if (!keeps_branches(mcp) || !sessions_find(mcp->config->sessions, id, &view))
        return;
    struct mcp_branch *branch = NEW(struct mcp_branch);
    branch->session = view.session;
    (void)snprintf(branch->id, sizeof branch->id, "%s", id);
    chain_append(&mcp->branches, branch);
}

static void forget_branch(struct mcp *mcp, const char *id)
{
    struct mcp_branch *branch = find_branch(mcp, id);
    if (!branch)
        return;
    chain_remove(&mcp->branches, branch);
    xfree(branch);
}

static void on_branch_ended(void *ctx, const char *id)
{
    forget_branch(ctx, id);
}

static void end_fork_session(struct sessions *sessions, const char *id)
{
    struct err e = ERR_NONE;
    if (sessions_end(sessions, id, &e) < 0)
        log_debug("mcp", "session %s: %s", id, e.msg);
}

void forks_open(struct mcp *mcp)
{
    mcp->ends = (struct sessions_watcher){.ended = on_branch_ended, .ctx = mcp};
    if (keeps_branches(mcp))
        sessions_watch(mcp->config->sessions, &mcp->ends);
}

void forks_close(struct mcp *mcp)
{
    if (keeps_branches(mcp))
        sessions_unwatch(mcp->config->sessions, &mcp->ends);
    while (mcp->branches) {
        struct mcp_branch *branch = mcp->branches;
        end_fork_session(mcp->config->sessions, branch->id);
        chain_remove(&mcp->branches, branch);
        xfree(branch);
    }
}

int forks_find_session(struct mcp_call *call, const struct json *name, struct err *e)
{
    const struct mcp_config *config = call->mcp->config;
    const bool is_named = keeps_branches(call->mcp) && name && !json_is_null(name);
    const char *own = config->session_id ? config->session_id : "";
    const char *id = is_named ? json_text(name) : own;
    if (!id)
        return err_set(e, -EINVAL, "session: a name is needed");
    /* "default" is what the schema says of a call that names none */
    const bool is_own = strcmp(id, own) == 0 || strcmp(id, SESSIONS_DEFAULT) == 0;
    const struct mcp_branch *branch = is_named && !is_own ? find_branch(call->mcp, id) : NULL;
    if (is_named && !is_own && !branch)
        return err_set(e, -ENOENT, "session: there is no session %.80s; fork makes sessions", id);
    call->session = branch ? branch->session : config->session;
    (void)snprintf(call->session_id, sizeof call->session_id, "%s", branch ? id : own);
    return 0;
}

/* --- fork ------------------------------------------------------------------------------------- */

const char fork_json[] =
    "{\"name\":\"fork\",\"title\":\"Fork a session\","
    "\"description\":\"Make new sessions that begin with all that a session has in memory: "
    "variables, imports, definitions, the working directory.\\n\\n"
    "Try several ways from one point: run one in each fork, by its name as the argument "
    "'session', and go on with the best. What one of them changes in memory no other sees; files "
    "are those of all.\\n\\n"
    "Fails when something would be missing in a fork, and names it: threads, child processes, open "
    "sockets, polars, torch.\\n\\n"
    "Returns the names of the new sessions.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"count\":{\"type\":\"integer\",\"title\":\"Count\",\"default\":1,\"minimum\":1,"
    "\"maximum\":64,\"description\":\"How many sessions to make\"},"
    "\"name\":{\"type\":\"string\",\"title\":\"Name\",\"description\":\"Name of the new session, "
    "or with several what their names begin with; a random one without it\"},"
    "\"force\":{\"type\":\"boolean\",\"title\":\"Force\",\"default\":false,"
    "\"description\":\"Make them although something would be missing\"}" TOOL_SESSION_HERE "}},"
    "\"annotations\":{\"title\":\"Fork a session\",\"readOnlyHint\":false,"
    "\"destructiveHint\":false,\"idempotentHint\":false,\"openWorldHint\":false}}";

struct tool_fork {         /* the work of a call */
    struct mcp_call *call; /* NULL: it was given up */
    struct sessions *sessions;
};

static void cancel_tool_fork(void *ctx)
{
    struct tool_fork *work = ctx;
    work->call = NULL;
}

static void put_forked(struct jsonw *w, const char *const *ids, size_t count)
{
    drop_buf struct buf text = BUF_INIT(MCP_ANSWER_MAX);
    (void)buf_adds(&text, count == 1 ? "The new session is " : "The new sessions are ");
    for (size_t i = 0; i < count; i++)
        (void)buf_addf(&text, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " and ", ids[i]);
    (void)buf_adds(&text, ". Name one as session in other calls; end_session ends it.");
    put_text_block(w, buf_text(&text), text.len);
}

static void answer_forked(struct mcp_call *call, const char *const *ids, size_t count)
{
    struct buf out;
    struct jsonw w;
    for (size_t i = 0; i < count; i++)
        keep_branch(call->mcp, ids[i]);
    call_answer_begin(call, &out, &w);
    put_forked(&w, ids, count);
    call_answer_end(call, &out, &w, false);
}

static void on_forked(void *ctx, const char *const *ids, size_t count, const struct err *why)
{
    struct tool_fork *work = ctx;
    struct mcp_call *call = work->call;
    if (call)
        call->work.cancel = NULL;
    if (!call) {
        for (size_t i = 0; i < count; i++)
            end_fork_session(work->sessions, ids[i]);
    } else if (why) {
        call_fail(call, "fork", why->msg);
    } else {
        answer_forked(call, ids, count);
    }
    xfree(work);
}

static int read_fork_arguments(const struct json *arguments, struct sessions_fork_spec *spec,
                               struct err *e)
{
    const struct json *name = json_get(arguments, "name");
    double count = 1;
    int r = tool_number(arguments, "count", 1, &count, e);
    if (r == 0)
        r = tool_flag(arguments, "force", &spec->force, e);
    if (r < 0)
        return r;
    if (count < 1 || count > SESSIONS_FORK_MAX || floor(count) != count)
        return err_set(e, -EINVAL, "count: 1 to %d is needed", SESSIONS_FORK_MAX);
    spec->count = (size_t)count;
    if (!name || json_is_null(name))
        return 0;
    spec->name = json_text(name);
    if (!spec->name || !*spec->name || strlen(spec->name) > SESSIONS_FORK_NAME_MAX)
        return err_set(e, -EINVAL, "name: 1 to %d characters are needed", SESSIONS_FORK_NAME_MAX);
    return 0;
}

int fork_tool(struct mcp_call *call, const struct json *arguments, struct err *e)
{
    struct sessions_fork *fork = NULL;
    struct sessions *sessions = call->mcp->config->sessions;
    struct sessions_fork_spec spec = {.id = call->session_id, .wait = true, .done = on_forked};
    int r = read_fork_arguments(arguments, &spec, e);
    if (r < 0)
        return r;
    struct tool_fork *work = NEW(struct tool_fork);
    *work = (struct tool_fork){.call = call, .sessions = sessions};
    spec.ctx = work;
    r = sessions_fork(sessions, &spec, &fork, e);
    if (r < 0) {
        xfree(work);
        return r;
    }
    call->work = (struct call_work){cancel_tool_fork, work};
    return 0;
}

/* --- end_session ------------------------------------------------------------------------------ */

/* Its session is an argument like others: a call for it must not make it. */
const char end_session_json[] =
    "{\"name\":\"end_session\",\"title\":\"End a session\","
    "\"description\":\"End a session that is not needed any more, with its kernel: what it has in "
    "memory is gone, files stay. The session default stays.\","
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{"
    "\"session\":{\"type\":\"string\",\"title\":\"Session\","
    "\"description\":\"Name of the session\"}},"
    "\"required\":[\"session\"]},"
    "\"annotations\":{\"title\":\"End a session\",\"readOnlyHint\":false,"
    "\"destructiveHint\":true,\"idempotentHint\":true,\"openWorldHint\":false}}";

int end_session_tool(struct mcp_call *call, const struct json *arguments, struct err *e)
{
    static const char text[] = "The session has ended.";
    struct mcp *mcp = call->mcp;
    const char *id = NULL;
    struct buf out;
    struct jsonw w;
    int r = json_need_text(arguments, "session", &id, e);
    if (r == 0 && keeps_branches(mcp) && !forks_has(mcp, id))
        r = err_set(e, -ENOENT, "session: %.80s was not made by fork", id);
    if (r == 0)
        r = sessions_end(mcp->config->sessions, id, e);
    if (r < 0)
        return r;
    forget_branch(mcp, id);
    call_answer_begin(call, &out, &w);
    put_text_block(&w, text, sizeof text - 1);
    call_answer_end(call, &out, &w, false);
    return 0;
}
