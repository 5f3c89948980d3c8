/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "entrypoint/cli/adopt.h"

#define HEAD "\nimport os\nfrom ipybox.tool_exec.client import ToolRunner\n\nCLIENT = ToolRunner(\n"
#define REST                                                                                       \
    "    host=os.environ.get(\"TOOL_SERVER_HOST\", \"localhost\"),\n"                              \
    "    port=int(os.environ.get(\"TOOL_SERVER_PORT\", \"8900\")),\n)\n"

static void packages_say_which_server_is_theirs(void)
{
    static const char *const texts[] = {
        /* 0.7 to 0.8, 0.9 with mcpygen, and after a formatter */
        HEAD "    server_name=\"git\",\n"
             "    server_params={'command': 'uvx', 'args': ['mcp-server-git']},\n" REST,
        HEAD "    server_name='git',\n"
             "    server_params={'command': 'uvx', 'args': ['mcp-server-git']},\n" REST,
        HEAD "    server_name=\"git\",\n    server_params={\n        \"command\": \"uvx\",\n"
             "        \"args\": [\"mcp-server-git\"],  # as before\n    },\n" REST,
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        drop_str char *name = NULL;
        drop_json struct json *params = NULL;
        struct err e = ERR_NONE;
        TEST_CASE(texts[i]);
        TEST_CHECK(adopt_read(texts[i], strlen(texts[i]), &name, &params, &e) == 0);
        TEST_MSG("%s", e.msg);
        drop_str char *printed = json_print(params);
        TEST_CHECK(name && strcmp(name, "git") == 0);
        TEST_CHECK(printed &&
                   strcmp(printed, "{\"command\":\"uvx\",\"args\":[\"mcp-server-git\"]}") == 0);
    }
}

static void other_files_are_left_alone(void)
{
    static const struct {
        const char *text;
        int code;
    } cases[] = {
        {"", -ENOENT},
        {"from ipybox_tools import ToolRunner\nCLIENT = object()\n", -ENOENT},
        {HEAD "    server_name=NAME,\n    server_params={},\n" REST, -EINVAL},
        {HEAD "    server_name=\"git\",\n    server_params=json.load(f),\n" REST, -EINVAL},
        {HEAD "    server_name=\"git\",\n    server_name=\"git\",\n" REST, -EINVAL},
        {HEAD "    server_name=\"git\",\n    server_params=[],\n" REST, -EINVAL},
        {HEAD "    server_name=\"git\"\n    server_params={},\n" REST, -EINVAL},
        {HEAD "    server_name=\"git\", server_params={", -EINVAL},
        {HEAD, -EINVAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *name = NULL;
        struct json *params = NULL;
        TEST_CASE(cases[i].text);
        TEST_CHECK(adopt_read(cases[i].text, strlen(cases[i].text), &name, &params, NULL) ==
                   cases[i].code);
        TEST_CHECK(!name && !params);
    }
}

TEST_LIST = {
    {"packages_say_which_server_is_theirs", packages_say_which_server_is_theirs},
    {"other_files_are_left_alone", other_files_are_left_alone},
    {NULL, NULL},
};
