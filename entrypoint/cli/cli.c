/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/cli/cli.h"

#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "entrypoint/cli/cli_client.h"

enum { TABLE_MAX = 1 << 20, COLUMNS = 6, CELL_MAX = 80 };

/* --- sessions --------------------------------------------------------------------------------- */

struct row {
    char cells[COLUMNS][CELL_MAX];
};

static void put_seconds(char cell[CELL_MAX], const struct json *session, const char *name)
{
    double ms = json_number(json_get(session, name));
    (void)snprintf(cell, CELL_MAX, ms > 0 ? "%.0f s" : "-", ms / 1000);
}

static void fill_row(struct row *row, const struct json *session)
{
    const char *const texts[] = {"id", "state"};
    for (size_t i = 0; i < 2; i++) {
        const char *text = json_get_text(session, texts[i]);
        (void)snprintf(row->cells[i], CELL_MAX, "%s", text ? text : "");
    }
    (void)snprintf(row->cells[2], CELL_MAX, "%.0f", json_number(json_get(session, "queued")));
    put_seconds(row->cells[3], session, "timeout_ms");
    put_seconds(row->cells[4], session, "idle_timeout_ms");
    const char *cwd = json_get_text(session, "cwd");
    (void)snprintf(row->cells[5], CELL_MAX, "%s", cwd ? cwd : "");
}

static void put_row(struct buf *out, const struct row *row, const int widths[COLUMNS])
{
    for (int i = 0; i < COLUMNS - 1; i++)
        (void)buf_addf(out, "%-*s  ", widths[i], row->cells[i]);
    (void)buf_addf(out, "%s\n", row->cells[COLUMNS - 1]);
}

static void widen(int widths[COLUMNS], const struct row *row)
{
    for (int i = 0; i < COLUMNS; i++) {
        int n = (int)strlen(row->cells[i]);
        widths[i] = n > widths[i] ? n : widths[i];
    }
}

static void put_command_table(struct buf *out, const struct json *sessions)
{
    static const struct row titles = {{"ID", "STATE", "CELLS", "TIMEOUT", "ENDS AFTER", "CWD"}};
    int widths[COLUMNS] = {0};
    struct row row;
    widen(widths, &titles);
    for (const struct json *s = json_first(sessions); s; s = json_next(s)) {
        fill_row(&row, s);
        widen(widths, &row);
    }
    put_row(out, &titles, widths);
    for (const struct json *s = json_first(sessions); s; s = json_next(s)) {
        fill_row(&row, s);
        put_row(out, &row, widths);
    }
}

static int list_sessions(const struct options *o)
{
    static const struct cli_request request = {.method = "GET", .path = "/v1/sessions"};
    drop_buf struct buf text = BUF_INIT(CLI_ANSWER_MAX), table = BUF_INIT(TABLE_MAX);
    struct err e = ERR_NONE;
    int r = cli_fetch(&request, &text, &e);
    if (r == 0 && o->json) {
        (void)buf_addc(&text, '\n');
        cli_put(STDOUT_FILENO, &text);
        return 0;
    }
    drop_json struct json *answer =
        r == 0 ? json_parse_copy(buf_text(&text), text.len, JSON_REPAIR, &e) : NULL;
    if (!answer) {
        cli_complain("sessions", "%s", e.msg);
        return CLI_FAILED;
    }
    put_command_table(&table, json_get(answer, "sessions"));
    cli_put(STDOUT_FILENO, &table);
    return 0;
}

/* --- all -------------------------------------------------------------------------------------- */

int cli_main(enum role role, const struct options *options)
{
    (void)prctl(PR_SET_DUMPABLE, 0); /* the environment may hold tokens, code in kernels our uid */
    if (role == ROLE_EXEC)
        return cli_exec(options);
    if (role == ROLE_POLICY)
        return cli_policy(options);
    if (role == ROLE_APPROVE)
        return cli_approve(options);
    if (role == ROLE_EXPORT)
        return cli_export(options);
    if (role == ROLE_FORK)
        return cli_fork(options);
    return role == ROLE_LOGS ? cli_logs(options) : list_sessions(options);
}
