/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/sandbox/policytest.h"

#include "sandbox/policy/mandatory.h"

static void what_is_not_denied_is_read_and_what_is_not_allowed_is_not_written(void)
{
    make_place();
    struct policy *policy = POLICY(.deny_read = "[\".env\"]");
    READS(policy, "@w/a");
    READS(policy, "/etc/passwd");
    READS_NOT(policy, "@w/.env");
    READS_NOT(policy, "@w/.env/below");
    READS(policy, "@w/.env2");
    READS(policy, "@w/sub/.env");
    WRITES(policy, "@w/a/b");
    WRITES_NOT(policy, "@/place2/a");
    WRITES_NOT(policy, "/etc/passwd");
    TEST_CHECK(policy_denies_reads(policy));
    (void)policy_free(policy);
    policy = POLICY(.allow_write = "[\".\"]");
    TEST_CHECK(!policy_denies_reads(policy));
    READS(policy, "@w/.env");
    (void)policy_free(policy);
}

static void what_may_not_be_read_may_not_be_written(void)
{
    make_place();
    struct policy *policy = POLICY(.deny_read = "[\".env\"]", .allow_write = "[\".\",\".env\"]");
    WRITES_NOT(policy, "@w/.env");
    WRITES(policy, "@w/.env.local");
    (void)policy_free(policy);
}

static void a_denied_write_wins_over_an_allowed_one_at_any_depth(void)
{
    make_place();
    struct policy *policy =
        POLICY(.allow_write = "[\".\",\"conf/mine\"]", .deny_write = "[\"conf\"]");
    WRITES_NOT(policy, "@w/conf");
    WRITES_NOT(policy, "@w/conf/mine/x");
    WRITES(policy, "@w/confusion");
    READS(policy, "@w/conf/mine/x");
    (void)policy_free(policy);
}

static void rules_hold_for_what_is_made_later(void)
{
    make_place();
    struct policy *policy = POLICY(.deny_read = "[\"new/.env\"]", .allow_write = "[\"new\"]");
    make_dir("@w/new");
    make_file("@w/new/.env");
    READS_NOT(policy, "@w/new/.env");
    WRITES(policy, "@w/new/x");
    WRITES_NOT(policy, "@w/old");
    (void)policy_free(policy);
}

static void an_entry_that_is_a_link_protects_its_target_and_pins_itself(void)
{
    make_place();
    make_dir("@w/real");
    make_file("@w/real/key");
    make_link("@w/key", "@w/real/key");
    make_link("@w/soon", "@w/real/not-yet");
    struct policy *policy = POLICY(.deny_read = "[\"key\",\"soon\"]", .deny_write = "[]");
    READS_NOT(policy, "@w/real/key");
    READS_NOT(policy, "@w/real/not-yet");
    READS(policy, "@w/real/other");
    PINS(policy, "@w/key");
    PINS(policy, "@w/soon");
    PINS(policy, "@w/real");
    PINS_NOT(policy, "@w/real/key");
    PINS_NOT(policy, "@w/other");
    (void)policy_free(policy);
}

static void what_lies_in_a_working_directory_and_runs_code_is_never_written(void)
{
    make_place();
    make_dir("@w/.git/hooks");
    make_dir("@w/sub/.Git");
    make_file("@w/sub/.BASHRC");
    struct policy *policy = POLICY(.deny_write = "[]");
    WRITES_NOT(policy, "@w/.bashrc");
    WRITES_NOT(policy, "@w/.MCP.json");
    WRITES_NOT(policy, "@w/.git/hooks/pre-commit");
    WRITES_NOT(policy, "@w/.git/config");
    WRITES_NOT(policy, "@w/.claude/commands/x.md");
    WRITES(policy, "@w/.claude/x");
    WRITES(policy, "@w/.git/index");
    WRITES_NOT(policy, "@w/sub/.BASHRC");
    WRITES_NOT(policy, "@w/sub/.Git/hooks/x");
    WRITES(policy, "@w/sub/.profile");
    READS(policy, "@w/.bashrc");
    PINS(policy, "@w/.git");
    PINS(policy, "@w/sub/.Git");
    PINS(policy, "@w");
    PINS(policy, "@");
    PINS(policy, "/");
    PINS_NOT(policy, "@w/.git/index");
    (void)policy_free(policy);
    policy = POLICY(.deny_write = "[]", .more = ",\"allowGitConfig\":true");
    WRITES(policy, "@w/.git/config");
    WRITES_NOT(policy, "@w/.git/hooks");
    (void)policy_free(policy);
}

static void of_rules_for_reading_the_deeper_one_holds(void)
{
    make_place();
    struct policy *policy =
        POLICY(.deny_read = "[\"a\",\"a/b/secret\",\"**/*.key\"]", .allow_read = "[\"a/b\",\".\"]");
    READS_NOT(policy, "@w/a/x");
    READS(policy, "@w/a/b/x");
    READS_NOT(policy, "@w/a/b/secret");
    READS_NOT(policy, "@w/a/b/x.key");
    READS_NOT(policy, "@w/x.key");
    READS(policy, "@w/x");
    (void)policy_free(policy);
    policy = POLICY(.deny_read = "[\"*.env*\"]", .allow_read = "[\"a.env.example\"]");
    READS(policy, "@w/a.env.example");
    READS_NOT(policy, "@w/a.env");
    (void)policy_free(policy);
}

static void a_pattern_holds_for_names_at_any_time(void)
{
    make_place();
    struct policy *policy =
        POLICY(.deny_read = "[\"**/.env\",\"k?y\"]", .allow_write = "[\"out-*\",\"x[0-9].log\"]",
               .deny_write = "[\"out-*/keep/**\"]");
    READS_NOT(policy, "@w/.env");
    READS_NOT(policy, "@w/a/b/.env");
    READS_NOT(policy, "@w/a/.env/below");
    READS(policy, "@w/a/b.env");
    READS(policy, "@/elsewhere/.env");
    READS_NOT(policy, "@w/key");
    READS(policy, "@w/ky");
    WRITES(policy, "@w/out-1/a/b");
    WRITES_NOT(policy, "@w/out");
    WRITES(policy, "@w/x7.log");
    WRITES_NOT(policy, "@w/xa.log");
    WRITES_NOT(policy, "@w/out-1/keep");
    WRITES_NOT(policy, "@w/out-1/keep/a/b");
    (void)policy_free(policy);
}

static void a_name_with_brackets_is_that_file_too(void)
{
    make_place();
    make_file("@w/a[1].txt");
    struct policy *policy = POLICY(.deny_read = "[\"a[1].txt\"]");
    READS_NOT(policy, "@w/a[1].txt");
    READS_NOT(policy, "@w/a1.txt");
    READS(policy, "@w/a2.txt");
    (void)policy_free(policy);
}

static void entries_are_made_absolute_and_clean(void)
{
    make_place();
    make_dir("@/else");
    make_link("@/link", "@/else");
    struct policy *policy = POLICY(.deny_read = "[\"./a/../b//c/\",\"~\",\"../else/x\",\"d/**\"]",
                                   .allow_read = "[\"~/in\"]",
                                   .deny_write = "[\"../link/y\",\"../../../../../../../..\"]");
    READS_NOT(policy, "@w/b/c");
    READS(policy, "@w/a");
    READS_NOT(policy, "@h/x");
    READS(policy, "@h/in/x");
    READS_NOT(policy, "@/else/x");
    READS_NOT(policy, "@w/d");
    READS_NOT(policy, "@w/d/e/f");
    WRITES_NOT(policy, "@w/x");
    WRITES_NOT(policy, "/");
    (void)policy_free(policy);
    policy = POLICY(.deny_write = "[\"../link/y\"]", .allow_write = "[\"..\",\"~x\"]");
    WRITES_NOT(policy, "@/else/y");
    WRITES(policy, "@/else/z");
    WRITES(policy, "@w/~x");
    PINS(policy, "@/link");
    (void)policy_free(policy);
}

static void a_home_that_is_needed_and_missing_is_an_error(void)
{
    make_place();
    struct sandbox_settings *settings = parse(&(struct lists){.allow_write = "[\".\",\"~/x\"]"});
    struct policy *policy = NULL;
    struct err e = ERR_NONE;
    drop_str char *cwd = xstrdup(full("@w"));
    struct policy_place place = {.cwd = cwd};
    TEST_CHECK(policy_new(settings, &place, &policy, &e) == -EINVAL && !policy);
    TEST_CHECK_(strcmp(e.msg, "filesystem.allowWrite[1]: ~/x: there is no home directory") == 0,
                "%s", e.msg);
    place.cwd = "relative";
    TEST_CHECK(policy_new(settings, &place, &policy, &e) == -EINVAL && !policy);
    (void)sandbox_settings_free(settings);
}

static void a_link_that_sandboxed_code_could_make_allows_nothing_behind_it(void)
{
    make_place();
    make_dir("@/else");
    make_dir("@/safe");
    make_dir("@h/.claude");
    make_link("@h/.claude/debug", "@/else");
    make_link("@h/.ipython", "@/else");
    make_link("@w/out", "@/else");
    make_link("@h/safe", "@/safe");
    struct policy *policy = POLICY(.deny_read = "[\"~\",\"../else\"]",
                                   .allow_write = "[\".\",\"~/.ipython\",\"out/x\",\"out/*.log\"]",
                                   .allow_read = "[\"out\"]");
    WRITES_NOT(policy, "@/else/y");
    WRITES_NOT(policy, "@/else/x");
    WRITES_NOT(policy, "@/else/a.log");
    READS_NOT(policy, "@/else/y");
    const struct words *roots = policy_write_roots(policy);
    for (size_t i = 0; i < roots->count; i++)
        TEST_CHECK_(!strstr(roots->items[i], ".ipython") && !strstr(roots->items[i], "debug"), "%s",
                    roots->items[i]);
    (void)policy_free(policy);
    policy = POLICY(.allow_write = "[\"~/safe/a\",\".\"]");
    WRITES(policy, "@/safe/a/b"); /* the home is not written, so nobody there made the link */
    (void)policy_free(policy);
}

static void devices_and_the_directories_of_srt_are_always_written(void)
{
    make_place();
    struct policy *policy = POLICY(.allow_write = "[]", .deny_write = "[\"/dev/shm/x\"]");
    WRITES(policy, "/dev/null");
    WRITES(policy, "/dev/pts/3");
    WRITES(policy, "/dev/stdout");
    WRITES(policy, "/tmp/claude/x");
    WRITES(policy, "@h/.npm/_logs/x");
    WRITES(policy, "@h/.claude/debug/x");
    WRITES(policy, "/dev/shm/y");
    WRITES_NOT(policy, "/dev/shm/x");
    WRITES_NOT(policy, "/dev/sda");
    WRITES_NOT(policy, "/tmp/x");
    WRITES_NOT(policy, "@h/.npm/x");
    WRITES_NOT(policy, "@w/x");
    (void)policy_free(policy);
}

static void where_the_working_directory_is_distrusted_its_links_lead_no_entry_elsewhere(void)
{
    make_place();
    make_dir("@/outside");
    make_dir("@w/way");
    make_link("@w/way/python", "@/outside");
    make_link("@w/base", "@w/way");
    const struct lists lists = {.allow_write = "[\"base/python\"]"};
    struct policy *trusts = policy_of_place(&lists, &(struct policy_place){0});
    struct policy *distrusts =
        policy_of_place(&lists, &(struct policy_place){.distrusts_cwd = true});
    WRITES(trusts, "@/outside/x");
    WRITES_NOT(distrusts, "@/outside/x");
    WRITES_NOT(distrusts, "@w/way/x");
    (void)policy_free(trusts);
    (void)policy_free(distrusts);
}

static void private_directories_are_open_whatever_the_rules_say(void)
{
    make_place();
    make_dir("@/own");
    drop_str char *own = xstrdup(full("@/own")), *sock = xstrdup(full("@/sock"));
    const char *const dirs[] = {own, NULL}, *const sockets[] = {sock, NULL};
    const uint16_t ports[] = {8900, 0};
    struct policy *policy = policy_of_place(
        &(struct lists){.deny_read = "[\"..\"]", .deny_write = "[\"/\"]"},
        &(struct policy_place){
            .private_dirs = dirs, .unix_sockets = sockets, .loopback_ports = ports});
    READS(policy, "@/own/x");
    WRITES(policy, "@/own/x");
    READS_NOT(policy, "@/own2");
    PINS(policy, "@/own");
    TEST_CHECK(policy_readable(policy, full("@/own")) == COVER_ALL);
    TEST_CHECK(policy_writable(policy, full("@/own/a")) == COVER_ALL);
    TEST_CHECK(policy_readable(policy, full("@")) == COVER_SOME);
    TEST_CHECK(policy_writable(policy, full("@")) == COVER_SOME);
    TEST_CHECK(policy_writable(policy, full("@w")) == COVER_NONE);
    TEST_CHECK(policy_may_connect_unix(policy, full("@/own/a.sock")));
    TEST_CHECK(policy_may_connect_unix(policy, full("@/sock")));
    TEST_CHECK(!policy_may_connect_unix(policy, full("@/sock2")));
    TEST_CHECK(policy_has_unix(policy) && !policy_all_unix(policy));
    TEST_CHECK(policy_loopback_port(policy, 8900) && !policy_loopback_port(policy, 8901));
    TEST_CHECK(!policy_loopback_port(policy, 0));
    (void)policy_free(policy);
}

static void mandatory_names_are_looked_for_down_to_a_depth(void)
{
    make_place();
    make_dir("@w/a/b/c");
    make_dir("@w/node_modules/x");
    make_file("@w/a/.zshrc");
    make_file("@w/a/b/.zshrc");
    make_file("@w/a/b/c/.zshrc");
    make_file("@w/node_modules/.zshrc");
    make_dir("@w/a/.vscode");
    make_dir("@w/a/.claude");
    make_file("@/dotfiles");
    make_link("@w/a/.profile", "@/dotfiles");
    struct policy *policy = POLICY(.allow_write = "[\".\",\"../dotfiles\"]");
    WRITES_NOT(policy, "@w/a/.zshrc");
    WRITES_NOT(policy, "@w/a/b/.zshrc");
    WRITES(policy, "@w/a/b/c/.zshrc");
    WRITES(policy, "@w/node_modules/.zshrc");
    WRITES_NOT(policy, "@w/a/.vscode/settings.json");
    WRITES_NOT(policy, "@w/a/.claude/agents/x");
    WRITES_NOT(policy, "@w/a/.profile");
    WRITES_NOT(policy, "@/dotfiles");
    PINS(policy, "@w/a");
    PINS(policy, "@w/a/.claude");
    WRITES(policy, "@w/.git/hooks/x"); /* there is no .git: `git init` makes it */
    (void)policy_free(policy);
    policy = POLICY(.top = ",\"mandatoryDenySearchDepth\":4");
    WRITES_NOT(policy, "@w/a/b/c/.zshrc");
    (void)policy_free(policy);
    policy = POLICY(.top = ",\"mandatoryDenySearchDepth\":1");
    WRITES(policy, "@w/a/.zshrc");
    WRITES_NOT(policy, "@w/.zshrc");
    (void)policy_free(policy);
}

static void count(void *ctx, const char *path, bool link)
{
    (void)path, (void)link;
    ++*(int *)ctx;
}

static void a_working_directory_with_too_many_names_is_an_error(void)
{
    make_place();
    make_dir("@w/a/b");
    int found = 0;
    struct err e = ERR_NONE;
    struct mandatory what = {
        .cwd = full("@w"), .depth = 3, .names_max = 2, .found = count, .ctx = &found};
    TEST_CHECK(mandatory_find(&what, &e) == 0 && found == 13);
    make_file("@w/a/b/c");
    TEST_CHECK(mandatory_find(&what, &e) == -E2BIG);
    TEST_CHECK_(strstr(e.msg, "mandatoryDenySearchDepth") != NULL, "%s", e.msg);
}

static void a_directory_in_which_a_pattern_matches_is_pinned(void)
{
    make_place();
    make_dir("@w/a/b");
    make_dir("@w/c");
    make_dir("@w/shut");
    make_file("@w/a/b/.env");
    struct policy *policy = POLICY(.deny_read = "[\"**/.env\"]", .deny_write = "[\"x/y/*.lock\"]");
    PINS(policy, "@w/a");
    PINS(policy, "@w/a/b");
    PINS_NOT(policy, "@w/a/b/.env");
    PINS_NOT(policy, "@w/c");
    PINS(policy, "@w/x");
    PINS(policy, "@w/x/y");
    PINS_NOT(policy, "@w/x/z");
    make_file("@w/c/.env");
    PINS(policy, "@w/c");
    TEST_ASSERT(chmod(full("@w/shut"), 0) == 0);
    if (geteuid() != 0)
        PINS(policy, "@w/shut");
    TEST_ASSERT(chmod(full("@w/shut"), 0755) == 0);
    (void)policy_free(policy);
}

struct cover {
    const char *dir;
    enum policy_cover readable, writable;
};

static void a_cover_says_what_holds_for_all_that_is_below(void)
{
    make_place();
    struct policy *policy =
        POLICY(.deny_read = "[\".env\",\"p\",\"g/**/k\"]", .allow_read = "[\"p/open\"]",
               .allow_write = "[\".\",\"../else/deep\",\"../glob-*/x\"]",
               .deny_write = "[\"d/e\"]");
    const struct cover covers[] = {
        {"/", COVER_SOME, COVER_SOME},         {"/usr", COVER_ALL, COVER_NONE},
        {"@w", COVER_SOME, COVER_SOME},        {"@w/src", COVER_ALL, COVER_ALL},
        {"@w/.env", COVER_NONE, COVER_NONE},   {"@w/p", COVER_SOME, COVER_SOME},
        {"@w/p/shut", COVER_NONE, COVER_NONE}, {"@w/p/open", COVER_ALL, COVER_ALL},
        {"@w/d", COVER_ALL, COVER_SOME},       {"@w/d/e", COVER_ALL, COVER_NONE},
        {"@w/d/e/f", COVER_ALL, COVER_NONE},   {"@/else", COVER_ALL, COVER_SOME},
        {"@/else/deep", COVER_ALL, COVER_ALL}, {"@w/g", COVER_SOME, COVER_SOME},
        {"@w/g/a", COVER_SOME, COVER_SOME},    {"@w/g/k", COVER_NONE, COVER_NONE},
        {"@w/.claude", COVER_ALL, COVER_SOME}, {"@w/.vscode", COVER_ALL, COVER_NONE},
        {"@/glob-1", COVER_ALL, COVER_SOME},   {"@/glob-1/x", COVER_ALL, COVER_ALL},
        {"@/glob-1/y", COVER_ALL, COVER_NONE}, {"@/glob", COVER_ALL, COVER_NONE},
    };
    for (size_t i = 0; i < sizeof covers / sizeof *covers; i++) {
        const char *dir = full(covers[i].dir);
        TEST_CHECK_(policy_readable(policy, dir) == covers[i].readable, "read %s", covers[i].dir);
        TEST_CHECK_(policy_writable(policy, dir) == covers[i].writable, "write %s", covers[i].dir);
    }
    const struct words *roots = policy_write_roots(policy);
    TEST_CHECK(roots->count > 2 && strcmp(roots->items[0], full("@w")) == 0);
    TEST_CHECK(strcmp(roots->items[1], full("@/else/deep")) == 0);
    for (size_t i = 0; i < roots->count; i++)
        TEST_CHECK_(!strchr(roots->items[i], '*'), "%s", roots->items[i]);
    (void)policy_free(policy);
}

struct target {
    const char *host;
    uint16_t port;
    bool allowed;
};

static void hosts_are_judged_by_name_deny_first(void)
{
    make_place();
    struct policy *policy = POLICY(
            .network =
                "\"allowedDomains\":[\"Example.com\",\"*.x.org\",\"api.y.org:443\",\"192.0.2.1\","
                "\"localhost\",\"[2001:db8::1]:80\",\"*.0.1\"],"
                "\"deniedDomains\":[\"bad.x.org\",\"*:22\",\"*.deep.x.org\"]");
    const struct target targets[] = {
        {"example.com", 443, true},
        {"EXAMPLE.com.", 80, true},
        {"a.example.com", 443, false},
        {"example.com..", 443, false},
        {"a.x.org", 1, true},
        {"a.b.X.org", 1, true},
        {"x.org", 1, false},
        {"ax.org", 1, false},
        {".x.org", 1, false},
        {"bad.x.org", 1, false},
        {"BAD.x.org.", 1, false},
        {"worse.bad.x.org", 1, true},
        {"deep.x.org", 1, true},
        {"a.deep.x.org", 1, false},
        {"example.com", 22, false},
        {"api.y.org", 443, true},
        {"api.y.org", 80, false},
        {"192.0.2.1", 80, true},
        {"192.0.2.2", 80, false},
        {"::ffff:192.0.2.1", 80, true},
        {"0xC0000201", 80, true},
        {"localhost", 80, true},
        {"127.0.0.1", 80, false},
        {"127.1", 80, false},
        {"198.51.100.1", 80, false},
        {"[2001:DB8:0::1]", 80, true},
        {"2001:db8::1", 81, false},
        {"2001:db8::2", 80, false},
        {"", 80, false},
        {".", 80, false},
        {"example.com/x", 80, false},
        {"user@example.com", 80, false},
        {"fe80::1%eth0", 80, false},
        {"example.com\n", 80, false},
    };
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        TEST_CHECK_(policy_may_connect(policy, targets[i].host, targets[i].port) ==
                        targets[i].allowed,
                    "%s:%u", targets[i].host, targets[i].port);
    TEST_CHECK(policy_has_network(policy) && policy_domains(policy)->count == 7);
    TEST_CHECK(strcmp(policy_domains(policy)->items[0], "Example.com") == 0);
    (void)policy_free(policy);
    policy = POLICY(.network = "\"allowedDomains\":[\"a.b\"],\"deniedDomains\":[\"*\"]");
    TEST_CHECK(!policy_may_connect(policy, "a.b", 80));
    (void)policy_free(policy);
    policy = POLICY(.deny_read = "[]");
    TEST_CHECK(!policy_has_network(policy) && !policy_may_connect(policy, "a.b", 80));
    (void)policy_free(policy);
}

#define NO_HOSTS "\"allowedDomains\":[],\"deniedDomains\":[],"

static void sockets_and_ports_are_what_the_settings_say(void)
{
    make_place();
    struct policy *policy =
        POLICY(.network = NO_HOSTS "\"allowUnixSockets\":[\"run/*.sock\",\"s\"]");
    TEST_CHECK(policy_may_connect_unix(policy, full("@w/run/a.sock")));
    TEST_CHECK(!policy_may_connect_unix(policy, full("@w/run/a")));
    TEST_CHECK(policy_may_connect_unix(policy, full("@w/s")));
    TEST_CHECK(policy_has_unix(policy) && !policy_all_unix(policy) && !policy_may_bind(policy));
    (void)policy_free(policy);
    policy = POLICY(.deny_read = "[]");
    TEST_CHECK(!policy_has_unix(policy) && !policy_may_connect_unix(policy, full("@w/s")));
    (void)policy_free(policy);
    policy = POLICY(.deny_read = "[\"s\"]",
                    .network = NO_HOSTS "\"allowAllUnixSockets\":true,\"allowLocalBinding\":true,"
                                        "\"httpProxyPort\":3128");
    TEST_CHECK(policy_may_connect_unix(policy, "/run/x") && policy_all_unix(policy));
    TEST_CHECK(!policy_may_connect_unix(policy, full("@w/s")));
    TEST_CHECK(policy_may_bind(policy) && policy_loopback_port(policy, 3128));
    uint16_t http = 1, socks = 1;
    policy_proxy_ports(policy, &http, &socks);
    TEST_CHECK(http == 3128 && socks == 0 && !policy_loopback_port(policy, 0));
    (void)policy_free(policy);
}

static void violations_are_ignored_by_parts_of_command_and_path(void)
{
    make_place();
    struct policy *policy =
        POLICY(.top = ",\"ignoreViolations\":{\"*\":[\"/etc/x\"],\"git push\":[\"/a\",\"/b\"]}");
    TEST_CHECK(policy_ignores(policy, "anything", "/etc/x/y"));
    TEST_CHECK(policy_ignores(policy, NULL, "/etc/x"));
    TEST_CHECK(!policy_ignores(policy, "anything", "/a"));
    TEST_CHECK(policy_ignores(policy, "/usr/bin/git push origin", "/b"));
    TEST_CHECK(!policy_ignores(policy, "git pull", "/b"));
    (void)policy_free(policy);
}

static void has_line(const struct buf *text, const char *line)
{
    TEST_CHECK_(strstr(buf_text(text), line) != NULL, "no \"%s\" in\n%s", line, buf_text(text));
}

static void a_policy_is_explained_to_people(void)
{
    make_place();
    make_file("@w/key");
    make_link("@h/.ipython", "@/else");
    struct policy *policy =
        POLICY(.deny_read = "[\".env\",\"key\",\"*.pem\"]", .allow_write = "[\".\",\"~/.ipython\"]",
               .deny_write = "[\"conf\"]",
               .network = "\"allowedDomains\":[\"a.b\",\"c.d\"],\"deniedDomains\":[\"A.B\"]",
               .top = ",\"allowPty\":true,\"ignoreViolations\":{\"*\":[\"/etc/x\"]}");
    drop_buf struct buf text = BUF_INIT(1 << 16);
    policy_explain(policy, &text);
    TEST_CHECK(text.failed == 0);
    has_line(&text, "except (nor may these be written):\n  .env = ");
    has_line(&text, "/place/.env (nothing there now; it holds for what comes)\n  key = ");
    has_line(&text, "/place/key\n  *.pem = ");
    has_line(&text, "/place/*.pem (nothing there now; it holds for what comes)\n");
    has_line(&text, "~/.ipython = ");
    has_line(&text, "(a link that sandboxed code may have made is not followed");
    has_line(&text, "Not to be written even there:\n  conf = ");
    has_line(&text, "/place/.bashrc\n");
    has_line(&text, "except:\n  a.b\n  c.d\n");
    has_line(&text, "  a.b is never reached: A.B is denied\n");
    has_line(&text, "Servers may not listen.\n");
    has_line(&text, "No Unix socket may be connected to.\n");
    has_line(&text, "Refusals of * with /etc/x in the path are not logged.\n");
    has_line(&text, "Set, and without effect here:\n  allowPty\n");
    (void)policy_free(policy);
}

#define T(name) {#name, name}

TEST_LIST = {
    T(what_is_not_denied_is_read_and_what_is_not_allowed_is_not_written),
    T(what_may_not_be_read_may_not_be_written),
    T(a_denied_write_wins_over_an_allowed_one_at_any_depth),
    T(of_rules_for_reading_the_deeper_one_holds),
    T(rules_hold_for_what_is_made_later),
    T(a_pattern_holds_for_names_at_any_time),
    T(a_name_with_brackets_is_that_file_too),
    T(entries_are_made_absolute_and_clean),
    T(a_home_that_is_needed_and_missing_is_an_error),
    T(an_entry_that_is_a_link_protects_its_target_and_pins_itself),
    T(a_link_that_sandboxed_code_could_make_allows_nothing_behind_it),
    T(devices_and_the_directories_of_srt_are_always_written),
    T(private_directories_are_open_whatever_the_rules_say),
    T(where_the_working_directory_is_distrusted_its_links_lead_no_entry_elsewhere),
    T(what_lies_in_a_working_directory_and_runs_code_is_never_written),
    T(mandatory_names_are_looked_for_down_to_a_depth),
    T(a_working_directory_with_too_many_names_is_an_error),
    T(a_directory_in_which_a_pattern_matches_is_pinned),
    T(a_cover_says_what_holds_for_all_that_is_below),
    T(hosts_are_judged_by_name_deny_first),
    T(sockets_and_ports_are_what_the_settings_say),
    T(violations_are_ignored_by_parts_of_command_and_path),
    T(a_policy_is_explained_to_people),
    {NULL, NULL},
};
