/* SPDX-License-Identifier: Apache-2.0
 *
 * The workspace's routes under a judge, which is played here: nothing may be done at or below
 * `closed`, and at the worst moment, when the judge is asked, the folder `d` is swapped for a link
 * to it. */
#include "unit/front/filestest.h"

#include "front/api.h"
#include "session/kernels/judge.h"

static bool armed;
static int swaps;

static void swap_for_link(void)
{
    armed = false;
    swaps++;
    TEST_CHECK(renameat(w, "d", w, "was-d") == 0 && symlinkat("closed", w, "d") == 0);
}

static bool rule_allows(void *ctx, enum spot_act act, const char *path)
{
    (void)ctx, (void)act;
    bool allowed = !strstr(path, "/w/closed") && !strstr(path, "secret");
    if (armed)
        swap_for_link();
    return allowed;
}

static bool rule_allows_move(void *ctx, const char *from, const char *to, bool is_dir)
{
    (void)is_dir;
    return rule_allows(ctx, SPOT_REMOVE, from) && rule_allows(ctx, SPOT_REMOVE, to);
}

static const struct spot_rules played = {.allows = rule_allows, .allows_move = rule_allows_move};
static const struct spot_rules of_admins = {.allows = rule_allows, .allows_move = rule_allows_move};

const struct spot_rules *judge_rules(const struct judge *judge)
{
    (void)judge;
    return &played;
}

const struct spot_rules *judge_rules_of_admins(const struct judge *judge)
{
    (void)judge;
    return &of_admins;
}

const struct spot_rules *judge_rules_of_archives(const struct judge *judge)
{
    (void)judge;
    return &of_admins;
}

static bool ready = true;

bool judge_is_ready(const struct judge *judge)
{
    (void)judge;
    return ready;
}

struct judge *judge_new(struct sessions *sessions)
{
    (void)sessions;
    return NULL;
}

struct judge *judge_free(struct judge *judge)
{
    (void)judge;
    return NULL;
}

static void begin(void)
{
    static char somebody;
    static const struct api_config config = {.admin_token = "boss", .execute_token = "works"};
    open_it();
    api.config = &config;
    api_files_judge(api.files, (struct judge *)(void *)&somebody, &api);
    TEST_CHECK(mkdirat(w, "closed", 0755) == 0 && mkdirat(w, "d", 0755) == 0);
    put_at(w, "closed/f", "closed");
    put_at(w, "d/f", "open");
    put_at(w, "spare", "spare");
    swaps = 0;
}

/* The same thing again, as it was. */
static void restore(void)
{
    (void)unlinkat(w, "d", 0);
    TEST_CHECK(renameat(w, "was-d", w, "d") == 0);
    put_at(w, "spare", "spare");
    armed = true;
}

static void check_closed_untouched(void)
{
    TEST_CHECK(strcmp(text_at(w, "closed/f"), "closed") == 0 && !armed && swaps > 0);
    int dir = openat(w, "closed", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    TEST_CHECK(count_names(dir) == 1);
    (void)fd_close(dir);
}

static void what_is_swapped_while_it_is_judged_leads_nowhere(void)
{
    begin();
    armed = true;
    put("/v1/files/d/new", "", "x"); /* into what was held, or not at all */
    TEST_CHECK(strstr(buf_text(&got), " 201 ") || strstr(buf_text(&got), " 409 "));
    check_closed_untouched();
    restore();
    send_to("DELETE", "/v1/files/d/f", "", "", 0);
    check_status(204);
    TEST_CHECK(!is_there(w, "was-d/f"));
    check_closed_untouched();
    restore();
    post("/v1/files/spare", "{\"action\":\"move\",\"to\":\"d/moved\"}");
    check_closed_untouched();
    restore();
    post("/v1/files/d/folder", "{\"action\":\"make_folder\"}");
    check_status(201);
    check_closed_untouched();
    restore();
    post("/v1/files/d/a/b", "{\"action\":\"make_folder\",\"parents\":true}");
    check_status(201);
    TEST_CHECK(is_there(w, "was-d/a/b"));
    check_closed_untouched();
    close_it();
}

static void an_archive_unpacks_where_its_folder_is(void)
{
    struct buf archive = BUF_INIT((size_t)1 << 20);
    begin();
    add_member(&archive, '0', "f", "new");
    add_member(&archive, '1', "hard", "f");
    tar_put_end(&archive);
    armed = true;
    send_to("PUT", "/v1/tar/d", "", archive.data, archive.len);
    TEST_CHECK(strcmp(text_at(w, "closed/f"), "closed") == 0 && !is_there(w, "closed/hard"));
    restore();
    armed = false;
    TEST_CHECK(renameat(w, "d", w, "plain") == 0 && symlinkat("closed", w, "d") == 0);
    send_to("PUT", "/v1/tar/d", "", archive.data, archive.len); /* the link itself */
    check_problem(403, "code in cells may not do this");
    swaps = 1;
    check_closed_untouched();
    buf_done(&archive);
    close_it();
}

static void swap_back(void)
{
    TEST_CHECK(unlinkat(w, "d", 0) == 0 && mkdirat(w, "d", 0755) == 0);
}

/* The request opens a link to a folder that is closed below; then the link becomes a folder. */
static void a_name_that_becomes_harmless_makes_nothing_harmless(void)
{
    struct buf archive = BUF_INIT((size_t)1 << 20);
    begin();
    TEST_CHECK(unlinkat(w, "d/f", 0) == 0 && unlinkat(w, "d", AT_REMOVEDIR) == 0);
    TEST_CHECK(symlinkat(".", w, "d") == 0);
    add_member(&archive, '0', "closed/planted", "x");
    tar_put_end(&archive);
    int fd = dial();
    buf_clear(&request);
    (void)buf_addf(&request,
                   "PUT /v1/tar/d HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n",
                   archive.len);
    say_n(fd, request.data, request.len);
    pass(1);
    swap_back();
    say_n(fd, archive.data, archive.len);
    for (int i = 0; i < 10000 && !hear(fd) && got.len == 0;)
        i++;
    (void)fd_close(fd);
    turn();
    check_status(403);
    check_has("closed/planted: the sender may not write this");
    swaps = 1;
    check_closed_untouched();
    buf_done(&archive);
    close_it();
}

static void what_is_refused_is_said_and_left_out(void)
{
    begin();
    get("/v1/files/closed/f", "");
    check_problem(403, "closed/f: code in cells may not do this, nor may a client that can only");
    get("/v1/files/closed", "");
    check_problem(403, "closed: code");
    get("/v1/watch/closed", "");
    check_problem(403, "closed: code");
    put("/v1/files/closed/deep/new?parents=true", "", "x");
    check_problem(403, "closed/deep/new: code");
    send_to("DELETE", "/v1/files/closed?recursive=true", "", "", 0);
    check_problem(403, "closed: code");
    TEST_CHECK(mkdirat(w, "d/secret", 0755) == 0);
    put_at(w, "d/secret/f", "x");
    send_to("DELETE", "/v1/files/d?recursive=true", "", "", 0);
    check_problem(403, "d/secret");
    TEST_CHECK(is_there(w, "d/secret/f"));
    get("/v1/tar", "");
    check_status(200);
    TEST_CHECK(!memmem(got.data, got.len, "closed", 6) && !memmem(got.data, got.len, "secret", 6));
    TEST_CHECK(memmem(got.data, got.len, "spare", 5) != NULL);
    ready = false;
    get("/v1/files/closed/f", "");
    check_problem(503, "still looked through");
    TEST_CHECK(strcmp(header("Retry-After"), "1") == 0);
    ready = true;
    /* Administrators' rules are the same here; theirs are registrations. */
    put("/v1/files/closed/new", "Authorization: Bearer boss\r\n", "x");
    check_problem(403, "registrations of MCP servers are no files to write");
    close_it();
}

TEST_LIST = {
    {"what_is_swapped_while_it_is_judged_leads_nowhere",
     what_is_swapped_while_it_is_judged_leads_nowhere},
    {"an_archive_unpacks_where_its_folder_is", an_archive_unpacks_where_its_folder_is},
    {"a_name_that_becomes_harmless_makes_nothing_harmless",
     a_name_that_becomes_harmless_makes_nothing_harmless},
    {"what_is_refused_is_said_and_left_out", what_is_refused_is_said_and_left_out},
    {NULL, NULL},
};
