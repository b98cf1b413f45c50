#include "cli/complete.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"

/* After a word that is no option, files are completed. */
static const char bash_script[] =
        "_cella() {\n"
        "        local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]}\n"
        "        COMPREPLY=()\n"
        "        if [ \"$COMP_CWORD\" = 1 ]; then\n"
        "                COMPREPLY=($(compgen -W \"$(cella completion words 2>/dev/null)\" -- \"$word\"))\n"
        "        elif [[ $word == -* || ( $COMP_CWORD == 2 && $command == help ) ]]; then\n"
        "                [ \"$command\" != help ] || command=\n"
        "                COMPREPLY=($(compgen -W \"$(cella completion words $command 2>/dev/null)\" -- "
        "\"$word\"))\n"
        "        fi\n"
        "}\n"
        "complete -o default -F _cella cella\n";

void complete_words(const struct cli_command *c)
{
        for (size_t i = 0; !c && i < cli_names_len; i++)
                printf("%s\n", cli_names[i].name);
        for (size_t i = 0; c && i < c->n_options; i++)
                printf("--%s\n", c->options[i].name);
        for (size_t i = 0; c && c->takes_limits && i < limits_table_len; i++)
                printf("--%s\n", limits_table[i].option);
        if (c)
                printf("--help\n");
}

int complete_script(const char *shell, struct cella_err *err)
{
        if (strcmp(shell, "bash") != 0)
                return err_say(err, CELLA_INVALID_REQUEST, -EINVAL,
                               "there is completion for bash, not for '%.40s'", shell);
        printf("%s", bash_script);
        return 0;
}
