#include "cli/complete.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/err.h"
#include "base/limits.h"

/* Each script asks `cella completion words` and completes files after a word that is no option, and after
 * "--".  Options are offered only after a dash. */
static const char bash_script[] =
        "_cella() {\n"
        "        local word=${COMP_WORDS[COMP_CWORD]} name words=()\n"
        "        COMPREPLY=()\n"
        "        [[ \" ${COMP_WORDS[*]:1:COMP_CWORD-1} \" != *' -- '* ]] || return 0\n"
        "        if [ \"$COMP_CWORD\" -gt 1 ] && [ \"${COMP_WORDS[1]}\" != help ]; then\n"
        "                words=(\"${COMP_WORDS[@]:1:2}\")\n"
        "                [ \"$COMP_CWORD\" -gt 2 ] || words=(\"${COMP_WORDS[1]}\")\n"
        "        fi\n"
        "        [[ $word == -* || $COMP_CWORD -le 2 ]] || return 0\n"
        "        while IFS=$'\\t' read -r name _; do\n"
        "                [[ $name != \"$word\"* || ( $name == -* && $word != -* ) ]] || "
        "COMPREPLY+=(\"$name\")\n"
        "        done <<<\"$(cella completion words \"${words[@]}\" 2>/dev/null)\"\n"
        "}\n"
        "complete -o default -F _cella cella\n";

/* The last line: the file is sourced, or it is the function _cella in a directory of fpath. */
static const char zsh_script[] =
        "#compdef cella\n"
        "_cella() {\n"
        "        local -a asked found\n"
        "        if (( CURRENT > 2 )) && [[ $words[2] != help ]]; then\n"
        "                asked=(\"${(@)words[2,CURRENT-1]}\")\n"
        "                asked=(\"${(@)asked[1,2]}\")\n"
        "        fi\n"
        "        if (( ${words[(I)--]} && ${words[(I)--]} < CURRENT )) || [[ $PREFIX != -* && $CURRENT -gt 3 "
        "]]; "
        "then\n"
        "                _files\n"
        "                return\n"
        "        fi\n"
        "        found=(\"${(@f)$(cella completion words $asked 2>/dev/null)}\")\n"
        "        if [[ $PREFIX == -* ]]; then found=(${(M)found:#-*}); else found=(${found:#-*}); fi\n"
        "        found=(\"${(@)${(@)found//:/\\\\:}/$'\\t'/:}\")\n"
        "        if [[ $PREFIX == -* ]]; then\n"
        "                _describe -o option found\n"
        "        elif (( CURRENT == 2 )) || [[ $words[2] == help ]]; then\n"
        "                _describe command found\n"
        "        else\n"
        "                _describe verb found\n"
        "                _files\n"
        "        fi\n"
        "}\n"
        "if [ \"$funcstack[1]\" = _cella ]; then _cella \"$@\"; else compdef _cella cella; fi\n";

static const char fish_script[] =
        "function __cella_complete\n"
        "        set -l words (commandline -opc)\n"
        "        set -l word (commandline -ct)\n"
        "        set -l asked $words[2..3]\n"
        "        if test \"$words[2]\" = help\n"
        "                set asked\n"
        "        end\n"
        "        if contains -- -- $words; or begin; test (count $words) -gt 2; and not string match -q -- "
        "'-*' "
        "$word; end\n"
        "                __fish_complete_path $word\n"
        "                return\n"
        "        end\n"
        "        if string match -q -- '-*' $word\n"
        "                cella completion words $asked 2>/dev/null | string match -- '-*'\n"
        "                return\n"
        "        end\n"
        "        cella completion words $asked 2>/dev/null | string match -v -- '-*'\n"
        "        if test (count $words) -gt 1; and test \"$words[2]\" != help\n"
        "                __fish_complete_path $word\n"
        "        end\n"
        "end\n"
        "complete -c cella -f -k -a '(__cella_complete)'\n";

static const struct {
        const char *shell, *script;
} scripts[] = {{"bash", bash_script}, {"zsh", zsh_script}, {"fish", fish_script}};

static void complete_verbs(const struct cli_command *c)
{
        char form[CLI_FORM_MAX];
        const char *at = c->usage;
        for (size_t i = 0; i < c->n_verbs; i++)
                printf("%s\t%s\n", strchr(c->verbs[i]->name, ' ') + 1, c->verbs[i]->summary);
        while (c->n_verbs == 0 && cli_next_form(&at, form))
                if (cli_form_verb(form) > 0)
                        printf("%.*s\t%s\n", (int)cli_form_verb(form), form, form);
}

void complete_words(const struct cli_command *c)
{
        for (size_t i = 0; !c && i < cli_names_len; i++)
                printf("%s\t%s\n", cli_names[i].name, cli_names[i].summary);
        if (!c)
                return;
        complete_verbs(c);
        for (size_t i = 0; i < c->n_options; i++)
                printf("--%s\t%s\n", c->options[i].name, c->options[i].help);
        for (size_t i = 0; c->takes_limits && i < limits_table_len; i++)
                printf("--%s\t%s\n", limits_table[i].option, limits_table[i].help);
        printf("--help\tshow the help\n");
}

int complete_script(const char *shell, struct cella_err *err)
{
        for (size_t i = 0; i < ARRAY_LEN(scripts); i++)
                if (!strcmp(shell, scripts[i].shell)) {
                        fputs(scripts[i].script, stdout);
                        return 0;
                }
        return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                       "there is completion for bash, zsh and fish, not for '%.40s'", shell);
}
