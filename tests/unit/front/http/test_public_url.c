/* SPDX-License-Identifier: Apache-2.0 */
#include <acutest.h>

#include <string.h>

#include "front/http/public_url.h"

static void a_public_url_has_a_host_and_an_origin(void)
{
    static const struct {
        const char *url, *host, *origin;
    } cases[] = {
        {"https://box.example/ipybox/", "box.example", "https://box.example"},
        {"https://box.example:443", "box.example", "https://box.example"},
        {"http://box.example:80/", "box.example", "http://box.example"},
        {"http://box.example:8443/a", "box.example", "http://box.example:8443"},
        {"http://[::1]:8080", "[::1]", "http://[::1]:8080"},
        {"box.example", NULL, NULL},
        {"ftp://box.example", NULL, NULL},
        {"https://", NULL, NULL},
        {"https://user@box.example", NULL, NULL},
        {"https://box.example:", NULL, NULL},
        {"https://box.example:x", NULL, NULL},
        {"https://[::1", NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct public_url url;
        struct err e = ERR_NONE;
        TEST_CASE(cases[i].url);
        int r = public_url_parse(cases[i].url, &url, &e);
        TEST_CHECK((r == 0) == (cases[i].host != NULL));
        if (r < 0) {
            TEST_CHECK(strstr(e.msg, "--public-url") != NULL);
            continue;
        }
        TEST_CHECK(strcmp(url.hosts[0], cases[i].host) == 0 && !url.hosts[1]);
        TEST_CHECK(strcmp(url.origins[0], cases[i].origin) == 0 && !url.origins[1]);
    }
    struct public_url none;
    struct err e = ERR_NONE;
    TEST_CHECK(public_url_parse(NULL, &none, &e) == 0 && !none.hosts[0] && !none.origins[0]);
}

TEST_LIST = {
    {"a_public_url_has_a_host_and_an_origin", a_public_url_has_a_host_and_an_origin},
    {NULL, NULL},
};
