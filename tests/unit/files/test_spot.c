/* SPDX-License-Identifier: Apache-2.0
 *
 * Places and their rules, while somebody else moves folders about: here the rules themselves do, at
 * the moment at which they are asked, which is the worst one. */
#include "scratch.h"

#include "files/spot.h"
#include "files/tree.h"

static struct beneath here;
static int asked;
static char last_asked[BENEATH_REAL_MAX];
static void (*meanwhile)(void);

/* Nothing may be done at or below `closed`, and nothing that has `secret` in its name. */
static bool may(void *ctx, enum spot_act act, const char *path)
{
    (void)ctx, (void)act;
    asked++;
    (void)snprintf(last_asked, sizeof last_asked, "%s", path);
    bool allowed = !strstr(path, "/w/closed") && !strstr(path, "secret");
    void (*now)(void) = meanwhile;
    meanwhile = NULL;
    if (now)
        now();
    return allowed;
}

static bool may_move(void *ctx, const char *from, const char *to, bool is_dir)
{
    return may(ctx, SPOT_REMOVE, from) && may(ctx, SPOT_REMOVE, to) &&
           !(is_dir && strstr(to, "files-only"));
}

static ino_t hidden;

static bool hides(void *ctx, const struct stat *st)
{
    (void)ctx;
    return st->st_ino == hidden;
}

static const struct spot_rules rules = {may, may_move, hides, NULL};

static void begin(void)
{
    open_place();
    here = beneath_of(fcntl(w, F_DUPFD_CLOEXEC, 0));
    TEST_CHECK(mkdirat(w, "closed", 0755) == 0 && mkdirat(w, "open", 0755) == 0);
    put_at(w, "closed/f", "closed");
    put_at(w, "open/f", "open");
    asked = 0;
}

static void end(void)
{
    beneath_close(&here);
    close_place();
}

static int find(const char *path, unsigned way, struct spot *ret)
{
    return spot_find(&here, path, way, &rules, SPOT_WRITE, ret);
}

/* As rules are asked about a path. */
static void check_real(const char *path, const char *expected)
{
    char root[PATH_MAX], wanted[BENEATH_REAL_MAX];
    drop_held struct spot p = SPOT_NONE;
    TEST_ASSERT(beneath_real_of(w, root));
    (void)snprintf(wanted, sizeof wanted, "%s%s", root, expected);
    last_asked[0] = '\0';
    (void)!find(path, SPOT_AS_IT_IS, &p);
    TEST_CHECK(strcmp(last_asked, wanted) == 0);
    TEST_MSG("%s leads to %s", path, last_asked);
}

static void rules_are_asked_by_real_names_but_for_the_last_component(void)
{
    begin();
    TEST_CHECK(mkdirat(w, "d", 0755) == 0 && mkdirat(w, "d/e", 0755) == 0);
    TEST_CHECK(symlinkat("d/e", w, "to-e") == 0 && symlinkat("/", w, "away") == 0);
    check_real("open/f", "/open/f");
    check_real("to-e", "/to-e");
    check_real("to-e/g", "/d/e/g");
    check_real("to-e/not/there", "/d/e/not/there");
    check_real("not/there", "/not/there");
    struct spot p = SPOT_NONE;
    TEST_CHECK(find("away/etc", SPOT_AS_IT_IS, &p) == -EXDEV);
    spot_close(&p);
    end();
}

static void swap_open_for_a_link(void)
{
    TEST_CHECK(renameat(w, "open", w, "was-open") == 0 && symlinkat("closed", w, "open") == 0);
}

static int put_file(const struct spot *p, const char *text)
{
    struct newfile f = NEWFILE_NONE;
    int r = spot_new_file(p, 0644, &f);
    if (r == 0)
        r = newfile_write(&f, text, strlen(text));
    return r < 0 ? r : spot_commit(p, &f, NEWFILE_REPLACE, false);
}

static void what_is_held_is_judged_and_acted_on(void)
{
    begin();
    struct spot p = SPOT_NONE;
    meanwhile = swap_open_for_a_link; /* when `open` is held already */
    TEST_CHECK(find("open/f", 0, &p) == 0);
    TEST_CHECK(spot_may(&p, SPOT_WRITE) == 0 && strstr(last_asked, "/w/was-open/f") != NULL);
    TEST_CHECK(spot_remove(&p, false) == 0);
    TEST_CHECK(!is_there(w, "was-open/f") && is_there(w, "closed/f"));
    TEST_CHECK(put_file(&p, "x") == 0 && strcmp(text_at(w, "was-open/f"), "x") == 0);
    TEST_CHECK(renameat(w, "was-open", w, "elsewhere") == 0 && put_file(&p, "y") == -ESTALE);
    TEST_CHECK(strcmp(text_at(w, "closed/f"), "closed") == 0);
    spot_close(&p);
    end();
}

static void a_link_leads_to_where_it_leads(void)
{
    begin();
    struct spot p = SPOT_NONE;
    TEST_CHECK(symlinkat("closed", w, "way") == 0 && symlinkat("open", w, "other") == 0);
    TEST_CHECK(find("way/f", 0, &p) == SPOT_REFUSED && find("way/new", 0, &p) == SPOT_REFUSED);
    TEST_CHECK(find("other/f", SPOT_NO_LINKS, &p) == -ELOOP);
    TEST_CHECK(find("other/f", 0, &p) == 0 && put_file(&p, "new") == 0);
    TEST_CHECK(strcmp(text_at(w, "open/f"), "new") == 0);
    int fd = spot_open(&here, "way/f", O_RDONLY, BENEATH_FOLLOW, &rules, NULL);
    TEST_CHECK(fd == SPOT_REFUSED);
    TEST_CHECK(symlinkat("closed/f", w, "last") == 0);
    TEST_CHECK(spot_open(&here, "last", O_RDONLY, BENEATH_FOLLOW, &rules, NULL) == SPOT_REFUSED);
    spot_close(&p);
    end();
}

static void take_the_right_away(void)
{
    TEST_CHECK(renameat(w, "open", w, "closed/open") == 0);
}

static void a_change_asks_once_more_before_it(void)
{
    begin();
    struct spot p = SPOT_NONE;
    TEST_CHECK(find("open/f", 0, &p) == 0);
    take_the_right_away();
    TEST_CHECK(spot_remove(&p, false) == SPOT_REFUSED);
    TEST_CHECK(spot_make_folder(&p, 0755) == SPOT_REFUSED);
    TEST_CHECK(spot_symlink(&p, "x") == SPOT_REFUSED && spot_open_tree(&p) == SPOT_REFUSED);
    TEST_CHECK(put_file(&p, "x") == SPOT_REFUSED);
    TEST_CHECK(spot_hardlink(&p, &p) == SPOT_REFUSED && spot_move(&p, &p, true) < 0);
    TEST_CHECK(strcmp(text_at(w, "closed/open/f"), "open") == 0);
    spot_close(&p);
    end();
}

static void commit_asks_behind_the_content(void)
{
    begin();
    struct spot p = SPOT_NONE;
    struct newfile f = NEWFILE_NONE;
    TEST_CHECK(find("open/new", 0, &p) == 0 && spot_new_file(&p, 0644, &f) == 0);
    TEST_CHECK(newfile_write(&f, "x", 1) == 0);
    (void)snprintf(p.name, sizeof p.name, "secret"); /* as if the rules had changed */
    TEST_CHECK(spot_commit(&p, &f, NEWFILE_REPLACE, true) == SPOT_REFUSED && f.fd < 0);
    TEST_CHECK(!is_there(w, "open/secret") && !is_there(w, "open/new"));
    spot_close(&p);
    end();
}

static void a_folder_that_has_gone_is_no_place(void)
{
    begin();
    struct spot p = SPOT_NONE;
    TEST_CHECK(mkdirat(w, "gone", 0755) == 0 && find("gone/f", 0, &p) == 0);
    TEST_CHECK(unlinkat(w, "gone", AT_REMOVEDIR) == 0);
    TEST_CHECK(spot_may(&p, SPOT_READ) == -ENOENT && spot_remove(&p, false) == -ENOENT);
    /* A name that only looks like that is one. */
    TEST_CHECK(mkdirat(w, "d (deleted)", 0755) == 0);
    spot_close(&p);
    TEST_CHECK(find("d (deleted)/f", 0, &p) == 0 && put_file(&p, "x") == 0);
    /* What was read and replaced is not judged by a name that nothing has. */
    int fd = openat(w, "open/f", O_RDONLY | O_CLOEXEC);
    TEST_CHECK(spot_admits(fd, &rules) == 0 && unlinkat(w, "open/f", 0) == 0);
    TEST_CHECK(spot_admits(fd, &rules) == -ENOENT);
    (void)fd_close(fd);
    spot_close(&p);
    end();
}

static void put_a_link_on_the_way(void)
{
    TEST_CHECK(symlinkat("closed", w, "new") == 0);
}

static void folders_are_made_one_by_one_and_not_where_nothing_may_be(void)
{
    begin();
    struct spot p = SPOT_NONE;
    TEST_CHECK(find("a/b/c/f", 0, &p) == -ENOENT && !is_there(w, "a"));
    TEST_CHECK(find("a/b/secret/f", SPOT_MAKE_FOLDERS, &p) == SPOT_REFUSED && !is_there(w, "a"));
    TEST_CHECK(find("closed/b/f", 0, &p) == SPOT_REFUSED); /* and not: it is not there */
    TEST_CHECK(find("a/b/c/f", SPOT_MAKE_FOLDERS, &p) == 0 && put_file(&p, "x") == 0);
    TEST_CHECK(strcmp(text_at(w, "a/b/c/f"), "x") == 0);
    spot_close(&p);
    meanwhile = put_a_link_on_the_way;
    TEST_CHECK(find("new/sub/f", SPOT_MAKE_FOLDERS, &p) == -ENOTDIR && !is_there(w, "closed/sub"));
    int fd = spot_folder(&here, "x/y", SPOT_MAKE_FOLDERS, &rules);
    TEST_CHECK(fd >= 0 && is_there(w, "x/y"));
    (void)fd_close(fd);
    TEST_CHECK(spot_folder(&here, "closed/y", SPOT_MAKE_FOLDERS, &rules) == SPOT_REFUSED);
    spot_close(&p);
    end();
}

static void hidden_content_is_hidden_by_every_name(void)
{
    begin();
    struct stat st;
    struct spot p = SPOT_NONE, q = SPOT_NONE;
    put_at(w, "token", "t");
    TEST_CHECK(linkat(w, "token", w, "open/plain", 0) == 0 && fstatat(w, "token", &st, 0) == 0);
    hidden = st.st_ino;
    TEST_CHECK(spot_open(&here, "open/plain", O_RDONLY, BENEATH_FOLLOW, &rules, NULL) ==
               SPOT_REFUSED);
    TEST_CHECK(find("open/more", 0, &p) == 0 && find("open/plain", 0, &q) == 0);
    TEST_CHECK(spot_hardlink(&p, &q) == SPOT_REFUSED && !is_there(w, "open/more"));
    hidden = 0;
    TEST_CHECK(spot_hardlink(&p, &q) == 0 && strcmp(text_at(w, "open/more"), "t") == 0);
    spot_close(&p);
    spot_close(&q);
    end();
}

static void put_a_folder_in_its_place(void)
{
    TEST_CHECK(unlinkat(w, "open/f", 0) == 0 && mkdirat(w, "open/f", 0755) == 0);
    put_at(w, "open/f/in", "x");
}

static void a_folder_that_takes_a_files_place_does_not_move_in_its_stead(void)
{
    begin();
    struct spot p = SPOT_NONE, q = SPOT_NONE;
    TEST_CHECK(find("open/f", 0, &p) == 0 && find("files-only", 0, &q) == 0);
    meanwhile = put_a_folder_in_its_place;
    TEST_CHECK(spot_move(&p, &q, false) == SPOT_REFUSED);
    TEST_CHECK(is_there(w, "open/f/in") && !is_there(w, "files-only"));
    spot_close(&p);
    spot_close(&q);
    end();
}

static void a_tree_keeps_out_of_what_may_not_be_read_or_removed(void)
{
    begin();
    struct tree *t = NULL;
    struct tree_entry entry;
    const char *below = NULL;
    TEST_CHECK(mkdirat(w, "t", 0755) == 0 && mkdirat(w, "t/secret", 0755) == 0);
    put_at(w, "t/secret/f", "x");
    TEST_ASSERT(tree_open(openat(w, "t", O_RDONLY | O_DIRECTORY | O_CLOEXEC), &t) == 0);
    tree_judge(t, &rules);
    TEST_CHECK(tree_next(t, &entry) == 1 && tree_enter(t) == SPOT_REFUSED);
    TEST_CHECK(tree_next(t, &entry) == 0);
    t = tree_close(t);
    TEST_ASSERT(tree_open(openat(w, "t", O_RDONLY | O_DIRECTORY | O_CLOEXEC), &t) == 0);
    tree_judge(t, &rules);
    TEST_CHECK(tree_delete(t, &below) == SPOT_REFUSED && strcmp(below, "secret") == 0);
    TEST_CHECK(is_there(w, "t/secret/f"));
    (void)tree_close(t);
    end();
}

TEST_LIST = {
    {"rules_are_asked_by_real_names_but_for_the_last_component",
     rules_are_asked_by_real_names_but_for_the_last_component},
    {"what_is_held_is_judged_and_acted_on", what_is_held_is_judged_and_acted_on},
    {"a_link_leads_to_where_it_leads", a_link_leads_to_where_it_leads},
    {"a_change_asks_once_more_before_it", a_change_asks_once_more_before_it},
    {"commit_asks_behind_the_content", commit_asks_behind_the_content},
    {"a_folder_that_has_gone_is_no_place", a_folder_that_has_gone_is_no_place},
    {"folders_are_made_one_by_one_and_not_where_nothing_may_be",
     folders_are_made_one_by_one_and_not_where_nothing_may_be},
    {"hidden_content_is_hidden_by_every_name", hidden_content_is_hidden_by_every_name},
    {"a_folder_that_takes_a_files_place_does_not_move_in_its_stead",
     a_folder_that_takes_a_files_place_does_not_move_in_its_stead},
    {"a_tree_keeps_out_of_what_may_not_be_read_or_removed",
     a_tree_keeps_out_of_what_may_not_be_read_or_removed},
    {NULL, NULL},
};
