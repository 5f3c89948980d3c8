/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "session/packages/pip_settings.h"

static const char kernels[] =
    "{\"network\": {\"allowedDomains\": [\"inner.example\"], \"deniedDomains\": []},"
    " \"filesystem\": {\"denyRead\": [\"~/.ssh\"], \"allowRead\": [\"~/.ssh/known\"],"
    " \"allowWrite\": [\".\"], \"denyWrite\": []}}";

/* The hosts with blanks between them. */
static const char *hosts_of(const char *const *envp, const char *more, const char *package)
{
    static char text[1000];
    const struct pip_place place = {
        .settings = kernels, .hosts = more, .user_base = "/h/.local", .envp = envp};
    struct words hosts = {0};
    drop_str char *settings = NULL;
    struct err e = ERR_NONE;
    TEST_ASSERT_(pip_settings(&place, package, &settings, &hosts, &e) == 0, "%s", e.msg);
    text[0] = '\0';
    for (size_t i = 0; i < hosts.count; i++) {
        strcat(text, i > 0 ? " " : "");
        strcat(text, hosts.items[i]);
    }
    words_done(&hosts);
    return text;
}

static void is(const char *got, const char *want)
{
    TEST_CHECK_(strcmp(got, want) == 0, "%s, not %s", got, want);
}

static void without_an_index_it_is_pypi(void)
{
    const char *const envp[] = {"HOME=/h", NULL};
    is(hosts_of(envp, NULL, "numpy>=2"), "pypi.org files.pythonhosted.org");
}

static void an_index_takes_its_place_and_no_index_is_none(void)
{
    const char *const envp[] = {"PIP_INDEX_URL=https://me:w@rd@pkg.example:8443/simple",
                                "PIP_EXTRA_INDEX_URL=http://a.example/x http://b.example/y", NULL};
    const char *const none[] = {"PIP_NO_INDEX=1", "PIP_FIND_LINKS=http://127.0.0.1:8000/ /wheels",
                                NULL};
    is(hosts_of(envp, NULL, "numpy"), "pkg.example:8443 a.example b.example");
    is(hosts_of(none, NULL, "numpy"), "127.0.0.1:8000");
}

static void the_packages_own_host_proxies_and_added_ones_are_reached(void)
{
    const char *const envp[] = {"PIP_NO_INDEX=1", "HTTPS_PROXY=proxy.example:3128",
                                "http_proxy=http://u:p@192.0.2.1:3128/", NULL};
    is(hosts_of(envp, "c.example, *.d.example,", "x @ git+https://git.example/me/x.git@v1#egg=x"),
       "proxy.example:3128 192.0.2.1:3128 git.example c.example *.d.example");
}

static void what_no_settings_can_name_is_left_out(void)
{
    const char *const envp[] = {"PIP_INDEX_URL=https://*/simple", NULL};
    is(hosts_of(envp, "*.com,\xff,ok.example", "http://"), "ok.example");
}

static bool has(const struct words *words, const char *text)
{
    for (size_t i = 0; i < words->count; i++)
        if (strcmp(words->items[i], text) == 0)
            return true;
    return false;
}

static void it_reads_what_kernels_read_but_env_and_writes_its_own_places(void)
{
    const char *const envp[] = {"HOME=/h", "TMPDIR=/t", "PIP_CACHE_DIR=/c", NULL};
    const struct pip_place place = {.settings = kernels, .user_base = "/b", .envp = envp};
    struct sandbox_settings *got = NULL;
    struct words hosts = {0};
    drop_str char *text = NULL;
    TEST_ASSERT(pip_settings(&place, "x", &text, &hosts, NULL) == 0);
    TEST_ASSERT(sandbox_settings_parse(text, strlen(text), &got, NULL) == 0);
    TEST_CHECK(has(&got->deny_read, ".env") && has(&got->deny_read, "~/.ssh"));
    TEST_CHECK(has(&got->allow_read, "~/.ssh/known") && !has(&got->allow_write, "."));
    TEST_CHECK(has(&got->allow_write, "/b") && has(&got->allow_write, "/t"));
    TEST_CHECK(has(&got->allow_write, "/c") && got->allow_write.count == 3);
    TEST_CHECK(!has(&got->allowed_domains, "inner.example"));
    (void)sandbox_settings_free(got);
    words_done(&hosts);
}

TEST_LIST = {
    {"without_an_index_it_is_pypi", without_an_index_it_is_pypi},
    {"an_index_takes_its_place_and_no_index_is_none",
     an_index_takes_its_place_and_no_index_is_none},
    {"the_packages_own_host_proxies_and_added_ones_are_reached",
     the_packages_own_host_proxies_and_added_ones_are_reached},
    {"what_no_settings_can_name_is_left_out", what_no_settings_can_name_is_left_out},
    {"it_reads_what_kernels_read_but_env_and_writes_its_own_places",
     it_reads_what_kernels_read_but_env_and_writes_its_own_places},
    {NULL, NULL},
};
