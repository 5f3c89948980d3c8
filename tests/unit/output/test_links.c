/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text/utf8.h"
#include "output/links.h"

static char workspace[64];

static void open_output(struct output *o, size_t files)
{
    (void)snprintf(workspace, sizeof workspace, "/tmp/ipybox-test-XXXXXX");
    TEST_ASSERT(mkdtemp(workspace) != NULL);
    output_init(o, workspace, 5000, (uint64_t)1 << 30);
    o->files = xcalloc(files, sizeof *o->files);
    o->file_count = files;
    for (size_t i = 0; i < files; i++)
        o->files[i] = (struct output_file){.path = xasprintf("/app/workspace/%s/%08zx.%s",
                                                             i % 2 ? "images" : "outputs", i,
                                                             i % 2 ? "png" : "html"),
                                           .mime = i % 2 ? "image/png" : "text/html",
                                           .is_image = i % 2,
                                           .bytes = i};
}

static void close_output(struct output *o)
{
    output_done(o);
    drop_str char *command = xasprintf("rm -rf %s", workspace);
    TEST_CHECK(system(command) == 0);
}

static void images_come_first_and_files_have_a_size(void)
{
    struct output o;
    open_output(&o, 2);
    drop_buf struct buf text = BUF_INIT(1000);
    links_put(&text, &o, 1000);
    TEST_CHECK(strcmp(buf_text(&text),
                      "\n\nGenerated images:\n\n- [00000001](/app/workspace/images/00000001.png)\n"
                      "\n\nGenerated files:\n\n- [00000000](/app/workspace/outputs/00000000.html) "
                      "text/html, 0 bytes\n") == 0);
    TEST_MSG("%s", buf_text(&text));
    TEST_CHECK(links_chars(&o) == text.len);
    close_output(&o);
}

static void of_many_the_first_are_shown_and_a_file_lists_all(void)
{
    struct output o;
    open_output(&o, 100);
    for (size_t room = 0; room < 3000; room += 500) {
        TEST_CASE_("%zu", room);
        drop_buf struct buf text = BUF_INIT(100000);
        links_put(&text, &o, room);
        TEST_CHECK(utf8_count(buf_text(&text), text.len) <= (room > 200 ? room : 200));
        unsigned more = 0;
        char list[200] = "";
        const char *line = strstr(buf_text(&text), "- \xE2\x80\xA6 and ");
        TEST_ASSERT(line != NULL);
        TEST_CHECK(sscanf(line + 10, "%u more files, all of them listed in %199s", &more, list) ==
                   2);
        TEST_CHECK(more > 0 && more <= 100 && access(list, R_OK) == 0);
    }
    close_output(&o);
}

TEST_LIST = {
    {"images_come_first_and_files_have_a_size", images_come_first_and_files_have_a_size},
    {"of_many_the_first_are_shown_and_a_file_lists_all",
     of_many_the_first_are_shown_and_a_file_lists_all},
    {NULL, NULL},
};
