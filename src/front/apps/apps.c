/* SPDX-License-Identifier: Apache-2.0 */
#include "front/apps/apps.h"

#include <string.h>

static const struct app_page {
    const char *uri, *name, *title, *text;
    const unsigned char *html;
    const size_t *size;
} pages[] = {
    {APPS_CELL, "cell", "Result of a cell",
     "What a cell printed, plotted and displayed, its files, and the variables after it.",
     app_cell_html, &app_cell_html_size},
    {APPS_APPROVALS, "approvals", "Waiting approvals",
     "The tool calls that wait for a human, in full, and where they are answered. It answers none.",
     app_approvals_html, &app_approvals_html_size},
};
enum { PAGE_COUNT = sizeof pages / sizeof *pages };

bool apps_are_shown(const struct json *capabilities)
{
    const struct json *ui = json_get(json_get(capabilities, "extensions"), APPS_EXTENSION);
    const struct json *type = json_first(json_get(ui, "mimeTypes"));
    while (type && (!json_text(type) || strcmp(json_text(type), APPS_TYPE) != 0))
        type = json_next(type);
    return type != NULL;
}

void apps_put_extension(struct jsonw *w)
{
    jsonw_set_object(w, APPS_EXTENSION);
    jsonw_set_array(w, "mimeTypes");
    jsonw_text(w, APPS_TYPE);
    jsonw_end(w);
    jsonw_end(w);
}

/* Nothing from elsewhere is needed: the lists of domains are empty. */
static void put_page_policy(struct jsonw *w)
{
    jsonw_set_raw(w, "_meta",
                  "{\"ui\":{\"csp\":{\"connectDomains\":[],\"resourceDomains\":[],"
                  "\"frameDomains\":[],\"baseUriDomains\":[]},\"prefersBorder\":true}}");
}

void apps_put_list(struct jsonw *w)
{
    for (size_t i = 0; i < PAGE_COUNT; i++) {
        jsonw_object(w);
        jsonw_set_text(w, "uri", pages[i].uri);
        jsonw_set_text(w, "name", pages[i].name);
        jsonw_set_text(w, "title", pages[i].title);
        jsonw_set_text(w, "description", pages[i].text);
        jsonw_set_text(w, "mimeType", APPS_TYPE);
        put_page_policy(w);
        jsonw_end(w);
    }
}

bool apps_put_page(struct jsonw *w, const char *uri)
{
    size_t i = 0;
    while (i < PAGE_COUNT && strcmp(pages[i].uri, uri) != 0)
        i++;
    if (i == PAGE_COUNT)
        return false;
    jsonw_object(w);
    jsonw_set_text(w, "uri", pages[i].uri);
    jsonw_set_text(w, "mimeType", APPS_TYPE);
    jsonw_name(w, "text");
    jsonw_text_n(w, (const char *)pages[i].html, *pages[i].size);
    put_page_policy(w);
    jsonw_end(w);
    return true;
}
