/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "session/packages/pip_summary.h"

static void check(const char *output, bool failed, const char *expected, bool leaves_out)
{
    drop_buf struct buf text = BUF_INIT(100000);
    bool cut = pip_summary(&text, output, failed, 1000);
    TEST_CHECK(strcmp(buf_text(&text), expected) == 0);
    TEST_MSG("got %s", buf_text(&text));
    TEST_CHECK(cut == leaves_out);
}

static void an_installation_is_a_line(void)
{
    check("Defaulting to user installation because normal site-packages is not writeable\n"
          "Collecting numpy\n  Downloading numpy-2.4.0.whl (16 MB)\nInstalling collected packages: "
          "numpy\nSuccessfully installed numpy-2.4.0\n",
          false, "Successfully installed numpy-2.4.0", true);
    check("Successfully installed numpy-2.4.0\n", false, "Successfully installed numpy-2.4.0",
          false);
}

static void what_is_there_is_told_without_its_place(void)
{
    check("Requirement already satisfied: numpy>=2 in /home/ipybox/.local/lib/python3.13/"
          "site-packages (2.4.0)\n",
          false, "Already installed: numpy>=2 (2.4.0)", true);
    check("Requirement already satisfied: x\n", false, "Requirement already satisfied: x", false);
}

static void conflicts_are_told(void)
{
    check("Collecting x\nERROR: pip's dependency resolver says so\n"
          "y 2 requires x>=2, but you have x 1 which is incompatible.\n"
          "y 2 requires z, which is not installed.\nSuccessfully installed x-1\n",
          false,
          "Successfully installed x-1\nERROR: pip's dependency resolver says so\n"
          "y 2 requires x>=2, but you have x 1 which is incompatible.\n"
          "y 2 requires z, which is not installed.",
          true);
}

static void a_failure_is_its_reason(void)
{
    check("Collecting nothing\n  Downloading a lot\n"
          "ERROR: Could not find a version that satisfies the requirement nothing\n"
          "ERROR: No matching distribution found for nothing\n",
          true,
          "ERROR: Could not find a version that satisfies the requirement nothing\n"
          "ERROR: No matching distribution found for nothing",
          true);
    check("no word that is known\n", true, "no word that is known", false);
    check("  error: subprocess-exited-with-error\n  | its lines\n", true,
          "  error: subprocess-exited-with-error\n  | its lines", false);
}

static void a_long_reason_has_its_end(void)
{
    drop_buf struct buf output = BUF_INIT(100000), text = BUF_INIT(100000);
    (void)buf_adds(&output, "ERROR: Could not find (from versions: ");
    for (int i = 0; i < 3000; i++)
        (void)buf_addf(&output, "%d, ", i);
    (void)buf_adds(&output, ")\nERROR: No matching distribution\n\xFF");
    TEST_CHECK(pip_summary(&text, buf_text(&output), true, 1000));
    TEST_CHECK(text.len < 1100 && strstr(buf_text(&text), "\nERROR: No matching distribution"));
}

TEST_LIST = {
    {"an_installation_is_a_line", an_installation_is_a_line},
    {"what_is_there_is_told_without_its_place", what_is_there_is_told_without_its_place},
    {"conflicts_are_told", conflicts_are_told},
    {"a_failure_is_its_reason", a_failure_is_its_reason},
    {"a_long_reason_has_its_end", a_long_reason_has_its_end},
    {NULL, NULL},
};
