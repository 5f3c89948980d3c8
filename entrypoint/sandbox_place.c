/* SPDX-License-Identifier: Apache-2.0 */
#include "entrypoint/sandbox_place.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

enum { TMP_MODE = 01777 };

static bool make_tmp(void)
{
    struct stat st;
    if (mkdir(SANDBOX_TMP, TMP_MODE) == 0)
        (void)chmod(SANDBOX_TMP, TMP_MODE); /* the umask has taken some of it */
    return lstat(SANDBOX_TMP, &st) == 0 && S_ISDIR(st.st_mode) && access(SANDBOX_TMP, W_OK) == 0;
}

static void add_proxy(struct words *words, const char *scheme, uint16_t port,
                      const char *const *names)
{
    for (; *names; names++) {
        drop_str char *item = xasprintf("%s=%s://localhost:%u", *names, scheme, port);
        words_add(words, item);
    }
}

static void add_proxies(struct words *words, uint16_t http, uint16_t socks)
{
    static const char *const http_names[] = {"HTTP_PROXY", "HTTPS_PROXY", "http_proxy",
                                             "https_proxy", NULL};
    static const char *const socks_names[] = {"ALL_PROXY", "all_proxy", NULL};
    if (http)
        add_proxy(words, "http", http, http_names);
    if (socks)
        add_proxy(words, "socks5h", socks, socks_names);
    if (http || socks) {
        words_add(words, "NO_PROXY=localhost,127.0.0.1,::1");
        words_add(words, "no_proxy=localhost,127.0.0.1,::1");
    }
}

void sandbox_variables(const struct policy *policy, struct words *ret)
{
    uint16_t http = 0, socks = 0;
    *ret = (struct words){0};
    words_add(ret, "SANDBOX_RUNTIME=1");
    words_add(ret, "RES_OPTIONS=use-vc");
    if (make_tmp())
        words_add(ret, "TMPDIR=" SANDBOX_TMP);
    policy_proxy_ports(policy, &http, &socks);
    add_proxies(ret, http, socks);
}

const char *sandbox_home(void)
{
    const char *home = getenv("HOME");
    return home && *home == '/' ? home : "/tmp";
}
