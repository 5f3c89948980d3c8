/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of options.c as texts: help, man page, markdown. */
#include "entrypoint/options.h"

#include <string.h>

enum { WIDTH = 80, INDENT = 6 };

static const char summary[] =
    "ipybox runs Python code for language models: an MCP server whose tools execute cells in "
    "IPython kernels that keep their state, in a container that it is also process 1 of.";

/* Each line fits the help's width. */
static const char example_docker[] = "docker run -i --rm -v \"$PWD\":/app/workspace ipybox";
static const char example_override[] =
    "docker run -i --rm -v \"$PWD\":/app/workspace ipybox --log-level DEBUG";
static const char example_shell[] = "docker run -it --rm -v \"$PWD\":/app/workspace ipybox bash";
static const char *const example_client[] = {
    "{",
    "  \"mcpServers\": {",
    "    \"ipybox\": {",
    "      \"command\": \"docker\",",
    "      \"args\": [\"run\", \"-i\", \"--rm\",",
    "               \"-v\", \"/path/on/the/host:/app/workspace\", \"ipybox\"]",
    "    }",
    "  }",
    "}",
};

static const struct {
    const char *status, *meaning;
} statuses[] = {
    {"0", "ended in order"},
    {"1", "failed while running; health: not well; exec: an exception"},
    {"2", "an option, a variable or the workspace is not as it must be"},
    {"124", "exec: the cell ran out of time"},
    {"125", "exec: no result, because the server or the kernel is gone"},
    {"126, 127", "the given program cannot be run, is not there"},
    {"128+N", "the main process was ended by signal N"},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void pad(struct buf *out, size_t n)
{
    while (n-- > 0)
        (void)buf_addc(out, ' ');
}

/* Words of `text`, broken before WIDTH, every line behind `indent` spaces. */
static void wrap(struct buf *out, size_t indent, const char *text)
{
    size_t column = 0;
    while (*text) {
        size_t n = strcspn(text, " ");
        if (column > 0 && column + 1 + n > WIDTH) {
            (void)buf_addc(out, '\n');
            column = 0;
        }
        if (column == 0)
            pad(out, indent);
        else
            (void)buf_addc(out, ' ');
        column = (column ? column + 1 : indent) + n;
        (void)buf_add(out, text, n);
        text += n;
        text += strspn(text, " ");
    }
    (void)buf_addc(out, '\n');
}

/* What is told of an option beside its name, variable and default. */
static void describe_option(struct buf *text, const struct options_row *row)
{
    (void)buf_adds(text, row->help);
    if (row->flags & OPTION_SECRET)
        (void)buf_addf(text,
                       " That is %s_FILE: the path of a file that holds the value; one newline at "
                       "its end is dropped.",
                       row->env);
}

/* "exec, logs" */
static void put_owners(struct buf *text, const struct options_row *row, const char *quote)
{
    size_t n;
    const char *before = "";
    const struct options_command *commands = options_commands(&n);
    for (size_t i = 0; i < n; i++) {
        if (!(row->flags & options_own(commands[i].role)))
            continue;
        (void)buf_addf(text, "%s%s%s%s", before, quote, commands[i].word, quote);
        before = ", ";
    }
}

static void describe_with_default(struct buf *text, const struct options_row *row)
{
    buf_clear(text);
    describe_option(text, row);
    if (row->fallback)
        (void)buf_addf(text, " [%s]", row->fallback);
    if (row->flags & OPTION_OF_CLI) {
        (void)buf_adds(text, " (");
        put_owners(text, row, "");
        (void)buf_addc(text, ')');
    }
}

/* The rows of some commands, or those of the server (0). */
static void help_rows(struct buf *out, unsigned of)
{
    drop_buf struct buf text = BUF_INIT(OPTIONS_TEXT_MAX);
    size_t n;
    const struct options_row *rows = options_rows(&n);
    for (size_t i = 0; i < n; i++) {
        unsigned commands = rows[i].flags & OPTION_OF_COMMANDS;
        if ((rows[i].flags & OPTION_HIDDEN) || (of ? !(commands & of) : commands != 0))
            continue;
        (void)buf_addf(out, "  --%s%s%s\n", rows[i].name, rows[i].word ? " " : "",
                       rows[i].word ? rows[i].word : "");
        describe_with_default(&text, &rows[i]);
        wrap(out, INDENT, buf_text(&text));
    }
}

static void help_options(struct buf *out)
{
    (void)buf_adds(out, "\nOptions. Each is also an environment variable: --log-level is "
                        "IPYBOX_LOG_LEVEL.\nDefaults are in brackets.\n");
    help_rows(out, 0);
    (void)buf_adds(out, "  --help, -h\n      Print this text.\n"
                        "  --version, -V\n      Print the version.\n");
}

static void help_commands(struct buf *out)
{
    size_t n;
    const struct options_command *commands = options_commands(&n);
    (void)buf_adds(out, "\nCommands:\n");
    for (size_t i = 0; i < n; i++) {
        if (commands[i].hidden)
            continue;
        (void)buf_addf(out, "  %s\n", commands[i].word);
        wrap(out, INDENT, commands[i].help);
    }
}

static void help_of_commands(struct buf *out)
{
    (void)buf_adds(out, "\nOptions of apigen, beside those above:\n");
    help_rows(out, OPTION_APIGEN);
    (void)buf_adds(out, "\nOptions of exec, sessions, policy, approve, logs and export:\n");
    help_rows(out, OPTION_OF_CLI);
}

static void help_variables(struct buf *out)
{
    drop_buf struct buf text = BUF_INIT(OPTIONS_TEXT_MAX);
    size_t n;
    const struct options_variable *variables = options_variables(&n);
    (void)buf_adds(out, "\nOther variables:\n");
    for (size_t i = 0; i < n; i++) {
        buf_clear(&text);
        (void)buf_adds(&text, variables[i].help);
        if (variables[i].fallback)
            (void)buf_addf(&text, " [%s]", variables[i].fallback);
        (void)buf_addf(out, "  %s\n", variables[i].name);
        wrap(out, INDENT, buf_text(&text));
    }
}

void options_help(struct buf *out)
{
    (void)buf_adds(out, "Usage: ipybox [OPTION]...\n       ipybox COMMAND [WORD]...\n\n");
    wrap(out, 0, summary);
    help_options(out);
    help_commands(out);
    help_of_commands(out);
    help_variables(out);
    (void)buf_addf(out, "\nExamples:\n  %s\n  %s\n  %s\n\nAs an MCP client's configuration:\n",
                   example_docker, example_override, example_shell);
    for (size_t i = 0; i < COUNT(example_client); i++)
        (void)buf_addf(out, "  %s\n", example_client[i]);
    (void)buf_adds(out, "\nExit status:\n");
    for (size_t i = 0; i < COUNT(statuses); i++)
        (void)buf_addf(out, "  %-8s  %s\n", statuses[i].status, statuses[i].meaning);
}

static const struct options_command *options_command_of(enum role role)
{
    size_t n;
    const struct options_command *commands = options_commands(&n);
    for (size_t i = 0; i < n; i++)
        if (commands[i].role == role)
            return &commands[i];
    return NULL;
}

/* A server's options are the general help's. */
void options_help_of(enum role role, struct buf *out)
{
    const struct options_command *command = options_command_of(role);
    const unsigned own = options_own(role);
    if (!command || role == ROLE_SERVER) {
        options_help(out);
        return;
    }
    (void)buf_addf(out, "Usage: ipybox %s%s%s%s\n\n", command->word,
                   own || role < ROLE_APIGEN ? " [OPTION]..." : "", command->words ? " " : "",
                   command->words ? command->words : "");
    wrap(out, 0, command->help);
    if (own) {
        (void)buf_adds(out, "\nOptions:\n");
        help_rows(out, own);
        (void)buf_adds(out, "  --help, -h\n      Print this text.\n");
    }
    if (role < ROLE_APIGEN || own == OPTION_APIGEN)
        (void)buf_adds(out, "\nThe server's options, which it takes, too: ipybox --help\n");
}

/* Text for roff: a dash must not become a hyphen, a line must not start as a request. */
static void roff(struct buf *out, const char *text)
{
    if (*text == '.' || *text == '\'')
        (void)buf_adds(out, "\\&");
    for (; *text; text++) {
        if (*text == '\\')
            (void)buf_adds(out, "\\e");
        else if (*text == '-')
            (void)buf_adds(out, "\\-");
        else
            (void)buf_addc(out, *text);
    }
}

static void roff_line(struct buf *out, const char *text)
{
    roff(out, text);
    (void)buf_addc(out, '\n');
}

static void roff_item(struct buf *out, const char *prefix, const char *name, const char *word)
{
    (void)buf_adds(out, ".TP\n\\fB");
    roff(out, prefix);
    roff(out, name);
    (void)buf_adds(out, "\\fR");
    if (word)
        (void)buf_addf(out, " \\fI%s\\fR", word);
    (void)buf_addc(out, '\n');
}

static void man_options(struct buf *out)
{
    drop_buf struct buf text = BUF_INIT(OPTIONS_TEXT_MAX);
    size_t n;
    const struct options_row *rows = options_rows(&n);
    (void)buf_adds(out, ".SH OPTIONS\nA flag wins over its variable, the variable over the "
                        "default in brackets.\n");
    for (size_t i = 0; i < n; i++) {
        if (rows[i].flags & OPTION_HIDDEN)
            continue;
        roff_item(out, "--", rows[i].name, rows[i].word);
        describe_with_default(&text, &rows[i]);
        roff_line(out, buf_text(&text));
        if (rows[i].env) {
            (void)buf_addf(out, "Variable: \\fB%s\\fR.\n", rows[i].env);
        } else {
            (void)buf_adds(out, "Of ");
            put_owners(out, &rows[i], "");
            (void)buf_adds(out, " alone.\n");
        }
    }
    roff_item(out, "--", "help", NULL);
    roff_line(out, "Print a help text.");
    roff_item(out, "--", "version", NULL);
    roff_line(out, "Print the version.");
}

static void man_tables(struct buf *out)
{
    size_t n;
    const struct options_command *commands = options_commands(&n);
    (void)buf_adds(out, ".SH COMMANDS\n");
    for (size_t i = 0; i < n; i++) {
        if (commands[i].hidden)
            continue;
        roff_item(out, "", commands[i].word, NULL);
        roff_line(out, commands[i].help);
    }
    man_options(out);
    const struct options_variable *variables = options_variables(&n);
    (void)buf_adds(out, ".SH ENVIRONMENT\n");
    for (size_t i = 0; i < n; i++) {
        roff_item(out, "", variables[i].name, NULL);
        roff_line(out, variables[i].help);
        if (variables[i].fallback)
            (void)buf_addf(out, "[%s]\n", variables[i].fallback);
    }
}

void options_man(struct buf *out)
{
    (void)buf_addf(out, ".TH IPYBOX 1 \"\" \"%s\"\n.SH NAME\n", options_version());
    roff_line(out, "ipybox - MCP server that executes Python cells in a container");
    (void)buf_adds(out, ".SH SYNOPSIS\n\\fBipybox\\fR [\\fIOPTION\\fR]...\n.br\n"
                        "\\fBipybox\\fR \\fICOMMAND\\fR [\\fIWORD\\fR]...\n.SH DESCRIPTION\n");
    roff_line(out, summary);
    man_tables(out);
    (void)buf_adds(out, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < COUNT(statuses); i++) {
        roff_item(out, "", statuses[i].status, NULL);
        roff_line(out, statuses[i].meaning);
    }
    (void)buf_adds(out, ".SH EXAMPLES\n.nf\n");
    roff_line(out, example_docker);
    roff_line(out, example_override);
    roff_line(out, example_shell);
    (void)buf_adds(out, "\n");
    for (size_t i = 0; i < COUNT(example_client); i++)
        roff_line(out, example_client[i]);
    (void)buf_adds(out, ".fi\n");
}

static void markdown_options(struct buf *out)
{
    size_t n;
    const struct options_row *rows = options_rows(&n);
    (void)buf_adds(out, "| Option | Variable | Default | Meaning |\n|---|---|---|---|\n");
    for (size_t i = 0; i < n; i++) {
        if (rows[i].flags & OPTION_HIDDEN)
            continue;
        (void)buf_addf(out, "| `--%s%s%s` | ", rows[i].name, rows[i].word ? " " : "",
                       rows[i].word ? rows[i].word : "");
        if (rows[i].env) {
            (void)buf_addf(out, "`%s` | ", rows[i].env);
        } else {
            (void)buf_adds(out, "of ");
            put_owners(out, &rows[i], "`");
            (void)buf_adds(out, " alone | ");
        }
        if (rows[i].fallback)
            (void)buf_addf(out, "`%s`", rows[i].fallback);
        (void)buf_adds(out, " | ");
        describe_option(out, &rows[i]);
        (void)buf_adds(out, " |\n");
    }
}

void options_markdown(struct buf *out)
{
    size_t n;
    markdown_options(out);
    const struct options_variable *variables = options_variables(&n);
    (void)buf_adds(out, "\n| Variable | Default | Meaning |\n|---|---|---|\n");
    for (size_t i = 0; i < n; i++)
        (void)buf_addf(out, "| `%s` | %s | %s |\n", variables[i].name,
                       variables[i].fallback ? variables[i].fallback : "", variables[i].help);
    const struct options_command *commands = options_commands(&n);
    (void)buf_adds(out, "\n| Command | Meaning |\n|---|---|\n");
    for (size_t i = 0; i < n; i++)
        if (!commands[i].hidden)
            (void)buf_addf(out, "| `%s` | %s |\n", commands[i].word, commands[i].help);
}
