/* SPDX-License-Identifier: Apache-2.0 */
#include "session/packages/pip_report.h"

#include <string.h>

#include "output/savefile.h"
#include "session/packages/pip_summary.h"

char *pip_report(struct buf *out, const char *workspace, const char *output, bool failed)
{
    struct err e = ERR_NONE;
    char *file = NULL;
    if (!pip_summary(out, output, failed, PIP_REPORT_CHARS) ||
        savefile_write(workspace, "outputs", "txt", output, strlen(output), &file, &e) < 0)
        return NULL;
    return file;
}
