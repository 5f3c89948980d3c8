/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/server/server_name.h"

#include <stdio.h>
#include <unistd.h>

int server_name(const char *option, char ret[INSTANCE_MAX + 1], struct err *e)
{
    char host[INSTANCE_MAX + 1] = "";
    if (option && !instance_is_name(option))
        return err_set(
            e, -EINVAL,
            "--instance: a name of at most %d letters, digits, '.', '-' and '_' is needed",
            INSTANCE_MAX);
    if (gethostname(host, sizeof host - 1) < 0 || !instance_is_name(host))
        (void)snprintf(host, sizeof host, "ipybox");
    (void)snprintf(ret, INSTANCE_MAX + 1, "%s", option ? option : host);
    return 0;
}
