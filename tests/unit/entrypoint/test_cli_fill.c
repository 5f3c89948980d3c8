/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions of servers at the command line: how they are shown, and how they are answered. */
#include <acutest.h>

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "entrypoint/cli/cli_fill.h"
#include "entrypoint/cli/cli_form.h"

#define PROPERTIES                                                                                 \
    "{\"name\":{\"type\":\"string\",\"title\":\"Your name\",\"minLength\":2},"                     \
    "\"colour\":{\"type\":\"string\",\"oneOf\":[{\"const\":\"r\",\"title\":\"Red\"},"              \
    "{\"const\":\"g\"}],\"default\":\"g\"},"                                                       \
    "\"age\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":150},"                                \
    "\"ok\":{\"type\":\"boolean\",\"description\":\"one\\ntwo\"},"                                 \
    "\"tags\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"a,b\",\"c\"]},"       \
    "\"maxItems\":2},"                                                                             \
    "\"mail\":{\"type\":\"string\",\"format\":\"email\"}}"

static struct json *make_form(const char *properties, const char *required)
{
    drop_str char *text = xasprintf("{\"message\":\"Who are you?\\nReally?\",\"requestedSchema\":"
                                    "{\"type\":\"object\",\"properties\":%s,\"required\":%s}}",
                                    properties, required);
    struct json *form = json_parse_copy(text, strlen(text), JSON_STRICT, NULL);
    TEST_ASSERT_(form != NULL, "%s", text);
    return form;
}

static void check_is(const char *actual, const char *expected)
{
    TEST_CHECK(strcmp(actual, expected) == 0);
    TEST_MSG("expected: %s\nactual: %s", expected, actual);
}

static void check_in(const char *actual, const char *expected)
{
    TEST_CHECK(strstr(actual, expected) != NULL);
    TEST_MSG("expected: %s\nactual: %s", expected, actual);
}

/* --- the text --------------------------------------------------------------------------------- */

static void a_form_is_shown_with_what_each_field_takes(void)
{
    drop_json struct json *form = make_form(PROPERTIES, "[\"name\"]");
    drop_buf struct buf out = BUF_INIT(1 << 16);
    cli_form_put(&out, form);
    check_is(buf_text(&out), "  asks\n"
                             "    Who are you?\n"
                             "    Really?\n"
                             "  fields\n"
                             "    name: text, at least 2 characters; needed\n"
                             "        Your name\n"
                             "    colour: one of r (Red), g; default \"g\"\n"
                             "    age: a whole number, at least 0, at most 150\n"
                             "    ok: yes or no\n"
                             "        one\n"
                             "        two\n"
                             "    tags: any of a,b, c, at most 2 of them\n"
                             "    mail: text, in the form email\n");
}

static void nothing_in_a_form_steers_the_terminal(void)
{
    static const char hostile[] =
        "{\"\\u001bn\":{\"type\":\"string\",\"title\":\"\\u001bt\",\"description\":\"\\u001bd\","
        "\"enum\":[\"\\u001be\"],\"format\":\"\\u001bf\",\"default\":\"\\u001bx\"},"
        "\"o\":{\"type\":\"string\",\"oneOf\":[{\"const\":\"\\u001bc\",\"title\":\"\\u001bt\"}]}}";
    drop_json struct json *form = make_form(hostile, "[]");
    drop_buf struct buf out = BUF_INIT(1 << 16);
    cli_form_put(&out, form);
    TEST_CHECK(strchr(buf_text(&out), '\x1b') == NULL);
    check_in(buf_text(&out), "\\u001bn: one of \\u001be, in the form \\u001bf; default ");
    check_in(buf_text(&out), "o: one of \\u001bc (\\u001bt)");
}

/* --- words ------------------------------------------------------------------------------------ */

struct words {
    const char *words[5];
    const char *content; /* or what is wrong with them */
};

static int fill(const struct words *c, struct buf *content, struct err *e)
{
    drop_json struct json *form = make_form(PROPERTIES, "[\"name\"]");
    int n = 0;
    while (c->words[n])
        n++;
    TEST_CASE(c->content);
    return cli_fill_words(form, c->words, n, content, e);
}

static void words_are_the_values_of_their_fields(void)
{
    static const struct words cases[] = {
        {{"name=Ada"}, "{\"name\":\"Ada\",\"colour\":\"g\"}"},
        {{"colour=r", "name=a=b"}, "{\"name\":\"a=b\",\"colour\":\"r\"}"},
        {{"name=42", "age=007"}, NULL},
        {{"name=42", "age=42"}, "{\"name\":\"42\",\"colour\":\"g\",\"age\":42}"},
        {{"name=42", "age=1e1"}, "{\"name\":\"42\",\"colour\":\"g\",\"age\":1e1}"},
        {{"name=xx", "ok=Yes"}, "{\"name\":\"xx\",\"colour\":\"g\",\"ok\":true}"},
        {{"name=xx", "ok=false"}, "{\"name\":\"xx\",\"colour\":\"g\",\"ok\":false}"},
        {{"name=xx", "tags=a,b", "tags=c"},
         "{\"name\":\"xx\",\"colour\":\"g\",\"tags\":[\"a,b\",\"c\"]}"},
        {{"name=xx", "tags="}, "{\"name\":\"xx\",\"colour\":\"g\",\"tags\":[]}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = ERR_NONE;
        drop_buf struct buf content = BUF_INIT(1 << 16);
        int r = fill(&cases[i], &content, &e);
        TEST_CHECK_(r == (cases[i].content ? 0 : -EINVAL), "%s", e.msg);
        if (cases[i].content)
            check_is(buf_text(&content), cases[i].content);
        else
            check_in(e.msg, "content.age: a number is needed");
    }
}

static void words_that_do_not_fit_are_refused_by_name(void)
{
    static const struct words cases[] = {
        {{NULL}, "content.name: it is required"},
        {{"name=x"}, "content.name: it has 1 characters"},
        {{"name=xx", "nome=yy"}, "nome=yy: the form has no such field"},
        {{"name=xx", "name=yy"}, "name: it has one value"},
        {{"name=xx", "colour=blue"}, "content.colour: not one of the choices"},
        {{"name=xx", "ok=maybe"}, "content.ok: true or false is needed"},
        {{"name=xx", "age=151"}, "content.age: must be at most 150"},
        {{"name=xx", "tags=c", "tags=d"}, "content.tags: an entry is not one of the choices"},
        {{"name=xx", "mail=here"}, "content.mail: this is no email"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = ERR_NONE;
        drop_buf struct buf content = BUF_INIT(1 << 16);
        TEST_CHECK(fill(&cases[i], &content, &e) == -EINVAL);
        check_in(e.msg, cases[i].content);
    }
}

static void a_name_with_an_equals_sign_is_found(void)
{
    drop_json struct json *form =
        make_form("{\"a\":{\"type\":\"string\"},\"a=b\":{\"type\":\"string\"}}", "[]");
    drop_buf struct buf content = BUF_INIT(1 << 16);
    const char *const words[] = {"a=b=c", "a=d"};
    TEST_CHECK(cli_fill_words(form, words, 2, &content, NULL) == 0);
    check_is(buf_text(&content), "{\"a\":\"d\",\"a=b\":\"c\"}");
}

static void an_answer_in_json_is_taken_as_it_is_when_it_fits(void)
{
    static const struct {
        const char *text, *why;
    } cases[] = {{"{\"name\":\"Ada\", \"age\":1.0}", NULL},
                 {"{\"name\":\"A\"}", "content.name: it has 1 characters"},
                 {"{\"nome\":\"Ada\"}", "content.nome: the form has no such field"},
                 {"[\"Ada\"]", "no JSON object"},
                 {"{\"name\":", "no JSON object"},
                 {"", "no JSON object"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct err e = ERR_NONE;
        drop_json struct json *form = make_form(PROPERTIES, "[\"name\"]");
        drop_buf struct buf content = BUF_INIT(1 << 16);
        int r = cli_fill_json(form, cases[i].text, strlen(cases[i].text), &content, &e);
        TEST_CASE(cases[i].text);
        TEST_CHECK_(r == (cases[i].why ? -EINVAL : 0), "%s", e.msg);
        if (cases[i].why)
            check_in(e.msg, cases[i].why);
        else
            check_is(buf_text(&content), cases[i].text);
    }
}

/* --- a terminal ------------------------------------------------------------------------------- */

static char shown[16384];

static int talk(const char *input, const char **ret_action, struct buf *content, struct err *e)
{
    drop_json struct json *form = make_form(PROPERTIES, "[\"name\"]");
    int in[2], out = memfd_create("out", MFD_CLOEXEC);
    TEST_ASSERT(out >= 0 && pipe2(in, O_CLOEXEC) == 0);
    TEST_ASSERT(write(in[1], input, strlen(input)) == (ssize_t)strlen(input));
    (void)close(in[1]);
    int r = cli_fill_terminal(form, in[0], out, ret_action, content, e);
    ssize_t n = pread(out, shown, sizeof shown - 1, 0);
    shown[n > 0 ? n : 0] = '\0';
    (void)close(in[0]), (void)close(out);
    return r;
}

static void a_person_is_asked_for_field_after_field_and_again_where_it_does_not_fit(void)
{
    drop_buf struct buf content = BUF_INIT(CLI_FILL_MAX);
    const char *action = NULL;
    int r = talk("what\na\n"
                 "\nA\nAda\n" /* name */
                 "\n"         /* colour: the default */
                 "old\n36\n"  /* age */
                 "\n"         /* ok: left out */
                 "a,b\nc\n\n" /* tags */
                 "\n"         /* mail: left out */
                 "y\n",
                 &action, &content, NULL);
    TEST_CHECK(r == 0);
    check_is(action, "accept");
    check_is(buf_text(&content),
             "{\"name\":\"Ada\",\"colour\":\"g\",\"age\":36,\"tags\":[\"a,b\",\"c\"]}");
    check_in(shown, "what to do (accept, decline, cancel): ");
    check_in(shown, "  name:   it is needed\n");
    check_in(shown, "  name:   content.name: it has 1 characters");
    check_in(shown, "  colour [\"g\"]: ");
    check_in(shown, "content.age: a number is needed");
    check_in(shown, "the answer is {\"name\":\"Ada\",");
    check_in(shown, "send it (yes, no): ");
}

static void what_is_not_to_be_sent_is_asked_for_again(void)
{
    drop_buf struct buf content = BUF_INIT(CLI_FILL_MAX);
    const char *action = NULL;
    TEST_CHECK(talk("accept\nAda\n\n\n\n\n\nno\nBob\n\n\n\n\n\nyes\n", &action, &content, NULL) ==
               0);
    check_is(buf_text(&content), "{\"name\":\"Bob\",\"colour\":\"g\"}");
}

static void who_declines_or_cancels_is_asked_for_nothing(void)
{
    drop_buf struct buf content = BUF_INIT(CLI_FILL_MAX);
    const char *action = NULL;
    TEST_CHECK(talk("d\n", &action, &content, NULL) == 0);
    check_is(action, "decline");
    TEST_CHECK(talk("CANCEL\n", &action, &content, NULL) == 0);
    check_is(action, "cancel");
    TEST_CHECK(content.len == 0);
}

static void an_input_that_ends_sends_nothing(void)
{
    static const char *const inputs[] = {"", "accept\n", "accept\nAda\n", "accept\nAda\n\n\n\n\n\n",
                                         "accept\nAda\n\n\n\nc\n"};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        drop_buf struct buf content = BUF_INIT(CLI_FILL_MAX);
        const char *action = NULL;
        struct err e = ERR_NONE;
        TEST_CASE(inputs[i]);
        TEST_CHECK(talk(inputs[i], &action, &content, &e) == -ECANCELED);
        check_in(e.msg, "nothing was sent");
    }
}

#define TEST(name) {#name, name}
TEST_LIST = {
    TEST(a_form_is_shown_with_what_each_field_takes),
    TEST(nothing_in_a_form_steers_the_terminal),
    TEST(words_are_the_values_of_their_fields),
    TEST(words_that_do_not_fit_are_refused_by_name),
    TEST(a_name_with_an_equals_sign_is_found),
    TEST(an_answer_in_json_is_taken_as_it_is_when_it_fits),
    TEST(a_person_is_asked_for_field_after_field_and_again_where_it_does_not_fit),
    TEST(what_is_not_to_be_sent_is_asked_for_again),
    TEST(who_declines_or_cancels_is_asked_for_nothing),
    TEST(an_input_that_ends_sends_nothing),
    {NULL, NULL},
};
