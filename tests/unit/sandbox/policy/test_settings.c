/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sandbox/policy/settings.h"

#define NETWORK "\"network\":{\"allowedDomains\":[],\"deniedDomains\":[]}"
#define FILES "\"filesystem\":{\"denyRead\":[],\"allowWrite\":[],\"denyWrite\":[]}"

static int parse(const char *text, struct sandbox_settings **ret, struct err *e)
{
    return sandbox_settings_parse(text, strlen(text), ret, e);
}

static struct sandbox_settings *good(const char *text)
{
    struct sandbox_settings *settings = NULL;
    struct err e = ERR_NONE;
    TEST_ASSERT_(parse(text, &settings, &e) == 0, "%s: %s", text, e.msg);
    return settings;
}

static void bad(const char *text, const char *message)
{
    struct sandbox_settings *settings = NULL;
    struct err e = ERR_NONE;
    TEST_CHECK_(parse(text, &settings, &e) == -EINVAL, "%s", text);
    TEST_CHECK(settings == NULL && e.code == -EINVAL);
    TEST_CHECK_(strcmp(e.msg, message) == 0, "%s: %s", text, e.msg);
    (void)sandbox_settings_free(settings);
}

/* Settings whose network, files or rest have this as their last member. */
static void bad_network(const char *member, const char *message)
{
    drop_str char *text = xasprintf(
        "{\"network\":{\"allowedDomains\":[],\"deniedDomains\":[],%s}," FILES "}", member);
    bad(text, message);
}

static void bad_files(const char *member, const char *message)
{
    drop_str char *text = xasprintf("{" NETWORK ",\"filesystem\":{\"denyRead\":[],\"allowWrite\":[]"
                                    ",\"denyWrite\":[],%s}}",
                                    member);
    bad(text, message);
}

static void bad_top(const char *member, const char *message)
{
    drop_str char *text = xasprintf("{" NETWORK "," FILES ",%s}", member);
    bad(text, message);
}

static void bad_domain(const char *domain, bool denied, const char *why)
{
    drop_str char *text = xasprintf("{\"network\":{\"allowedDomains\":[\"a.b\"%s%s%s],"
                                    "\"deniedDomains\":[\"a.b\"%s%s%s]}," FILES "}",
                                    denied ? "" : ",\"", denied ? "" : domain, denied ? "" : "\"",
                                    denied ? ",\"" : "", denied ? domain : "", denied ? "\"" : "");
    drop_str char *message =
        xasprintf("network.%sDomains[1]: \"%s\": %s", denied ? "denied" : "allowed", domain, why);
    bad(text, message);
}

static bool is(const struct words *words, size_t i, const char *word)
{
    return i < words->count && strcmp(words->items[i], word) == 0;
}

static void the_default_reads_all_but_env_and_writes_the_workspace(void)
{
    struct sandbox_settings *settings = good(sandbox_settings_default);
    TEST_CHECK(settings->deny_read.count == 1 && is(&settings->deny_read, 0, ".env"));
    TEST_CHECK(settings->allow_write.count == 3 && is(&settings->allow_write, 0, "."));
    TEST_CHECK(is(&settings->allow_write, 1, "~/Library/Jupyter"));
    TEST_CHECK(is(&settings->allow_write, 2, "~/.ipython"));
    TEST_CHECK(settings->deny_write.count == 0 && settings->allowed_domains.count == 0);
    TEST_CHECK(settings->allow_local_binding && settings->mandatory_deny_search_depth == 3);
    TEST_CHECK(is(&settings->without_effect, 0, "enableWeakerNestedSandbox"));
    (void)sandbox_settings_free(settings);
}

static void every_key_that_is_enforced_is_read(void)
{
    struct sandbox_settings *settings =
        good("{\"network\":{\"allowedDomains\":[\"Example.com\",\"*.x.org:443\",\"localhost\","
             "\"[::1]:80\"],\"deniedDomains\":[\"*:22\",\"*\"],\"allowUnixSockets\":[\"/run/a\"],"
             "\"allowAllUnixSockets\":true,\"allowLocalBinding\":true,\"httpProxyPort\":1,"
             "\"socksProxyPort\":65535},\"filesystem\":{\"denyRead\":[\"r\"],\"allowRead\":[\"a\"],"
             "\"allowWrite\":[\"w\"],\"denyWrite\":[\"d\"],\"allowGitConfig\":true},"
             "\"ignoreViolations\":{\"*\":[\"/a\"],\"git\":[\"/b\",\"/c\"]},"
             "\"mandatoryDenySearchDepth\":10}");
    TEST_CHECK(settings->allowed_domains.count == 4 && settings->denied_domains.count == 2);
    TEST_CHECK(is(&settings->allowed_domains, 0, "Example.com"));
    TEST_CHECK(is(&settings->allow_unix_sockets, 0, "/run/a"));
    TEST_CHECK(settings->allow_all_unix_sockets && settings->allow_local_binding);
    TEST_CHECK(settings->http_proxy_port == 1 && settings->socks_proxy_port == 65535);
    TEST_CHECK(is(&settings->deny_read, 0, "r") && is(&settings->allow_read, 0, "a"));
    TEST_CHECK(is(&settings->allow_write, 0, "w") && is(&settings->deny_write, 0, "d"));
    TEST_CHECK(settings->allow_git_config && settings->mandatory_deny_search_depth == 10);
    TEST_CHECK(settings->ignored_violations.count == 6);
    TEST_CHECK(is(&settings->ignored_violations, 4, "git"));
    TEST_CHECK(is(&settings->ignored_violations, 5, "/c"));
    TEST_CHECK(settings->without_effect.count == 0);
    (void)sandbox_settings_free(settings);
}

static void keys_of_other_systems_are_taken_and_named(void)
{
    struct sandbox_settings *settings = good(
        "{\"network\":{\"allowedDomains\":[],\"deniedDomains\":[],\"strictAllowlist\":true,"
        "\"deniedDomainReasons\":{},\"allowMachLookup\":[],\"parentProxy\":{},"
        "\"tlsTerminate\":false}," FILES ",\"enableWeakerNestedSandbox\":true,\"ripgrep\":"
        "{\"command\":\"rg\"},\"allowPty\":true,\"seccomp\":{},\"bwrapPath\":\"/b\",\"socatPath\":"
        "\"/s\",\"windows\":{},\"git\":{},\"allowAppleEvents\":false,\"javaAgentJarPath\":\"/j\","
        "\"enableWeakerNetworkIsolation\":false,\"credentials\":{}}");
    TEST_CHECK(settings->without_effect.count == 14);
    TEST_CHECK(is(&settings->without_effect, 0, "network.strictAllowlist"));
    TEST_CHECK(is(&settings->without_effect, 4, "ripgrep"));
    (void)sandbox_settings_free(settings);
    bad_top("\"allowPty\":1", "allowPty: true or false is needed");
    bad_top("\"bwrapPath\":{}", "bwrapPath: a string is needed");
    bad_top("\"ripgrep\":\"rg\"", "ripgrep: an object is needed");
    bad_network("\"allowMachLookup\":true", "network.allowMachLookup: a list is needed");
}

static void what_is_not_enforced_is_refused(void)
{
    static const char *const network[] = {"deniedResolvedAddresses", "filterRequest", "mitmProxy",
                                          "parentProxy", "tlsTerminate"};
    for (size_t i = 0; i < sizeof network / sizeof *network; i++) {
        drop_str char *member = xasprintf("\"%s\":{\"x\":1}", network[i]);
        drop_str char *message =
            xasprintf("network.%s: is not enforced here, so it is refused", network[i]);
        bad_network(member, message);
    }
    bad_top("\"credentials\":{\"files\":[]}",
            "credentials: is not enforced here, so it is refused");
    bad_files("\"disabled\":true", "filesystem.disabled: files are always guarded here: say in "
                                   "allowWrite what may be written");
}

static void unknown_keys_are_refused_by_their_full_name(void)
{
    bad_top("\"networks\":{}", "networks: no such key; network is near");
    bad_top("\"color\":1", "color: no such key");
    bad_network("\"AllowedDomain\":[]",
                "network.AllowedDomain: no such key; allowedDomains is near");
    bad_files("\"denyreads\":[]", "filesystem.denyreads: no such key; denyRead is near");
    bad_files("\"\":[]", "filesystem.: no such key");
}

static void what_is_missing_or_stands_there_twice_is_named(void)
{
    bad("{" FILES "}", "network is missing");
    bad("{" NETWORK "}", "filesystem is missing");
    bad("{}", "network is missing");
    bad("{\"network\":{\"deniedDomains\":[]}," FILES "}", "network.allowedDomains is missing");
    bad("{\"network\":{\"allowedDomains\":[]}," FILES "}", "network.deniedDomains is missing");
    bad("{" NETWORK ",\"filesystem\":{\"allowWrite\":[],\"denyWrite\":[]}}",
        "filesystem.denyRead is missing");
    bad("{" NETWORK ",\"filesystem\":{\"denyRead\":[],\"denyWrite\":[]}}",
        "filesystem.allowWrite is missing");
    bad("{" NETWORK ",\"filesystem\":{\"denyRead\":[],\"allowWrite\":[]}}",
        "filesystem.denyWrite is missing");
    bad_files("\"denyRead\":[\".env\"]", "filesystem.denyRead: stands there twice");
    bad_top(FILES, "filesystem: stands there twice");
}

static void a_value_of_the_wrong_kind_is_named_with_its_place(void)
{
    bad("[]", "settings: an object is needed");
    bad("{\"network\":[]," FILES "}", "network: an object is needed");
    bad("{" NETWORK ",\"filesystem\":null}", "filesystem: an object is needed");
    bad_files("\"allowRead\":\"x\"", "filesystem.allowRead: a list of strings is needed");
    bad_files("\"allowRead\":[\"x\",1]", "filesystem.allowRead[1]: a string is needed");
    bad_files("\"allowRead\":[\"x\",\"\"]", "filesystem.allowRead[1]: is empty");
    bad_files("\"allowRead\":[\"a\\u0000b\"]", "filesystem.allowRead[0]: has a control character");
    bad_files("\"allowRead\":[\"a\\nb\"]", "filesystem.allowRead[0]: has a control character");
    bad_files("\"allowGitConfig\":\"yes\"", "filesystem.allowGitConfig: true or false is needed");
    bad_network("\"allowUnixSockets\":{}", "network.allowUnixSockets: a list of strings is needed");
    bad_network("\"allowLocalBinding\":null", "network.allowLocalBinding: true or false is needed");
    bad_top("\"ignoreViolations\":[]", "ignoreViolations: an object of lists is needed");
    bad_top("\"ignoreViolations\":{\"git\":\"x\"}",
            "ignoreViolations.git: a list of strings is needed");
    bad_top("\"ignoreViolations\":{\"git\":[2]}", "ignoreViolations.git[0]: a string is needed");
}

static void numbers_outside_their_range_are_refused(void)
{
    static const char *const wrong[] = {"0", "65536", "-1", "1.5", "\"80\"", "1e99", "true"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        drop_str char *member = xasprintf("\"httpProxyPort\":%s", wrong[i]);
        bad_network(member, "network.httpProxyPort: a whole number from 1 to 65535 is needed");
    }
    bad_network("\"socksProxyPort\":70000",
                "network.socksProxyPort: a whole number from 1 to 65535 is needed");
    bad_top("\"mandatoryDenySearchDepth\":0",
            "mandatoryDenySearchDepth: a whole number from 1 to 10 is needed");
    bad_top("\"mandatoryDenySearchDepth\":11",
            "mandatoryDenySearchDepth: a whole number from 1 to 10 is needed");
}

static void a_pattern_that_is_no_host_or_too_broad_is_refused(void)
{
    static const char name[] = "not a host name (ASCII letters, digits and - between single dots)";
    static const char star[] = "* stands only at the beginning, as in *.example.com";
    bad_domain("https://example.com", false, "a host is named without a scheme");
    bad_domain("example.com/x", false, "a host is named without a path");
    bad_domain("*", false, "a bare * allows every host: name the hosts");
    bad_domain("*:443", false, "a bare * allows every host: name the hosts");
    bad_domain("*.com", false,
               "too broad: *. needs a name with a dot behind it, as in *.example.com");
    bad_domain("*.com", true,
               "too broad: *. needs a name with a dot behind it, as in *.example.com");
    bad_domain("*example.com", false, star);
    bad_domain("a.*.com", false, star);
    bad_domain("*.*.com", false, star);
    bad_domain("*.", false, "not a host name behind the *.");
    bad_domain("example", false, "a host name has a dot in it (or is localhost)");
    bad_domain(".example.com", false, name);
    bad_domain("example.com.", false, name);
    bad_domain("a..b", false, name);
    bad_domain("a b.com", false, name);
    bad_domain("\xC3\xBC.example", true, name);
    bad_domain("127.1", false, "an IPv4 address has four numbers");
    bad_domain("::1", false, "an IPv6 address stands in brackets, as in [2001:db8::1]:443");
    bad_domain("[::1", false, "no IPv6 address between the brackets");
    bad_domain("[1.2.3.4]", false, "no IPv6 address between the brackets");
    bad_domain("[::1]x", false, "characters behind the brackets");
    bad_domain("example.com:0", false, "a port is 1 to 65535");
    bad_domain("example.com:65536", true, "a port is 1 to 65535");
    bad_domain("example.com:", false, "a port is 1 to 65535");
    bad_domain("example.com: 80", false, "a port is 1 to 65535");
}

static void what_is_no_json_or_too_much_is_refused(void)
{
    struct sandbox_settings *settings = NULL;
    struct err e = ERR_NONE;
    TEST_CHECK(parse("", &settings, &e) == -EINVAL && strncmp(e.msg, "settings: ", 10) == 0);
    TEST_CHECK(parse("{\"network\":", &settings, &e) == -EINVAL);
    drop_str char *blank = xcalloc(1, SANDBOX_SETTINGS_MAX + 2);
    memset(blank, ' ', SANDBOX_SETTINGS_MAX + 1);
    memcpy(blank, sandbox_settings_default, strlen(sandbox_settings_default));
    TEST_CHECK(sandbox_settings_parse(blank, SANDBOX_SETTINGS_MAX + 1, &settings, &e) == -EINVAL);
    TEST_CHECK_(strcmp(e.msg, "settings over 1048576 bytes") == 0, "%s", e.msg);
    TEST_CHECK(sandbox_settings_parse(blank, SANDBOX_SETTINGS_MAX, &settings, &e) == 0);
    settings = sandbox_settings_free(settings);
    drop_str char *many = xcalloc(1, (size_t)(SANDBOX_WORDS_MAX + 1) * 4 + 64);
    (void)snprintf(many, 32, "\"allowRead\":[\"a\"");
    for (int i = 0; i < SANDBOX_WORDS_MAX; i++)
        memcpy(many + strlen("\"allowRead\":[\"a\"") + (size_t)i * 4, ",\"a\"", 5);
    many[strlen("\"allowRead\":[\"a\"") + (size_t)SANDBOX_WORDS_MAX * 4] = ']';
    bad_files(many, "filesystem.allowRead: more than 4096 entries");
}

static void a_file_is_read_whole_or_not_at_all(void)
{
    char path[] = "/tmp/ipybox-settings-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);
    struct err e = ERR_NONE;
    char *text = NULL;
    TEST_ASSERT(fd >= 0 && write(fd, "{\"a\":1}", 7) == 7);
    TEST_CHECK(sandbox_settings_read(path, &text, &e) == 0 && strcmp(text, "{\"a\":1}") == 0);
    xfree(text);
    text = NULL;
    TEST_CHECK(write(fd, "", 1) == 1 && sandbox_settings_read(path, &text, &e) == -EINVAL);
    TEST_CHECK(strstr(e.msg, path) && strstr(e.msg, "NUL"));
    TEST_CHECK(ftruncate(fd, 0) == 0 && sandbox_settings_read(path, &text, &e) == 0);
    TEST_CHECK(text && *text == '\0');
    xfree(text);
    text = NULL;
    drop_str char *much = xcalloc(1, SANDBOX_SETTINGS_MAX + 1);
    memset(much, ' ', SANDBOX_SETTINGS_MAX + 1);
    TEST_CHECK(fd_write(fd, much, SANDBOX_SETTINGS_MAX + 1) == 0);
    TEST_CHECK(sandbox_settings_read(path, &text, &e) == -EINVAL && strstr(e.msg, path));
    (void)close(fd);
    (void)unlink(path);
    TEST_CHECK(sandbox_settings_read(path, &text, &e) == -ENOENT && strstr(e.msg, path));
    TEST_CHECK(sandbox_settings_read("/tmp", &text, &e) == -EISDIR && text == NULL);
}

#define T(name) {#name, name}

TEST_LIST = {
    T(the_default_reads_all_but_env_and_writes_the_workspace),
    T(every_key_that_is_enforced_is_read),
    T(keys_of_other_systems_are_taken_and_named),
    T(what_is_not_enforced_is_refused),
    T(unknown_keys_are_refused_by_their_full_name),
    T(what_is_missing_or_stands_there_twice_is_named),
    T(a_value_of_the_wrong_kind_is_named_with_its_place),
    T(numbers_outside_their_range_are_refused),
    T(a_pattern_that_is_no_host_or_too_broad_is_refused),
    T(what_is_no_json_or_too_much_is_refused),
    T(a_file_is_read_whole_or_not_at_all),
    {NULL, NULL},
};
