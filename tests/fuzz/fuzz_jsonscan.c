/* SPDX-License-Identifier: Apache-2.0
 *
 * The id of a line. Fed in two pieces the scanner says what it says of the whole; of valid JSON it
 * finds the id exactly when the parser has one, and what it found is that value. The first byte
 * chooses where the line is cut. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json/json.h"
#include "base/json/jsonscan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* The id that the tree has must be the one that was found as text. */
static void compare(const struct json *tree, const char *found, size_t len)
{
    const struct json *id = json_get(tree, "id");
    if (!id) {
        must(!*found);
        return;
    }
    if (!*found) {
        must(len > JSONSCAN_ID_MAX); /* an id over the limit counts as absent */
        return;
    }
    drop_json struct json *scanned = json_parse_copy(found, strlen(found), JSON_STRICT, NULL);
    must(scanned != NULL);
    drop_str char *a = json_print(id);
    drop_str char *b = json_print(scanned);
    must(strcmp(a, b) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *line = (const char *)data + 1;
    size_t len = size - 1;
    size_t cut = len ? data[0] * len / 255 : 0;

    struct jsonscan whole = {0};
    jsonscan_feed(&whole, line, len);
    struct jsonscan pieces = {0};
    jsonscan_feed(&pieces, line, cut);
    jsonscan_feed(&pieces, line + cut, len - cut);
    const char *found = jsonscan_id(&whole);
    must(strcmp(found, jsonscan_id(&pieces)) == 0);
    must(strlen(found) <= JSONSCAN_ID_MAX);

    drop_json struct json *tree = json_parse_copy(line, len, JSON_STRICT, NULL);
    if (json_is_object(tree))
        compare(tree, found, len);
    return 0;
}
