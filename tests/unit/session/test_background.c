/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json/json.h"
#include "session/queue/background.h"

#define DROPPED "[more output followed and was dropped]"
#define PNG "\"image/png\":\"iVBORw0KGgo=\""

static char workspace[64];

static void begin(struct background_output *late)
{
    (void)snprintf(workspace, sizeof workspace, "/tmp/ipybox-test-XXXXXX");
    TEST_ASSERT(mkdtemp(workspace) != NULL);
    background_init(late, workspace);
}

static void end(struct background_output *late)
{
    drop_str char *command = xasprintf("rm -rf %s", workspace);
    background_done(late);
    TEST_CHECK(system(command) == 0);
}

static void say(struct background_output *late, enum jupyter_type type, const char *content)
{
    drop_json struct json *j = json_parse_copy(content, strlen(content), JSON_STRICT, NULL);
    TEST_ASSERT(j != NULL);
    background_message(late, &(struct jupyter_msg){.type = type, .content = j});
}

static void print(struct background_output *late, const char *text)
{
    drop_str char *content = xasprintf("{\"name\":\"stdout\",\"text\":\"%s\"}", text);
    say(late, JUPYTER_STREAM, content);
}

static void display(struct background_output *late, enum jupyter_type type, const char *data,
                    const char *id)
{
    drop_str char *content =
        xasprintf("{\"data\":{%s},\"transient\":{\"display_id\":\"%s\"}}", data, id);
    say(late, type, content);
}

static void check_told(struct background_output *late, const char *expected)
{
    const char *told = background_tell(late, SIZE_MAX);
    TEST_CHECK(strcmp(told, expected) == 0);
    TEST_MSG("told: %s", told);
    background_told(late);
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        n++;
    return n;
}

static void what_came_is_told_once(void)
{
    struct background_output late;
    begin(&late);
    check_told(&late, "");
    print(&late, "one\\n");
    background_text(&late, "two");
    print(&late, " three\\n");
    check_told(&late, "one\ntwo three");
    check_told(&late, "");
    print(&late, "four");
    check_told(&late, "four");
    end(&late);
}

/* One length by one: there is none at which what follows is dropped without a word. */
static void what_goes_beyond_the_limit_is_said(void)
{
    struct background_output late;
    begin(&late);
    for (size_t n = BACKGROUND_CHARS_MAX - 60; n < BACKGROUND_CHARS_MAX + 3; n++) {
        char *text = xcalloc(1, n + 1);
        memset(text, 'x', n);
        background_text(&late, text);
        background_text(&late, "y");
        const char *told = background_tell(&late, SIZE_MAX);
        bool whole = n < BACKGROUND_CHARS_MAX;
        TEST_CASE_("%zu", n);
        TEST_CHECK(whole == !strstr(told, DROPPED));
        TEST_CHECK(strlen(told) >= (whole ? n + 1 : BACKGROUND_CHARS_MAX));
        TEST_CHECK((told[n < BACKGROUND_CHARS_MAX ? n : 0] == 'y') == whole);
        background_told(&late);
        xfree(text);
    }
    print(&late, "anew");
    check_told(&late, "anew");
    end(&late);
}

static void what_is_told_has_room_and_the_rest_a_file(void)
{
    struct background_output late;
    char path[200] = "";
    begin(&late);
    for (int i = 0; i < 300; i++)
        print(&late, "a line\\n");
    const char *told = background_tell(&late, 400);
    TEST_CHECK(strlen(told) < 600 && strstr(told, "characters are left out here"));
    const char *file = strstr(told, "[All 2099 characters are in ");
    TEST_ASSERT(file != NULL);
    TEST_CHECK(sscanf(file, "[All 2099 characters are in %199[^]]", path) == 1);
    TEST_CHECK(access(path, R_OK) == 0);
    background_told(&late);
    end(&late);
}

static void a_progress_bar_and_a_display_come_in_their_last_state(void)
{
    struct background_output late;
    begin(&late);
    print(&late, "10%");
    print(&late, "\\r20%");
    print(&late, "\\r30% done\\n");
    display(&late, JUPYTER_DISPLAY_DATA, "\"text/plain\":\"first \"", "a");
    display(&late, JUPYTER_UPDATE_DISPLAY_DATA, "\"text/plain\":\"second \"", "a");
    /* of a display that its cell has shown: there is nothing to change */
    display(&late, JUPYTER_UPDATE_DISPLAY_DATA, "\"text/plain\":\"third\"", "b");
    display(&late, JUPYTER_UPDATE_DISPLAY_DATA, "\"text/plain\":\"fourth\"", "b");
    check_told(&late, "30% done\nsecond \nfourth");
    end(&late);
}

static void what_another_cell_said_is_not_cleared(void)
{
    struct background_output late;
    begin(&late);
    print(&late, "one ");
    say(&late, JUPYTER_CLEAR_OUTPUT, "{\"wait\":true}");
    print(&late, "two");
    say(&late, JUPYTER_CLEAR_OUTPUT, "{\"wait\":false}");
    check_told(&late, "one two");
    end(&late);
}

static void displays_are_saved_and_listed(void)
{
    struct background_output late;
    char path[200] = "", kind[32] = "";
    begin(&late);
    display(&late, JUPYTER_DISPLAY_DATA, "\"text/plain\":\"<Figure>\"," PNG, "");
    const char *told = background_tell(&late, SIZE_MAX);
    TEST_CHECK(sscanf(told, "<Figure>\n\nGenerated images:\n\n- [%*8[0-9a-f]](%199[^)])", path) ==
               1);
    TEST_CHECK(strstr(path, "/images/") && strstr(path, ".png") && access(path, R_OK) == 0);
    background_told(&late);
    TEST_CHECK(access(path, R_OK) == 0);
    display(&late, JUPYTER_DISPLAY_DATA, "\"application/vnd.plotly.v1+json\":{\"data\":[]}", "");
    told = background_tell(&late, SIZE_MAX);
    TEST_CHECK(sscanf(told, "Generated files:\n\n- [%*8[0-9a-f]](%*[^.].%31[^)])", kind) == 1);
    TEST_CHECK(strcmp(kind, "plotly.json") == 0);
    background_told(&late);
    display(&late, JUPYTER_UPDATE_DISPLAY_DATA, PNG, "a");
    display(&late, JUPYTER_UPDATE_DISPLAY_DATA, PNG, "a");
    TEST_CHECK(count(background_tell(&late, SIZE_MAX), ".png)") == 1);
    end(&late);
}

static void files_that_nobody_heard_of_go_with_a_reset(void)
{
    struct background_output late;
    begin(&late);
    display(&late, JUPYTER_DISPLAY_DATA, PNG, "");
    TEST_ASSERT(late.output.file_count == 1);
    drop_str char *path = xstrdup(late.output.files[0].path);
    TEST_CHECK(access(path, R_OK) == 0);
    background_drop(&late);
    TEST_CHECK(access(path, R_OK) < 0);
    check_told(&late, "");
    end(&late);
}

static void displays_are_bounded_in_number_and_bytes_and_it_is_said(void)
{
    struct background_output late;
    begin(&late);
    for (int i = 0; i < BACKGROUND_FILES_MAX + 2; i++)
        display(&late, JUPYTER_DISPLAY_DATA, PNG, "");
    const char *told = background_tell(&late, SIZE_MAX);
    TEST_CHECK(count(told, ".png)") == BACKGROUND_FILES_MAX);
    TEST_CHECK(count(told, "a cell may save 50 displays after its end") == 2);
    background_told(&late);
    late.output.saved_max = 20; /* each has 8 */
    for (int i = 0; i < 3; i++)
        display(&late, JUPYTER_DISPLAY_DATA, PNG, "");
    display(&late, JUPYTER_UPDATE_DISPLAY_DATA, PNG, "a");
    told = background_tell(&late, SIZE_MAX);
    TEST_CHECK(count(told, ".png)") == 2);
    TEST_CHECK(count(told, "may take 20 bytes together") == 2);
    background_told(&late);
    late.output.saved_max = 12;
    for (int i = 0; i < 3; i++) /* each takes the place of the one before */
        display(&late, JUPYTER_UPDATE_DISPLAY_DATA, PNG, "a");
    told = background_tell(&late, SIZE_MAX);
    TEST_CHECK(count(told, ".png)") == 1 && !strstr(told, "together"));
    end(&late);
}

#define T(name) {#name, name}
TEST_LIST = {
    T(what_came_is_told_once),
    T(what_goes_beyond_the_limit_is_said),
    T(what_is_told_has_room_and_the_rest_a_file),
    T(a_progress_bar_and_a_display_come_in_their_last_state),
    T(what_another_cell_said_is_not_cleared),
    T(displays_are_saved_and_listed),
    T(files_that_nobody_heard_of_go_with_a_reset),
    T(displays_are_bounded_in_number_and_bytes_and_it_is_said),
    {NULL, NULL},
};
