/* scan/bash/bash.h -- shared by the files of the shell scanner.
 *
 * A shell text has names, too: its variables. So it is scanned in the same way (scan/program.h), with one
 * scope. */
#pragma once
#include "scan/program.h"

#define BASH_KINDS(X)                                                                                        \
        X(PROGRAM, "program")                                                                                \
        X(COMMAND, "command")                                                                                \
        X(COMMAND_NAME, "command_name")                                                                      \
        X(REDIRECTED, "redirected_statement")                                                                \
        X(FILE_REDIRECT, "file_redirect")                                                                    \
        X(FILE_DESCRIPTOR, "file_descriptor")                                                                \
        X(HEREDOC_REDIRECT, "heredoc_redirect")                                                              \
        X(HEREDOC_START, "heredoc_start")                                                                    \
        X(HEREDOC_BODY, "heredoc_body")                                                                      \
        X(HEREDOC_CONTENT, "heredoc_content")                                                                \
        X(HERESTRING, "herestring_redirect")                                                                 \
        X(PIPELINE, "pipeline")                                                                              \
        X(COMMAND_SUBSTITUTION, "command_substitution")                                                      \
        X(PROCESS_SUBSTITUTION, "process_substitution")                                                      \
        X(WORD, "word")                                                                                      \
        X(NUMBER, "number")                                                                                  \
        X(STRING, "string")                                                                                  \
        X(STRING_CONTENT, "string_content")                                                                  \
        X(RAW_STRING, "raw_string")                                                                          \
        X(ANSI_C_STRING, "ansi_c_string")                                                                    \
        X(TRANSLATED_STRING, "translated_string")                                                            \
        X(CONCATENATION, "concatenation")                                                                    \
        X(SIMPLE_EXPANSION, "simple_expansion")                                                              \
        X(EXPANSION, "expansion")                                                                            \
        X(ARITHMETIC, "arithmetic_expansion")                                                                \
        X(BRACE, "brace_expression")                                                                         \
        X(ARRAY, "array")                                                                                    \
        X(SUBSCRIPT, "subscript")                                                                            \
        X(VARIABLE_NAME, "variable_name")                                                                    \
        X(SPECIAL_VARIABLE, "special_variable_name")                                                         \
        X(VARIABLE_ASSIGNMENT, "variable_assignment")                                                        \
        X(FOR, "for_statement")                                                                              \
        X(BINARY, "binary_expression")                                                                       \
        X(BACKGROUND, "&")
#define BASH_KIND_ID(id, name) SH_##id,
enum bash_kind { SH_BEFORE = KIND_OWN - 1, BASH_KINDS(BASH_KIND_ID) };

int bash_scan(const struct program_job *job);

/* ---- bash/names.c ---- */
enum {
        COMMAND_NETWORK = 1 << 0,
        COMMAND_PROCESS = 1 << 1,
        COMMAND_SYSTEM = 1 << 2,
        COMMAND_EVALUATES = 1 << 3,   /* its arguments are commands, or a file of them */
        COMMAND_INTERPRETER = 1 << 4, /* of language, after one of flags */
        COMMAND_WRITES_ALL = 1 << 5,  /* writes the files of all arguments */
        COMMAND_WRITES_LAST = 1 << 6, /* writes the file of the last argument */
        COMMAND_READS = 1 << 7,       /* reads the files of its arguments */
        COMMAND_CHDIR = 1 << 8,
        COMMAND_WRAPPER = 1 << 9,      /* its arguments are a command */
        COMMAND_SUBCOMMANDS = 1 << 10, /* uses the network if its first word is one of subcommands */
        COMMAND_DECODES = 1 << 11,     /* its output is a decoded or changed form of its input */
        COMMAND_ECHOES = 1 << 12,      /* prints its arguments */
        COMMAND_INSIDE = 1 << 13,      /* its first argument is shell code */
        COMMAND_RUNS_FILES = 1 << 14,  /* runs files that are not in the text: make, pytest */
};
struct bash_command {
        const char *name;
        unsigned flags;
        enum scan_language language;
        const char *options; /* options that take a value: "n" -n 3; "output" --output f; "o=" also writes to
                                it */
        const char *subcommands;
        const char *runs; /* subcommands that run files that are not in the text */
        unsigned skip;    /* operands before the command of a wrapper, or before the files */
};
const struct bash_command *bash_command(const char *name, size_t len);
/* A known command that only computes and prints. */
bool bash_is_harmless(const char *name, size_t len);
/* Whether a list of words, separated by spaces, contains this word. */
bool bash_has_word(const char *list, const char *word, size_t len);

/* ---- bash/value.c ---- */
void bash_evaluate(struct program *program, TSNode node, uint32_t scope, struct values *ret);

/* ---- bash/check.c ---- */
#define BASH_WORDS_MAX 64
struct bash_words {
        TSNode nodes[BASH_WORDS_MAX]; /* the command's name and its arguments */
        size_t n;
        TSNode input; /* here-string or file that is its standard input; null */
};
void bash_words(struct program *program, TSNode command, struct bash_words *ret);
void bash_check(struct program *program, const struct mention *mention);

/* ---- bash/feed.c: programs passed to interpreters ---- */
/* Returns the interpreter if a command is one that reads its program from standard input; NULL. */
const struct bash_command *bash_reads_program(struct program *program, TSNode command);
void bash_check_interpreter(struct program *program, const struct bash_command *command,
                            const struct bash_words *words, size_t first, TSNode node);
void bash_check_pipeline(struct program *program, TSNode pipeline);
void bash_check_redirected(struct program *program, TSNode statement);
