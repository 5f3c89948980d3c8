/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "output/display.h"

static char workspace[64];

static void make_workspace(void)
{
    (void)snprintf(workspace, sizeof workspace, "/tmp/ipybox-test-XXXXXX");
    TEST_ASSERT(mkdtemp(workspace) != NULL);
}

static void remove_workspace(void)
{
    drop_str char *command = xasprintf("rm -rf %s", workspace);
    TEST_CHECK(system(command) == 0);
}

static void open_output(struct output *o, size_t max_chars)
{
    make_workspace();
    output_init(o, workspace, max_chars, (uint64_t)1 << 30);
}

static void close_output(struct output *o)
{
    output_done(o);
    remove_workspace();
}

static void add(struct output *o, const char *text)
{
    output_text(o, text, strlen(text));
}

static char *read_whole(const char *path, size_t *ret_n)
{
    FILE *file = fopen(path, "re");
    TEST_ASSERT(file != NULL);
    char *bytes = xcalloc(1, 1 << 20);
    *ret_n = fread(bytes, 1, 1 << 20, file);
    (void)fclose(file);
    return bytes;
}

static void line_breaks_alone_are_stripped_at_both_ends(void)
{
    static const struct {
        const char *parts[4];
        const char *expected;
    } cases[] = {
        {{"hello\n"}, "hello"},
        {{"\n\n", "   a\n0  1", "\n", "\n"}, "   a\n0  1"}, /* the head of a frame */
        {{"  a  \n"}, "  a  "},
        {{"\n", "\n"}, ""},
        {{"a", "\n", "\n", "b"}, "a\n\nb"},
        {{"\n", " ", "\n"}, " "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE_("case %zu", i);
        struct output o;
        open_output(&o, 1000);
        for (int k = 0; k < 4 && cases[i].parts[k]; k++)
            add(&o, cases[i].parts[k]);
        output_finish(&o, SIZE_MAX);
        TEST_CHECK(strcmp(buf_text(&o.text), cases[i].expected) == 0);
        TEST_CHECK(!o.truncated && !o.file);
        close_output(&o);
    }
}

static void text_at_the_limit_is_whole_and_one_more_goes_to_a_file(void)
{
    struct output o;
    open_output(&o, 5);
    add(&o, "12345");
    output_finish(&o, SIZE_MAX);
    TEST_CHECK(!o.truncated && o.chars == 5);
    close_output(&o);

    open_output(&o, 5);
    add(&o, "123");
    add(&o, "456");
    output_finish(&o, SIZE_MAX);
    TEST_CHECK(o.truncated && o.chars == 6);
    TEST_CHECK(strcmp(buf_text(&o.text), "12345") == 0);
    size_t n;
    drop_str char *bytes = read_whole(o.file, &n);
    TEST_CHECK(n == 6 && memcmp(bytes, "123456", 6) == 0);
    TEST_CHECK(strncmp(o.file, workspace, strlen(workspace)) == 0);
    close_output(&o);
}

static void line_breaks_beyond_the_limit_truncate_nothing(void)
{
    struct output o;
    open_output(&o, 3);
    add(&o, "abc");
    for (int i = 0; i < 100; i++)
        add(&o, "\n");
    output_settle(&o);
    TEST_CHECK(o.file != NULL); /* it could not be known */
    drop_str char *path = xstrdup(o.file);
    output_finish(&o, SIZE_MAX);
    TEST_CHECK(!o.truncated && !o.file && access(path, F_OK) < 0);
    TEST_CHECK(strcmp(buf_text(&o.text), "abc") == 0);
    close_output(&o);
}

static void characters_are_counted_and_never_cut(void)
{
    static const char text[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x90\x8D";
    for (size_t max = 0; max <= 4; max++) {
        struct output o;
        open_output(&o, max);
        for (int i = 0; i < 50; i++)
            add(&o, text);
        output_finish(&o, SIZE_MAX);
        TEST_CHECK(o.truncated && o.chars == 200);
        static const size_t lengths[] = {0, 1, 3, 6, 10};
        TEST_CHECK(o.text.len == lengths[max]);
        size_t n;
        drop_str char *bytes = read_whole(o.file, &n);
        TEST_CHECK(n == 500);
        close_output(&o);
    }
}

static void a_nul_is_a_nul_in_the_file(void)
{
    struct output o;
    open_output(&o, 1);
    add(&o, "a\xC0\x80"
            "b");
    output_finish(&o, SIZE_MAX);
    size_t n;
    drop_str char *bytes = read_whole(o.file, &n);
    TEST_CHECK(n == 3 && memcmp(bytes, "a\0b", 3) == 0);
    TEST_CHECK(o.chars == 3);
    close_output(&o);
}

static void a_megabyte_in_pieces_is_whole_in_the_file(void)
{
    struct output o;
    open_output(&o, 10);
    for (int i = 0; i < 100000; i++) {
        char line[16];
        (void)snprintf(line, sizeof line, "%09d\n", i);
        add(&o, line);
    }
    output_finish(&o, SIZE_MAX);
    TEST_CHECK(o.chars == 999999);
    TEST_CHECK(o.text.size <= 512); /* memory is the limit's, not the output's */
    size_t n;
    drop_str char *bytes = read_whole(o.file, &n);
    TEST_CHECK(n == 1000000 && memcmp(bytes + 999990, "000099999\n", 10) == 0);
    close_output(&o);
}

static void a_file_ends_at_its_limit_and_says_so(void)
{
    struct output o;
    make_workspace();
    output_init(&o, workspace, 1, 1000);
    for (int i = 0; i < 100; i++)
        add(&o, "\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC");
    output_finish(&o, SIZE_MAX);
    TEST_CHECK(o.truncated && o.chars == 400);
    TEST_CHECK(strstr(o.file_note, "limit") != NULL);
    size_t n;
    drop_str char *bytes = read_whole(o.file, &n);
    TEST_CHECK(n <= 1000 && n >= 990 && n % 3 == 0);
    close_output(&o);
}

static void a_workspace_that_takes_no_file_is_said_in_the_note(void)
{
    struct output o;
    output_init(&o, "/proc/nowhere", 3, 1000);
    add(&o, "abcdef");
    output_finish(&o, SIZE_MAX);
    TEST_CHECK(o.truncated && !o.file && *o.file_note);
    TEST_CHECK(strcmp(buf_text(&o.text), "abc") == 0);
    output_done(&o);
}

static void a_folder_that_was_swapped_for_a_link_is_not_followed(void)
{
    struct output o;
    open_output(&o, 1);
    drop_str char *link = xasprintf("%s/outputs", workspace);
    TEST_ASSERT(symlink("/tmp", link) == 0);
    add(&o, "abc");
    output_finish(&o, SIZE_MAX);
    TEST_CHECK(o.truncated && !o.file && *o.file_note);
    close_output(&o);
}

struct bundle {
    const char *mime[3], *data[3];
};

static const char *find(void *ctx, const char *mime)
{
    const struct bundle *b = ctx;
    for (int i = 0; i < 3; i++) {
        if (b->mime[i] && strcmp(b->mime[i], mime) == 0)
            return b->data[i];
    }
    return NULL;
}

#define A_PNG "iVBORw0KGgo=" /* how they begin, in base64 */
#define A_JPEG "/9j/"
#define BARE "<a.Class object at 0x7f00>"

static void displays_give_text_and_files(void)
{
    static const struct {
        struct bundle bundle;
        const char *text, *ending;
    } cases[] = {
        {{{"text/plain", "image/png"}, {"<Figure>", A_PNG "\n"}}, "<Figure>", ".png"},
        {{{"image/jpeg"}, {A_JPEG}}, "", ".jpg"},
        {{{"image/jpeg", "image/png"}, {A_JPEG, A_PNG}}, "", ".png"}, /* one picture, one file */
        {{{"image/svg+xml"}, {"<svg/>"}}, "", ".svg"},
        {{{"text/plain", "text/html"}, {"   a\n0  1", "<table/>"}}, "   a\n0  1", NULL},
        {{{"text/html"}, {"<b>x</b>"}}, "", ".html"},
        {{{"application/vnd.plotly.v1+json"}, {"{}"}}, "", ".plotly.json"},
        {{{"text/plain", "text/html"}, {BARE, "<b/>"}}, BARE, ".html"},
        {{{"text/plain", "text/html"}, {"<a.HTML object>", "<b/>"}}, "<a.HTML object>", ".html"},
        {{{"text/plain", "text/html"}, {"alt.Chart(...)", "<b/>"}}, "alt.Chart(...)", ".html"},
        {{{"text/plain", "text/markdown"}, {BARE, "# title"}}, "# title", NULL},
        {{{"text/plain", "text/latex"}, {BARE, "$x$"}}, "$x$", NULL},
        {{{"text/plain", "application/json"}, {BARE, "{\"a\":1}"}}, "{\"a\":1}", NULL},
        {{{"text/plain", "text/html", "text/vnd.ipybox.table"}, {BARE, "<table/>", "a  b"}},
         "a  b",
         ".html"},
        {{{"text/plain", "text/html", "text/vnd.ipybox.table"}, {"│ 1 │", "<table/>", "│ 1 │"}},
         "│ 1 │",
         ".html"},
        {{{"text/plain"}, {BARE}}, BARE, NULL},
        {{{"text/plain", "text/markdown"}, {"real", "# title"}}, "real", NULL},
        {{{"text/plain", "*+json"}, {"<VegaLite 5 object>\n\nIf you", "{}"}},
         "<VegaLite 5 object>\n\nIf you",
         ".json"},
        {{{"text/plain", "text/html"}, {"[<a.Line at 0x7f>]", "<b/>"}}, "[<a.Line at 0x7f>]", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TEST_CASE_("case %zu", i);
        struct output o;
        open_output(&o, 1000);
        struct bundle bundle = cases[i].bundle;
        display_show(&o, &(struct display_data){find, &bundle}, NULL);
        output_finish(&o, SIZE_MAX);
        TEST_CHECK(strcmp(buf_text(&o.text), cases[i].text) == 0);
        TEST_MSG("%s", buf_text(&o.text));
        TEST_CHECK(o.file_count == (cases[i].ending ? 1 : 0));
        if (o.file_count == 1) {
            size_t n = strlen(o.files[0].path), e = strlen(cases[i].ending);
            TEST_CHECK(strcmp(o.files[0].path + n - e, cases[i].ending) == 0);
            TEST_CHECK(access(o.files[0].path, R_OK) == 0);
        }
        close_output(&o);
    }
}

static void show_plain(struct output *o, const char *plain)
{
    struct bundle bundle = {{"text/plain"}, {plain}};
    display_show(o, &(struct display_data){find, &bundle}, NULL);
}

static void displays_are_on_lines_of_their_own(void)
{
    struct output o;
    open_output(&o, 1000);
    add(&o, "a");
    show_plain(&o, "1");
    show_plain(&o, "   x\n0  2\n");
    show_plain(&o, "3");
    add(&o, "print\n");
    add(&o, "ed\n");
    show_plain(&o, "4");
    output_new_line(&o);
    add(&o, "pager");
    output_finish(&o, SIZE_MAX);
    TEST_CHECK(strcmp(buf_text(&o.text), "a\n1\n   x\n0  2\n3\nprint\ned\n4\npager") == 0);
    TEST_MSG("%s", buf_text(&o.text));
    close_output(&o);
}

static void of_a_long_text_the_end_is_kept_too(void)
{
    static const size_t limits[] = {200, 1000, 4999, 5000};
    for (size_t k = 0; k < 4; k++) {
        for (int less = 0; less < 2; less++) { /* others have taken half of the room */
            TEST_CASE_("%zu/%d", limits[k], less + 1);
            struct output o;
            open_output(&o, limits[k]);
            for (int i = 0; i < 5000; i++) {
                char line[32];
                (void)snprintf(line, sizeof line, "%d \xE2\x82\xAC\n", i);
                add(&o, line);
            }
            add(&o, "the end");
            output_finish(&o, limits[k] / (size_t)(less + 1));
            const char *text = buf_text(&o.text);
            bool both = limits[k] / (size_t)(less + 1) >= 200;
            TEST_CHECK(o.truncated && o.text_chars <= limits[k] / (size_t)(less + 1));
            TEST_CHECK(strncmp(text, "0 \xE2\x82\xAC\n1 ", 8) == 0);
            TEST_CHECK(both == (strstr(text, "\xE2\x82\xAC\nthe end") != NULL));
            TEST_CHECK(both ==
                       (strstr(text, " characters are left out here \xE2\x80\xA6]\n") != NULL));
            size_t n;
            drop_str char *bytes = read_whole(o.file, &n);
            TEST_CHECK(n > 30000 && memcmp(bytes + n - 7, "the end", 7) == 0);
            close_output(&o);
        }
    }
}

static void what_is_left_out_is_counted(void)
{
    struct output o;
    open_output(&o, 1000);
    for (int i = 0; i < 3000; i++)
        add(&o, "\xE2\x82\xAC");
    output_finish(&o, SIZE_MAX);
    unsigned long out = 0;
    const char *mark = strstr(buf_text(&o.text), "[\xE2\x80\xA6 ");
    TEST_ASSERT(mark != NULL);
    TEST_CHECK(sscanf(mark + 5, "%lu characters", &out) == 1);
    size_t around = strlen("\n[. 2000 characters are left out here .]\n");
    TEST_CHECK(o.text_chars - around + out == 3000);
    TEST_MSG("%zu + %lu", o.text_chars - around, out);
    close_output(&o);
}

static void an_image_that_is_none_is_said_in_the_text(void)
{
    static const char *const data[] = {"***", "", "aGk=", A_JPEG, "iVBORw0KGg=="};
    for (size_t i = 0; i < sizeof data / sizeof *data; i++) {
        struct output o;
        open_output(&o, 1000);
        struct bundle bundle = {{"image/png"}, {data[i]}};
        display_show(&o, &(struct display_data){find, &bundle}, NULL);
        output_finish(&o, SIZE_MAX);
        TEST_CHECK(o.file_count == 0);
        TEST_CHECK(strstr(buf_text(&o.text), "[image/png was displayed but could not be saved: ") !=
                   NULL);
        TEST_CHECK((strstr(buf_text(&o.text), "its data are no png") != NULL) == (i > 0));
        TEST_MSG("%s", buf_text(&o.text));
        close_output(&o);
    }
}

static void show(struct output *o, const char *id, const char *plain, bool update)
{
    struct bundle bundle = {{"text/plain", "image/png"}, {plain, A_PNG}};
    struct display_data data = {find, &bundle};
    (update ? display_update : display_show)(o, &data, id);
}

static void a_display_that_is_updated_shows_its_last_state_in_its_place(void)
{
    struct output o;
    open_output(&o, 1000);
    add(&o, "before\n");
    show(&o, "a", "0 %", false);
    add(&o, "between\n");
    show(&o, "b", "B", false);
    add(&o, "after");
    for (int i = 1; i <= 100; i++) {
        char text[16];
        (void)snprintf(text, sizeof text, "%d %%", i);
        show(&o, "a", text, true);
    }
    show(&o, "b", "second", true);
    show(&o, "unknown", "nothing", true);
    output_finish(&o, SIZE_MAX);
    TEST_CHECK(strcmp(buf_text(&o.text), "before\n100 %\nbetween\nsecond\nafter") == 0);
    TEST_MSG("%s", buf_text(&o.text));
    TEST_CHECK(o.file_count == 3 && o.chars == o.text.len); /* one image each, not one an update */
    close_output(&o);
}

static void a_display_that_becomes_empty_leaves_no_line(void)
{
    struct output o;
    open_output(&o, 1000);
    add(&o, "a\n");
    show(&o, "bar", "0 %", false);
    show(&o, "b", "B", false);
    show(&o, "bar", "", true);
    show(&o, "b", "C", true);
    output_finish(&o, SIZE_MAX);
    TEST_CHECK(strcmp(buf_text(&o.text), "a\nC") == 0);
    TEST_MSG("%s", buf_text(&o.text));
    close_output(&o);
}

static void an_update_that_comes_too_late_is_added_at_the_end(void)
{
    struct output o;
    open_output(&o, 10);
    show(&o, "a", "first", false);
    add(&o, "0123456789");
    show(&o, "a", "last", true);
    output_finish(&o, SIZE_MAX);
    TEST_CHECK(o.truncated);
    size_t n;
    drop_str char *bytes = read_whole(o.file, &n);
    TEST_CHECK(strcmp(bytes, "first\n0123456789\nlast") == 0);
    close_output(&o);
}

static void clear_output_clears_at_once_or_when_something_comes(void)
{
    struct output o;
    open_output(&o, 10);
    add(&o, "0123456789abcdef");
    show(&o, NULL, "x", false);
    drop_str char *image = xstrdup(o.files[0].path);
    output_clear(&o, false);
    TEST_CHECK(access(image, F_OK) < 0);
    add(&o, "one");
    output_clear(&o, true);
    add(&o, "two");
    output_clear(&o, true);
    output_finish(&o, SIZE_MAX);
    TEST_CHECK(strcmp(buf_text(&o.text), "two") == 0 && !o.truncated && !o.file);
    TEST_CHECK(o.chars == 3 && o.file_count == 0);
    close_output(&o);
}

static void progress_bars_come_out_in_their_last_state(void)
{
    struct output o;
    open_output(&o, 1000);
    for (int i = 0; i <= 10; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "\r%3d%%|%.*s", i * 10, i, "##########");
        add(&o, text);
    }
    add(&o, "\ndone");
    output_finish(&o, SIZE_MAX);
    TEST_CHECK(strcmp(buf_text(&o.text), "100%|##########\ndone") == 0);
    close_output(&o);
}

TEST_LIST = {
    {"line_breaks_alone_are_stripped_at_both_ends", line_breaks_alone_are_stripped_at_both_ends},
    {"text_at_the_limit_is_whole_and_one_more_goes_to_a_file",
     text_at_the_limit_is_whole_and_one_more_goes_to_a_file},
    {"line_breaks_beyond_the_limit_truncate_nothing",
     line_breaks_beyond_the_limit_truncate_nothing},
    {"characters_are_counted_and_never_cut", characters_are_counted_and_never_cut},
    {"a_nul_is_a_nul_in_the_file", a_nul_is_a_nul_in_the_file},
    {"a_megabyte_in_pieces_is_whole_in_the_file", a_megabyte_in_pieces_is_whole_in_the_file},
    {"a_file_ends_at_its_limit_and_says_so", a_file_ends_at_its_limit_and_says_so},
    {"a_workspace_that_takes_no_file_is_said_in_the_note",
     a_workspace_that_takes_no_file_is_said_in_the_note},
    {"a_folder_that_was_swapped_for_a_link_is_not_followed",
     a_folder_that_was_swapped_for_a_link_is_not_followed},
    {"displays_give_text_and_files", displays_give_text_and_files},
    {"displays_are_on_lines_of_their_own", displays_are_on_lines_of_their_own},
    {"of_a_long_text_the_end_is_kept_too", of_a_long_text_the_end_is_kept_too},
    {"what_is_left_out_is_counted", what_is_left_out_is_counted},
    {"an_image_that_is_none_is_said_in_the_text", an_image_that_is_none_is_said_in_the_text},
    {"a_display_that_is_updated_shows_its_last_state_in_its_place",
     a_display_that_is_updated_shows_its_last_state_in_its_place},
    {"a_display_that_becomes_empty_leaves_no_line", a_display_that_becomes_empty_leaves_no_line},
    {"an_update_that_comes_too_late_is_added_at_the_end",
     an_update_that_comes_too_late_is_added_at_the_end},
    {"clear_output_clears_at_once_or_when_something_comes",
     clear_output_clears_at_once_or_when_something_comes},
    {"progress_bars_come_out_in_their_last_state", progress_bars_come_out_in_their_last_state},
    {NULL, NULL},
};
