/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/policy/settings.h"

#include <fcntl.h>
#include <math.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json/json.h"
#include "sandbox/policy/domains.h"

const char sandbox_settings_default[] =
    "{\"enableWeakerNestedSandbox\":false,"
    "\"filesystem\":{\"denyRead\":[\".env\"],"
    "\"allowWrite\":[\".\",\"~/Library/Jupyter\",\"~/.ipython\"],\"denyWrite\":[]},"
    "\"network\":{\"allowedDomains\":[],\"deniedDomains\":[],\"allowLocalBinding\":true}}";

enum { DEPTH_DEFAULT = 3, DEPTH_MAX = 10, HINT_DISTANCE = 2, HINT_MAX = 32 };

void words_add(struct words *words, const char *word)
{
    words->items = xrealloc(words->items, (words->count + 1) * sizeof *words->items);
    words->items[words->count++] = xstrdup(word);
}

void words_done(struct words *words)
{
    for (size_t i = 0; i < words->count; i++)
        xfree(words->items[i]);
    xfree(words->items);
    *words = (struct words){0};
}

struct sandbox_settings *sandbox_settings_free(struct sandbox_settings *settings)
{
    if (!settings)
        return NULL;
    struct words *lists[] = {
        &settings->allowed_domains, &settings->denied_domains, &settings->allow_unix_sockets,
        &settings->deny_read,       &settings->allow_read,     &settings->allow_write,
        &settings->deny_write,      &settings->without_effect, &settings->ignored_violations,
    };
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        words_done(lists[i]);
    xfree(settings);
    return NULL;
}

/* --- the keys --------------------------------------------------------------------------------- */

struct settings_reading {
    struct sandbox_settings *settings;
    struct err *e;
};

struct key;
/* `name` is the full path of the value. */
typedef int (*read_fn)(struct settings_reading *reading, const struct key *key,
                       const struct json *value, const char *name);

struct key {
    const char *name;
    read_fn read;
    size_t at; /* where in struct sandbox_settings */
    bool needed;
    bool (*is_kind)(const struct json *value); /* of a key without effect */
    const char *kind;
    const char *why; /* it is refused */
};

#define FIELD(name) .at = offsetof(struct sandbox_settings, name)

static void *settings_field(struct settings_reading *reading, const struct key *key)
{
    return (char *)reading->settings + key->at;
}

static int wrong_kind(struct settings_reading *reading, const char *name, const char *kind)
{
    return err_set(reading->e, -EINVAL, "%s: %s is needed", name, kind);
}

static int read_flag(struct settings_reading *reading, const struct key *key,
                     const struct json *value, const char *name)
{
    if (!json_is_bool(value))
        return wrong_kind(reading, name, "true or false");
    *(bool *)settings_field(reading, key) = json_true(value);
    return 0;
}

static int read_whole_settings(struct settings_reading *reading, const struct json *value,
                               const char *name, int most, int *ret)
{
    double number = json_number(value);
    if (!json_is_number(value) || number != floor(number) || number < 1 || number > most)
        return err_set(reading->e, -EINVAL, "%s: a whole number from 1 to %d is needed", name,
                       most);
    *ret = (int)number;
    return 0;
}

static int read_port(struct settings_reading *reading, const struct key *key,
                     const struct json *value, const char *name)
{
    return read_whole_settings(reading, value, name, 65535, settings_field(reading, key));
}

static int read_depth(struct settings_reading *reading, const struct key *key,
                      const struct json *value, const char *name)
{
    return read_whole_settings(reading, value, name, DEPTH_MAX, settings_field(reading, key));
}

/* A text of a list. "\xC0\x80" is a NUL, which no path can have. */
static int check_text(struct settings_reading *reading, const char *text, const char *name)
{
    if (!text)
        return wrong_kind(reading, name, "a string");
    if (*text == '\0')
        return err_set(reading->e, -EINVAL, "%s: is empty", name);
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7F || (unsigned char)*c == 0xC0)
            return err_set(reading->e, -EINVAL, "%s: has a control character", name);
    return 0;
}

typedef int (*check_fn)(struct settings_reading *reading, const char *text, const char *name);

static int read_settings_list(struct settings_reading *reading, const struct json *value,
                              const char *name, check_fn check, struct words *ret)
{
    if (!json_is_array(value))
        return wrong_kind(reading, name, "a list of strings");
    if (json_count(value) > SANDBOX_WORDS_MAX)
        return err_set(reading->e, -EINVAL, "%s: more than %d entries", name, SANDBOX_WORDS_MAX);
    size_t i = 0;
    for (const struct json *at = json_first(value); at; at = json_next(at), i++) {
        drop_str char *item = xasprintf("%s[%zu]", name, i);
        int r = check_text(reading, json_text(at), item);
        if (r == 0 && check)
            r = check(reading, json_text(at), item);
        if (r < 0)
            return r;
        words_add(ret, json_text(at));
    }
    return 0;
}

static int read_paths(struct settings_reading *reading, const struct key *key,
                      const struct json *value, const char *name)
{
    return read_settings_list(reading, value, name, NULL, settings_field(reading, key));
}

static int check_domain(struct settings_reading *reading, const char *text, const char *name,
                        bool denies)
{
    struct domain domain;
    const char *wrong = domain_parse(text, denies, &domain);
    return wrong ? err_set(reading->e, -EINVAL, "%s: \"%.80s\": %s", name, text, wrong) : 0;
}

static int check_allowed(struct settings_reading *reading, const char *text, const char *name)
{
    return check_domain(reading, text, name, false);
}

static int check_denied(struct settings_reading *reading, const char *text, const char *name)
{
    return check_domain(reading, text, name, true);
}

static int read_allowed(struct settings_reading *reading, const struct key *key,
                        const struct json *value, const char *name)
{
    return read_settings_list(reading, value, name, check_allowed, settings_field(reading, key));
}

static int read_denied_setting(struct settings_reading *reading, const struct key *key,
                               const struct json *value, const char *name)
{
    return read_settings_list(reading, value, name, check_denied, settings_field(reading, key));
}

/* {"part of a command, or *": ["part of a path"]} */
static int read_ignored(struct settings_reading *reading, const struct key *key,
                        const struct json *value, const char *name)
{
    struct words *pairs = settings_field(reading, key);
    if (!json_is_object(value))
        return wrong_kind(reading, name, "an object of lists");
    for (const struct json *at = json_first(value); at; at = json_next(at)) {
        struct words paths = {0};
        drop_str char *item = xasprintf("%s.%.80s", name, json_name(at));
        int r = read_settings_list(reading, at, item, NULL, &paths);
        if (r == 0 && pairs->count / 2 + paths.count > SANDBOX_WORDS_MAX)
            r = err_set(reading->e, -EINVAL, "%s: more than %d entries", name, SANDBOX_WORDS_MAX);
        for (size_t i = 0; r == 0 && i < paths.count; i++) {
            words_add(pairs, json_name(at));
            words_add(pairs, paths.items[i]);
        }
        words_done(&paths);
        if (r < 0)
            return r;
    }
    return 0;
}

static bool is_setting_text(const struct json *value)
{
    return json_text(value) != NULL;
}

static int read_nothing(struct settings_reading *reading, const struct key *key,
                        const struct json *value, const char *name)
{
    if (!key->is_kind(value))
        return wrong_kind(reading, name, key->kind);
    words_add(&reading->settings->without_effect, name);
    return 0;
}

/* What does nothing: false, and lists and objects without members. */
static bool is_off(const struct json *value)
{
    if (json_is_bool(value))
        return !json_true(value);
    return (json_is_array(value) || json_is_object(value)) && json_count(value) == 0;
}

static int read_refused(struct settings_reading *reading, const struct key *key,
                        const struct json *value, const char *name)
{
    if (is_off(value))
        return 0;
    return err_set(reading->e, -EINVAL, "%s: %s", name, key->why);
}

#define WITHOUT_EFFECT(test, words) .read = read_nothing, .is_kind = (test), .kind = (words)
#define REFUSED .read = read_refused, .why = "is not enforced here, so it is refused"
#define A_FLAG WITHOUT_EFFECT(json_is_bool, "true or false")
#define A_TEXT WITHOUT_EFFECT(is_setting_text, "a string")
#define A_LIST WITHOUT_EFFECT(json_is_array, "a list")
#define AN_OBJECT WITHOUT_EFFECT(json_is_object, "an object")

static const struct key network_keys[] = {
    {"allowedDomains", read_allowed, FIELD(allowed_domains), .needed = true},
    {"deniedDomains", read_denied_setting, FIELD(denied_domains), .needed = true},
    {"allowUnixSockets", read_paths, FIELD(allow_unix_sockets)},
    {"allowAllUnixSockets", read_flag, FIELD(allow_all_unix_sockets)},
    {"allowLocalBinding", read_flag, FIELD(allow_local_binding)},
    {"httpProxyPort", read_port, FIELD(http_proxy_port)},
    {"socksProxyPort", read_port, FIELD(socks_proxy_port)},
    {"strictAllowlist", A_FLAG},
    {"deniedDomainReasons", AN_OBJECT},
    {"allowMachLookup", A_LIST},
    {"deniedResolvedAddresses", REFUSED},
    {"filterRequest", REFUSED},
    {"mitmProxy", REFUSED},
    {"parentProxy", REFUSED},
    {"tlsTerminate", REFUSED},
    {0},
};

static const struct key filesystem_keys[] = {
    {"denyRead", read_paths, FIELD(deny_read), .needed = true},
    {"allowRead", read_paths, FIELD(allow_read)},
    {"allowWrite", read_paths, FIELD(allow_write), .needed = true},
    {"denyWrite", read_paths, FIELD(deny_write), .needed = true},
    {"allowGitConfig", read_flag, FIELD(allow_git_config)},
    {"disabled", read_refused,
     .why = "files are always guarded here: say in allowWrite what may be written"},
    {0},
};

static int read_network(struct settings_reading *reading, const struct key *key,
                        const struct json *value, const char *name);
static int read_filesystem(struct settings_reading *reading, const struct key *key,
                           const struct json *value, const char *name);

static const struct key top_keys[] = {
    {"network", read_network, .needed = true},
    {"filesystem", read_filesystem, .needed = true},
    {"ignoreViolations", read_ignored, FIELD(ignored_violations)},
    {"mandatoryDenySearchDepth", read_depth, FIELD(mandatory_deny_search_depth)},
    {"credentials", REFUSED},
    {"allowAppleEvents", A_FLAG},
    {"allowPty", A_FLAG},
    {"bwrapPath", A_TEXT},
    {"enableWeakerNestedSandbox", A_FLAG},
    {"enableWeakerNetworkIsolation", A_FLAG},
    {"git", AN_OBJECT},
    {"javaAgentJarPath", A_TEXT},
    {"ripgrep", AN_OBJECT},
    {"seccomp", AN_OBJECT},
    {"socatPath", A_TEXT},
    {"windows", AN_OBJECT},
    {0},
};

/* --- reading an object ------------------------------------------------------------------------ */

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Letters that are added, taken or changed to make one word of the other; case does not count. */
static int setting_distance(const char *a, const char *b)
{
    int row[HINT_MAX + 1];
    size_t n = strlen(b);
    if (n > HINT_MAX || strlen(a) > HINT_MAX)
        return HINT_MAX;
    for (size_t j = 0; j <= n; j++)
        row[j] = (int)j;
    for (size_t i = 0; a[i]; i++) {
        int corner = row[0];
        row[0] = (int)i + 1;
        for (size_t j = 0; j < n; j++) {
            int change = corner + (strncasecmp(a + i, b + j, 1) != 0);
            corner = row[j + 1];
            row[j + 1] = least(change, least(row[j], corner) + 1);
        }
    }
    return row[n];
}

static int unknown(struct settings_reading *reading, const struct key *keys, const char *name,
                   const char *last)
{
    for (const struct key *key = keys; key->name; key++)
        if (setting_distance(last, key->name) <= HINT_DISTANCE)
            return err_set(reading->e, -EINVAL, "%.120s: no such key; %s is near", name, key->name);
    return err_set(reading->e, -EINVAL, "%.120s: no such key", name);
}

static char *join_settings_path(const char *prefix, const char *name)
{
    return *prefix ? xasprintf("%s.%s", prefix, name) : xstrdup(name);
}

static int read_settings_member(struct settings_reading *reading, const struct key *keys,
                                const struct json *value, const char *prefix)
{
    const char *last = json_name(value);
    drop_str char *name = join_settings_path(prefix, last);
    for (const struct key *key = keys; key->name; key++)
        if (strcmp(key->name, last) == 0)
            return key->read(reading, key, value, name);
    return unknown(reading, keys, name, last);
}

/* Of two equal names a reader sees one; so does a reviewer, and maybe the other. */
static int refuse_twice(struct settings_reading *reading, const struct json *object,
                        const char *prefix, const struct key *keys)
{
    for (const struct key *key = keys; key->name; key++) {
        int seen = 0;
        for (const struct json *at = json_first(object); at; at = json_next(at))
            seen += strcmp(json_name(at), key->name) == 0;
        drop_str char *name = join_settings_path(prefix, key->name);
        if (seen > 1)
            return err_set(reading->e, -EINVAL, "%s: stands there twice", name);
        if (seen == 0 && key->needed)
            return err_set(reading->e, -EINVAL, "%s is missing", name);
    }
    return 0;
}

static int read_object(struct settings_reading *reading, const struct key *keys,
                       const struct json *object, const char *prefix)
{
    int r = 0;
    for (const struct json *at = json_first(object); at && r == 0; at = json_next(at))
        r = read_settings_member(reading, keys, at, prefix);
    return r < 0 ? r : refuse_twice(reading, object, prefix, keys);
}

static int read_network(struct settings_reading *reading, const struct key *key,
                        const struct json *value, const char *name)
{
    (void)key;
    if (!json_is_object(value))
        return wrong_kind(reading, name, "an object");
    return read_object(reading, network_keys, value, name);
}

static int read_filesystem(struct settings_reading *reading, const struct key *key,
                           const struct json *value, const char *name)
{
    (void)key;
    if (!json_is_object(value))
        return wrong_kind(reading, name, "an object");
    return read_object(reading, filesystem_keys, value, name);
}

int sandbox_settings_parse(const char *text, size_t n, struct sandbox_settings **ret, struct err *e)
{
    if (n > SANDBOX_SETTINGS_MAX)
        return err_set(e, -EINVAL, "settings over %d bytes", SANDBOX_SETTINGS_MAX);
    struct err why = ERR_NONE;
    drop_json struct json *json = json_parse_copy(text, n, JSON_STRICT, &why);
    if (!json)
        return err_set(e, why.code == -ENOMEM ? -ENOMEM : -EINVAL, "settings: %s", why.msg);
    if (!json_is_object(json))
        return err_set(e, -EINVAL, "settings: an object is needed");
    struct sandbox_settings *settings = NEW(struct sandbox_settings);
    settings->mandatory_deny_search_depth = DEPTH_DEFAULT;
    struct settings_reading reading = {.settings = settings, .e = e};
    int r = read_object(&reading, top_keys, json, "");
    if (r < 0) {
        (void)sandbox_settings_free(settings);
        return r;
    }
    *ret = settings;
    return 0;
}

int sandbox_settings_read(const char *path, char **ret_text, struct err *e)
{
    drop_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return err_set(e, -errno, "%s: %s", path, strerror(errno));
    drop_buf struct buf text = BUF_INIT(SANDBOX_SETTINGS_MAX);
    for (;;) {
        char bytes[16384];
        ssize_t n = read(fd, bytes, sizeof bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(e, -errno, "%s: %s", path, strerror(errno));
        if (n == 0)
            break;
        if (memchr(bytes, '\0', (size_t)n))
            return err_set(e, -EINVAL, "%s: has a NUL", path);
        if (buf_add(&text, bytes, (size_t)n) < 0)
            return err_set(e, -EINVAL, "%s: over %d bytes", path, SANDBOX_SETTINGS_MAX);
    }
    *ret_text = text.len > 0 ? buf_take(&text) : xstrdup("");
    return 0;
}
