/* SPDX-License-Identifier: Apache-2.0
 *
 * Every expectation is what load_dotenv() of python-dotenv 1.2.4 does, except where a test says
 * otherwise; tests/peer/dotenv_oracle.py compares thousands more. */
#include <acutest.h>

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "wire/dotenv.h"

/* What was set is collected as "NAME=value|NAME=value|", a warning as "!LINE|". */
static const char *environment(void *ctx, const char *name)
{
    (void)ctx;
    return strcmp(name, "HOME") == 0 ? "/home/u" : strcmp(name, "EMPTY") == 0 ? "" : NULL;
}

static void set(void *ctx, const char *name, const char *value)
{
    (void)buf_addf(ctx, "%s=%s|", name, value);
}

static void warn(void *ctx, size_t line, const char *what)
{
    TEST_CHECK(what[0] != '\0');
    (void)buf_addf(ctx, "!%zu|", line);
}

static const struct dotenv_events events = {environment, set, warn};

#define BYTES(literal) literal, sizeof(literal) - 1

struct example {
    const char *text;
    size_t len;
    const char *result;
};

static void check(const struct example *examples, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        TEST_CASE(examples[i].text);
        drop_buf struct buf result = BUF_INIT(10000);
        struct err e = ERR_NONE;
        drop_str char *exact = xcalloc(1, examples[i].len ? examples[i].len : 1);
        memcpy(exact, examples[i].text, examples[i].len);
        TEST_CHECK_(dotenv_parse(exact, examples[i].len, &events, &result, &e) == 0, "%s", e.msg);
        TEST_CHECK_(strcmp(buf_text(&result), examples[i].result) == 0, "%s", buf_text(&result));
    }
}
#define CHECK(examples) check(examples, sizeof(examples) / sizeof *(examples))

static void names_and_plain_values_are_read(void)
{
    static const struct example examples[] = {
        {BYTES(""), ""},
        {BYTES("A=1"), "A=1|"},
        {BYTES("A=1\nB=2\n"), "A=1|B=2|"},
        {BYTES("  A  =  1  \n\n\t"), "A=1|"},
        {BYTES("export A=1\nexport\tB = 2"), "A=1|B=2|"},
        {BYTES("export=1"), "export=1|"},
        {BYTES("exportA=1"), "exportA=1|"},
        {BYTES("export export A=1"), "!1|"},
        {BYTES("A=b=c d"), "A=b=c d|"},
        {BYTES("A="), "A=|"},
        {BYTES("A= \nB=1"), "A=|B=1|"},
        {BYTES("A\nB=1"), "B=1|"},
        {BYTES("A.B-C/D=1"), "A.B-C/D=1|"},
        {BYTES("\u00c4=\u00f6"), "\u00c4=\u00f6|"},
        {BYTES("'A B' = 1"), "A B=1|"},
        {BYTES("\"A\"=1"), "\"A\"=1|"},
        {BYTES("A=x\u00a0"), "A=x|"},
        {BYTES("A=a\\nb\\"), "A=a\\nb\\|"},
    };
    CHECK(examples);
}

static void comments_end_a_value_only_behind_white_space(void)
{
    static const struct example examples[] = {
        {BYTES("# A=1\n  # B=2\nC=3"), "C=3|"},
        {BYTES("A=1#c"), "A=1#c|"},
        {BYTES("A=1 #c # d"), "A=1|"},
        {BYTES("A=#c"), "A=#c|"},
        {BYTES("A= #c\nB=1"), "A=|B=1|"},
        {BYTES("A=x\u2003#c"), "A=x|"},
        {BYTES("A='x'#c"), "A=x|"},
        {BYTES("A=\"x\" # c"), "A=x|"},
        {BYTES("A='a # b'"), "A=a # b|"},
        {BYTES("A #c"), ""},
    };
    CHECK(examples);
}

static void quoted_values_have_the_escapes_of_their_quote(void)
{
    static const struct example examples[] = {
        {BYTES("A=''\nB=\"\""), "A=|B=|"},
        {BYTES("A=' x '"), "A= x |"},
        {BYTES("A='x\ny'\nB=\"x\ny\""), "A=x\ny|B=x\ny|"},
        {BYTES("A='it\\'s \\\\ \\n \\\"'"), "A=it's \\ \\n \\\"|"},
        {BYTES("A=\"\\\"\\'\\\\\\a\\b\\f\\n\\r\\t\\v\""), "A=\"'\\\a\b\f\n\r\t\v|"},
        {BYTES("A=\"\\x41\\u0041\\$\\ \""), "A=\\x41\\u0041\\$\\ |"},
        {BYTES("A=\"\\\\n\""), "A=\\n|"},
        {BYTES("A=\"\\\u00e9\""), "A=\\\u00e9|"},
        {BYTES("A=x'y'"), "A=x'y'|"},
        {BYTES("A=`x`"), "A=`x`|"},
    };
    CHECK(examples);
}

static void line_ends_and_the_byte_order_mark_are_those_of_any_editor(void)
{
    static const struct example examples[] = {
        {BYTES("A=1\r\nB=2\r\n"), "A=1|B=2|"},
        {BYTES("A=1\rB=2\r"), "A=1|B=2|"},
        {BYTES("A=\"x\r\ny\rz\""), "A=x\ny\nz|"},
        {BYTES("\xEF\xBB\xBF\x41=1"), "A=1|"},
        {BYTES("\xEF\xBB\xBF\xEF\xBB\xBF\x41=1"), "\xEF\xBB\xBF\x41=1|"},
    };
    CHECK(examples);
}

static void a_line_that_is_not_understood_is_skipped_and_named(void)
{
    static const struct example examples[] = {
        {BYTES("A=1\n\nbad line\nB=2"), "!3|A=1|B=2|"},
        {BYTES("=1\nB=2"), "!1|B=2|"},
        {BYTES("A='x\nB=1"), "!1|B=1|"},
        {BYTES("A=\"x\nB=\"y\"\nC=1"), "!1|C=1|"},
        {BYTES("A='x'y\nB=1"), "!1|B=1|"},
        {BYTES("A='x\\'"), "!1|"},
        {BYTES("A=\"x\\"), "!1|"},
        {BYTES("''=1\nB=2"), "!1|B=2|"},
        {BYTES("'A=1\nB=2"), "!1|B=2|"},
        {BYTES("A: 1"), "!1|"},
    };
    CHECK(examples);
}

static void variables_are_put_in_and_the_environment_wins(void)
{
    static const struct example examples[] = {
        {BYTES("A=x${HOME}y"), "A=x/home/uy|"},
        {BYTES("A='${HOME}'\nB=\"\\${HOME}\""), "A=/home/u|B=\\/home/u|"},
        {BYTES("A=1\nB=${A}2\nA=3\nC=${A}${B}"), "A=3|B=12|C=312|"},
        {BYTES("HOME=x\nA=${HOME}"), "A=/home/u|"},
        {BYTES("A=${NOPE}\nB=${NOPE:-d e}\nC=${NOPE:-}"), "A=|B=d e|C=|"},
        {BYTES("A=${EMPTY:-d}"), "A=|"},
        {BYTES("A\nB=${A:-d}"), "B=|"},
        {BYTES("B=${A}\nA=1"), "B=|A=1|"},
        {BYTES("A='${B}'\nB=1\nC=${A}"), "A=|B=1|C=|"},
        {BYTES("A=$HOME $$ ${HOME"), "A=$HOME $$ ${HOME|"},
        {BYTES("A=${NOPE-d}${NOPE:d}${NOPE:=d}"), "A=${NOPE:d}${NOPE:=d}|"},
        {BYTES("A=${NOPE:-${HOME}}"), "A=${HOME}|"},
        {BYTES("A=${${HOME}}"), "A=}|"},
        {BYTES("A=${:${HOME}}"), "A=${:/home/u}|"},
        {BYTES("A=1\nA"), ""},
    };
    CHECK(examples);
}

/* load_dotenv() raises ValueError at these. */
static void what_no_environment_can_hold_is_skipped_alone(void)
{
    static const struct example examples[] = {
        {BYTES("A=x\0y\nB=${A}\nC=1"), "!1|!2|C=1|"},
        {BYTES("A\0=1\nC=1"), "!1|C=1|"},
        {BYTES("'A=B'=1\nC=${A=B}"), "!1|C=1|"},
        {BYTES("A=${HOME\0}"), "A=|"},
        {BYTES("# \0\nA=1"), "A=1|"},
    };
    CHECK(examples);
}

static void bytes_that_are_not_utf8_refuse_the_file(void)
{
    static const struct example examples[] = {
        {BYTES("A=\xff"), ""},
        {BYTES("A=1\n#\xc3"), ""},
        {BYTES("A=\xC0\x80"), ""},
        {BYTES("A=\xed\xa0\x80"), ""},
    };
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        drop_buf struct buf result = BUF_INIT(100);
        TEST_CHECK(dotenv_parse(examples[i].text, examples[i].len, &events, &result, NULL) ==
                   -EILSEQ);
        TEST_CHECK(result.len == 0);
    }
}

/* Nothing is set when a limit is passed, and none of these takes long. */
static void limits_are_kept(void)
{
    drop_buf struct buf text = BUF_INIT(DOTENV_MAX + 1);
    drop_buf struct buf result = BUF_INIT(DOTENV_MAX * 2);
    while (text.len < DOTENV_MAX)
        (void)buf_addc(&text, '#');
    TEST_CHECK(dotenv_parse(text.data, text.len, &events, &result, NULL) == 0);
    (void)buf_addc(&text, '#');
    TEST_CHECK(dotenv_parse(text.data, text.len, &events, &result, NULL) == -EMSGSIZE);

    buf_clear(&text);
    for (int i = 0; i < DOTENV_NAMES_MAX; i++)
        (void)buf_addf(&text, "A%d=1\nA%d=2\n", i, i);
    TEST_CHECK(dotenv_parse(text.data, text.len, &events, &result, NULL) == 0);
    (void)buf_adds(&text, "B");
    buf_clear(&result);
    TEST_CHECK(dotenv_parse(text.data, text.len, &events, &result, NULL) == -E2BIG);

    buf_clear(&text);
    (void)buf_adds(&text, "A=0123456789\n");
    for (int i = 0; i < 40; i++)
        (void)buf_adds(&text, "A=${A}${A}\n");
    TEST_CHECK(dotenv_parse(text.data, text.len, &events, &result, NULL) == -EMSGSIZE);
    TEST_CHECK(result.len == 0);
}

static void hostile_texts_take_linear_time(void)
{
    static const char *const units[] = {"${",       "${a", "${:",    "${a:-", "A='\n", "A=\"\n",
                                        "A=\"\\\n", " #",  "\u2003", "$",     "A\n"};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        drop_buf struct buf text = BUF_INIT(DOTENV_MAX);
        drop_buf struct buf result = BUF_INIT(DOTENV_MAX * 4);
        (void)buf_adds(&text, "A=x");
        while (text.len + 10 < DOTENV_MAX)
            (void)buf_adds(&text, units[i]);
        TEST_CASE(units[i]);
        int64_t start = clock_of_process_ns(getpid());
        TEST_CHECK(dotenv_parse(text.data, text.len, &events, &result, NULL) == 0);
        TEST_CHECK(clock_of_process_ns(getpid()) - start <
                   3000000000); /* 0.1 s; 10 s when it is not linear */
    }
}

static void no_memory_at_any_point_is_an_error_and_no_leak(void)
{
    static const char text[] = "A=1\nB='${A} ${A} ${A}'\nC=\"some longer text to make it grow\"";
    int r = -1;
    long n = 1;
    for (; r < 0; n++) {
        TEST_ASSERT(n < 100);
        drop_buf struct buf result = BUF_INIT(1000);
        (void)buf_reserve(&result, 1000);
        try_realloc_fail_at(n);
        r = dotenv_parse(text, sizeof text - 1, &events, &result, NULL);
        try_realloc_fail_at(0);
        TEST_CHECK(r == 0 || (r == -ENOMEM && result.len == 0));
    }
    TEST_CHECK(n > 3);
}

static void warnings_need_not_be_taken(void)
{
    static const struct dotenv_events quiet = {environment, set, NULL};
    drop_buf struct buf result = BUF_INIT(100);
    TEST_CHECK(dotenv_parse("=\nA=1", 5, &quiet, &result, NULL) == 0);
    TEST_CHECK(strcmp(buf_text(&result), "A=1|") == 0);
}

TEST_LIST = {
    {"names and plain values are read", names_and_plain_values_are_read},
    {"comments end a value only behind white space", comments_end_a_value_only_behind_white_space},
    {"quoted values have the escapes of their quote",
     quoted_values_have_the_escapes_of_their_quote},
    {"line ends and the byte order mark are those of any editor",
     line_ends_and_the_byte_order_mark_are_those_of_any_editor},
    {"a line that is not understood is skipped and named",
     a_line_that_is_not_understood_is_skipped_and_named},
    {"variables are put in and the environment wins",
     variables_are_put_in_and_the_environment_wins},
    {"what no environment can hold is skipped alone",
     what_no_environment_can_hold_is_skipped_alone},
    {"bytes that are not UTF-8 refuse the file", bytes_that_are_not_utf8_refuse_the_file},
    {"limits are kept", limits_are_kept},
    {"hostile texts take linear time", hostile_texts_take_linear_time},
    {"no memory at any point is an error and no leak",
     no_memory_at_any_point_is_an_error_and_no_leak},
    {"warnings need not be taken", warnings_need_not_be_taken},
    {NULL, NULL},
};
