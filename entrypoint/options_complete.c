/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of options.c as scripts that make a shell complete words. */
#include <string.h>

#include "entrypoint/options.h"

/* The first sentence, without what a shell would read as its own. */
static void put_first_sentence(struct buf *out, const char *text)
{
    const char *end = strstr(text, ". ");
    for (size_t n = end ? (size_t)(end - text) : strlen(text); n > 0 && *text; n--, text++)
        if (!strchr("'\"`$\\[]:", *text))
            (void)buf_addc(out, *text);
}

static bool is_served(enum role role)
{
    return role <= ROLE_APIGEN;
}

/* The next option of a command behind *at; of ROLE_SERVER: the server's. NULL: there is none. */
static const struct options_row *next_row(enum role role, size_t *at)
{
    size_t n;
    const struct options_row *rows = options_rows(&n);
    const unsigned own = options_own(role);
    while (*at < n) {
        const struct options_row *row = &rows[(*at)++];
        unsigned of = row->flags & OPTION_OF_COMMANDS;
        if (!(row->flags & OPTION_HIDDEN) && (of ? (of & own) != 0 : is_served(role)))
            return row;
    }
    return NULL;
}

static const struct options_command *next_command(size_t *at)
{
    size_t n;
    const struct options_command *commands = options_commands(&n);
    while (*at < n && commands[*at].hidden)
        (*at)++;
    return *at < n ? &commands[(*at)++] : NULL;
}

static void put_command_words(struct buf *out)
{
    const struct options_command *command;
    for (size_t at = 0; (command = next_command(&at)) != NULL;)
        (void)buf_addf(out, "%s ", command->word);
}

static void put_option_names(struct buf *out, enum role role)
{
    const struct options_row *row;
    for (size_t at = 0; (row = next_row(role, &at)) != NULL;)
        (void)buf_addf(out, "--%s ", row->name);
    (void)buf_adds(out, "--help");
}

static void complete_bash(struct buf *out)
{
    const struct options_command *command;
    (void)buf_adds(out, "_ipybox()\n{\n    local words\n    case ${COMP_WORDS[1]} in\n");
    for (size_t at = 0; (command = next_command(&at)) != NULL;) {
        (void)buf_addf(out, "    %s) words='", command->word);
        put_option_names(out, command->role);
        (void)buf_adds(out, command->role == ROLE_COMPLETIONS ? " bash zsh fish" : "");
        if (command->role == ROLE_HELP) {
            (void)buf_addc(out, ' ');
            put_command_words(out);
        }
        (void)buf_adds(out, "' ;;\n");
    }
    (void)buf_adds(out, "    *) words='");
    put_option_names(out, ROLE_SERVER);
    (void)buf_adds(out, "' ;;\n    esac\n    if [ \"$COMP_CWORD\" -eq 1 ]; then words+=' ");
    put_command_words(out);
    (void)buf_adds(out,
                   "'; fi\n"
                   "    COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
                   "}\ncomplete -o default -F _ipybox ipybox\n");
}

static void zsh_options(struct buf *out, enum role role)
{
    const struct options_row *row;
    (void)buf_adds(out, "_arguments '*:word:_files' '--help[Print a help text]'");
    for (size_t at = 0; (row = next_row(role, &at)) != NULL;) {
        (void)buf_addf(out, " \\\n        '--%s%s[", row->name, row->word ? "=" : "");
        put_first_sentence(out, row->help);
        (void)buf_addc(out, ']');
        if (row->word) {
            (void)buf_addc(out, ':');
            put_first_sentence(out, row->word);
            (void)buf_adds(out, ":_files");
        }
        (void)buf_addc(out, '\'');
    }
    (void)buf_adds(out, " ;;\n");
}

static void complete_zsh(struct buf *out)
{
    const struct options_command *command;
    (void)buf_adds(out, "#compdef ipybox\n_ipybox()\n{\n    local -a commands=(\n");
    for (size_t at = 0; (command = next_command(&at)) != NULL;) {
        (void)buf_addf(out, "        '%s:", command->word);
        put_first_sentence(out, command->help);
        (void)buf_adds(out, "'\n");
    }
    (void)buf_adds(out, "    )\n    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
                        "        _describe command commands\n        return\n    fi\n"
                        "    case $words[2] in\n");
    for (size_t at = 0; (command = next_command(&at)) != NULL;) {
        (void)buf_addf(out, "    %s) ", command->word);
        zsh_options(out, command->role);
    }
    (void)buf_adds(out, "    *) ");
    zsh_options(out, ROLE_SERVER);
    (void)buf_adds(out, "    esac\n}\ncompdef _ipybox ipybox\n");
}

static void fish_options(struct buf *out, enum role role, const char *when)
{
    const struct options_row *row;
    for (size_t at = 0; (row = next_row(role, &at)) != NULL;) {
        (void)buf_addf(out, "complete -c ipybox -n '%s' -l %s%s -d '", when, row->name,
                       row->word ? " -r" : "");
        put_first_sentence(out, row->help);
        (void)buf_adds(out, "'\n");
    }
}

static void complete_fish(struct buf *out)
{
    const struct options_command *command;
    drop_buf struct buf when = BUF_INIT(OPTIONS_TEXT_MAX);
    for (size_t at = 0; (command = next_command(&at)) != NULL;) {
        (void)buf_addf(out, "complete -c ipybox -n __fish_use_subcommand -a %s -d '",
                       command->word);
        put_first_sentence(out, command->help);
        (void)buf_adds(out, "'\n");
        if (command->role == ROLE_SERVER)
            continue;
        buf_clear(&when);
        (void)buf_addf(&when, "__fish_seen_subcommand_from %s", command->word);
        fish_options(out, command->role, buf_text(&when));
    }
    fish_options(out, ROLE_SERVER, "__fish_use_subcommand; or __fish_seen_subcommand_from server");
    (void)buf_adds(out, "complete -c ipybox -l help -d 'Print a help text'\n");
}

int options_completions(const char *shell, struct buf *out, struct err *e)
{
    static const struct {
        const char *name;
        void (*complete)(struct buf *out);
    } shells[] = {{"bash", complete_bash}, {"zsh", complete_zsh}, {"fish", complete_fish}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(shells[i].name, shell) == 0) {
            shells[i].complete(out);
            return out->failed;
        }
    }
    return err_set(e, -EINVAL, "completions: bash, zsh or fish is needed");
}
