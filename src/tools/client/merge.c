/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/client/merge.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hmac.h"

enum { DIGEST = 16 };

static const char begin[] = "# --- End of the generated part ";
static const char behind[] = " ---\n";

/* What apigen writes begins with a comment. */
static bool is_generated_text(const char *text)
{
    return strncmp(text, "# ", 2) == 0 && strstr(text, "of an MCP server");
}

static const char *find_last_generated(const char *text)
{
    for (const char *at = text; (at = strstr(at, begin)); at++)
        if (at == text || at[-1] == '\n')
            return at;
    return NULL;
}

static const char *next_line(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

static bool opens_or_ends_docstring(const char *line, const char *end)
{
    bool odd = false;
    for (const char *at = line; (at = strstr(at, "\"\"\"")) && at < end; at += 3)
        odd = !odd;
    return odd;
}

static bool is_run(const char *line)
{
    return strncmp(line, "def run(", 8) == 0 || strncmp(line, "async def run(", 14) == 0 ||
           strncmp(line, "async def arun(", 15) == 0;
}

/* Below the bodies of run() and arun(), which are indented. */
static const char *find_tail(const char *text)
{
    const char *tail = NULL;
    bool inside = false, body = false;
    for (const char *line = text; *line; line = next_line(line)) {
        if (!inside && is_run(line)) {
            body = true;
            tail = NULL;
        } else if (!inside && body && !strchr(" \t\r\n)", *line)) {
            tail = line;
            body = false;
        }
        inside ^= opens_or_ends_docstring(line, next_line(line));
    }
    return tail;
}

static void digest_of_part(const char *text, size_t n, char ret[HMAC_HEX + 1])
{
    sha256_hex(text, n, ret);
    ret[DIGEST] = '\0';
}

/* Of an old module: what users have added, "" for nothing. */
static const char *users_part(const char *old, const char *line, bool *ret_edited)
{
    char digest[HMAC_HEX + 1];
    const char *tail = line ? next_line(line) : find_tail(old);
    if (line) {
        digest_of_part(old, (size_t)(line - old), digest);
        *ret_edited = strncmp(line + sizeof begin - 1, digest, DIGEST) != 0;
    } else {
        *ret_edited = tail != NULL;
    }
    tail = tail ? tail : "";
    return tail[strspn(tail, " \t\r\n")] ? tail : "";
}

void merge_module(const char *fresh, const char *old, struct merged *ret)
{
    char digest[HMAC_HEX + 1];
    *ret = (struct merged){0};
    if (!is_generated_text(fresh)) {
        ret->text = old && strcmp(old, fresh) == 0 ? NULL : xstrdup(fresh);
        return;
    }
    digest_of_part(fresh, strlen(fresh), digest);
    const char *line = old ? find_last_generated(old) : NULL;
    if (line && strncmp(line + sizeof begin - 1, digest, DIGEST) == 0)
        return;
    const char *added = old ? users_part(old, line, &ret->edited) : "";
    ret->added = *added != '\0';
    ret->text = xasprintf("%s%s%s%s%s%s", fresh, begin, digest, behind,
                          ret->added && !line ? "\n\n" : "", added);
}

bool merge_is_generated(const char *old, bool *ret_added)
{
    const char *line = find_last_generated(old);
    bool edited = false;
    *ret_added = line && *users_part(old, line, &edited) != '\0';
    return line && is_generated_text(old);
}
