/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox/net/net.h"
#include "unit/sandbox/nettest.h"

static struct net_proxies proxies;

static void use_proxies(void)
{
    char answer[256] = "";
    drop_fd int fd = tcp(), other = tcp();
    drop_str char *good = xasprintf("CONNECT example.test:%u HTTP/1.1\r\n\r\n", host_port);
    drop_str char *bad = xasprintf("CONNECT 127.0.0.1:%u HTTP/1.1\r\n\r\n", secret_port);
    GETS(connect_v4(fd, INADDR_LOOPBACK, proxies.http_port), 0);
    HOLDS(send(fd, good, strlen(good), 0) > 0);
    HOLDS(recv(fd, answer, sizeof answer - 1, 0) > 12 && strncmp(answer + 9, "200", 3) == 0);
    GETS(connect_v4(other, INADDR_LOOPBACK, proxies.http_port), 0);
    HOLDS(send(other, bad, strlen(bad), 0) > 0);
    HOLDS(recv(other, answer, sizeof answer - 1, 0) > 12 && strncmp(answer + 9, "403", 3) == 0);
    GETS(reaches(INADDR_LOOPBACK, proxies.socks_port), 0);
    GETS(reaches(INADDR_LOOPBACK, secret_port), EACCES);
}

static void the_proxies_of_the_broker_follow_the_same_rules(void)
{
    struct err e = ERR_NONE;
    open_internet();
    TEST_ASSERT(net_proxies_listen(&proxies, &e) == 0);
    stage_of(some_names(), "", (struct stage){.proxies = &proxies}, use_proxies);
    end_stage();
    TEST_CHECK(count_accepted(host) == 1 && count_accepted(secret) == 0);
    char text[64];
    (void)snprintf(text, sizeof text, "127.0.0.1:%u", secret_port);
    TEST_CHECK(was_refused("proxy", text) && was_refused("connect", text));
}

static void use_external_proxies(void)
{
    uint32_t v4 = 0;
    GETS(reaches(INADDR_LOOPBACK, host_port), 0);
    GETS(reaches(INADDR_LOOPBACK, secret_port), EACCES);
    HOLDS(look_up("example.test", &v4) == EAI_NONAME);
    GETS(reaches(0xC0000201, 80), EACCES);
}

static bool has_word(const struct words *words, const char *want)
{
    for (size_t i = 0; i < words->count; i++)
        if (strcmp(words->items[i], want) == 0)
            return true;
    return false;
}

static void with_proxies_of_others_nothing_else_is_reached(void)
{
    open_internet();
    drop_str char *more = xasprintf("\"httpProxyPort\":%u", host_port);
    stage_of("\"example.test\",\"192.0.2.1\"", more, (struct stage){.naive = false},
             use_external_proxies);
    struct words words = {0};
    drop_str char *variable = xasprintf("https_proxy=http://localhost:%u", host_port);
    net_environment(stage_policy, NULL, &words);
    TEST_CHECK(has_word(&words, variable));
    TEST_CHECK(has_word(&words, "NO_PROXY=localhost,127.0.0.1,::1,*.local,.local"));
    words_done(&words);
    end_stage();
    TEST_CHECK(count_accepted(host) == 1 && count_accepted(secret) == 0);
}

static void without_proxies_no_variable_of_theirs_is_set(void)
{
    make_place();
    struct policy *policy = POLICY(.network = "\"allowedDomains\":[],\"deniedDomains\":[]");
    struct words words = {0};
    net_environment(policy, NULL, &words);
    TEST_CHECK(words.count == 1 && strncmp(words.items[0], "RES_OPTIONS=use-vc", 18) == 0);
    words_done(&words);
    const struct net_proxies ours = {.http_port = 81, .socks_port = 82};
    net_environment(policy, &ours, &words);
    TEST_CHECK(has_word(&words, "HTTP_PROXY=http://localhost:81"));
    TEST_CHECK(has_word(&words, "ALL_PROXY=socks5h://localhost:82"));
    TEST_CHECK(has_word(&words, "DOCKER_HTTP_PROXY=http://localhost:81"));
    TEST_CHECK(has_word(&words, "CLOUDSDK_PROXY_PORT=81"));
    words_done(&words);
    policy = policy_free(policy);
}

#define T(name) {#name, name}

TEST_LIST = {
    T(the_proxies_of_the_broker_follow_the_same_rules),
    T(with_proxies_of_others_nothing_else_is_reached),
    T(without_proxies_no_variable_of_theirs_is_set),
    {NULL, NULL},
};
