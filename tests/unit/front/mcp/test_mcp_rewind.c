/* SPDX-License-Identifier: Apache-2.0
 *
 * The tool rewind, over a session that the test plays. */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "fakes/fake_client.h"

static void call_rewind(const char *id, const char *arguments)
{
    drop_str char *text = xasprintf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\","
                                    "\"params\":{\"name\":\"rewind\",\"arguments\":%s}}",
                                    id, arguments);
    say(text);
}

static void rewind_goes_back_by_cells_where_it_is_offered(void)
{
    open_with(60000);
    initialize("2025-11-25", "{}");
    call_rewind("1", "{}");
    expect("Unknown tool: rewind");
    config.rewinds = true;
    say("{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}");
    expect("\"name\":\"rewind\"");
    call_rewind("3", "{}");
    expect("Error executing tool rewind: cells: 0 can be undone at most");
    fake.newest = 4;
    fake.made = (struct session_call){3, "demo.add"};
    call_rewind("4", "{\"cells\":2}");
    TEST_CHECK(fake.rewound == 3 && messages == 0);
    fake_session_rewound(NULL);
    expect("are as they were before cell 3; cells up to 4 were undone.\\nNot undone:\\n- files\\n"
           "Cell 3 called the tool demo.add.\"}],\"isError\":false");
    call_rewind("5", "{\"cells\":\"1\"}");
    fake_session_rewound("the kernel has ended");
    expect("Error executing tool rewind: the kernel has ended");
    call_rewind("6", "{\"cells\":1.5}");
    expect("cells: a whole number from 1 on is needed");
    call_rewind("7", "{\"cells\":5}");
    expect("cells: 4 can be undone at most");
    call_rewind("8", "{}"); /* its client goes: nothing is called any more */
    close_all();
    TEST_CHECK(fake.forgotten == 1);
}

TEST_LIST = {
    {"rewind_goes_back_by_cells_where_it_is_offered",
     rewind_goes_back_by_cells_where_it_is_offered},
    {NULL, NULL},
};
