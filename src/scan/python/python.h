/* scan/python/python.h -- shared by the files of the Python scanner. */
#pragma once
#include "scan/names.h"
#include "scan/program.h"

#define PYTHON_KINDS(X)                                                                                      \
        X(MODULE, "module")                                                                                  \
        X(EXPRESSION_STATEMENT, "expression_statement")                                                      \
        X(IMPORT, "import_statement")                                                                        \
        X(IMPORT_FROM, "import_from_statement")                                                              \
        X(FUTURE_IMPORT, "future_import_statement")                                                          \
        X(DOTTED_NAME, "dotted_name")                                                                        \
        X(ALIASED_IMPORT, "aliased_import")                                                                  \
        X(RELATIVE_IMPORT, "relative_import")                                                                \
        X(WILDCARD_IMPORT, "wildcard_import")                                                                \
        X(IDENTIFIER, "identifier")                                                                          \
        X(CALL, "call")                                                                                      \
        X(ATTRIBUTE, "attribute")                                                                            \
        X(SUBSCRIPT, "subscript")                                                                            \
        X(SLICE, "slice")                                                                                    \
        X(ARGUMENT_LIST, "argument_list")                                                                    \
        X(KEYWORD_ARGUMENT, "keyword_argument")                                                              \
        X(LIST_SPLAT, "list_splat")                                                                          \
        X(DICTIONARY_SPLAT, "dictionary_splat")                                                              \
        X(ASSIGNMENT, "assignment")                                                                          \
        X(AUGMENTED_ASSIGNMENT, "augmented_assignment")                                                      \
        X(NAMED_EXPRESSION, "named_expression")                                                              \
        X(BLOCK, "block")                                                                                    \
        X(FUNCTION, "function_definition")                                                                   \
        X(DECORATED, "decorated_definition")                                                                 \
        X(CLASS, "class_definition")                                                                         \
        X(LAMBDA, "lambda")                                                                                  \
        X(LAMBDA_PARAMETERS, "lambda_parameters")                                                            \
        X(PARAMETERS, "parameters")                                                                          \
        X(DEFAULT_PARAMETER, "default_parameter")                                                            \
        X(TYPED_DEFAULT_PARAMETER, "typed_default_parameter")                                                \
        X(TYPED_PARAMETER, "typed_parameter")                                                                \
        X(LIST_SPLAT_PATTERN, "list_splat_pattern")                                                          \
        X(DICTIONARY_SPLAT_PATTERN, "dictionary_splat_pattern")                                              \
        X(PATTERN_LIST, "pattern_list")                                                                      \
        X(TUPLE_PATTERN, "tuple_pattern")                                                                    \
        X(LIST_PATTERN, "list_pattern")                                                                      \
        X(LIST_COMPREHENSION, "list_comprehension")                                                          \
        X(SET_COMPREHENSION, "set_comprehension")                                                            \
        X(DICTIONARY_COMPREHENSION, "dictionary_comprehension")                                              \
        X(GENERATOR, "generator_expression")                                                                 \
        X(FOR_IN, "for_in_clause")                                                                           \
        X(FOR, "for_statement")                                                                              \
        X(AS_PATTERN, "as_pattern")                                                                          \
        X(AS_PATTERN_TARGET, "as_pattern_target")                                                            \
        X(KEYWORD_PATTERN, "keyword_pattern")                                                                \
        X(CASE_PATTERN, "case_pattern")                                                                      \
        X(SPLAT_PATTERN, "splat_pattern")                                                                    \
        X(GLOBAL, "global_statement")                                                                        \
        X(NONLOCAL, "nonlocal_statement")                                                                    \
        X(DELETE, "delete_statement")                                                                        \
        X(EXPRESSION_LIST, "expression_list")                                                                \
        X(EXEC, "exec_statement")                                                                            \
        X(STRING, "string")                                                                                  \
        X(STRING_START, "string_start")                                                                      \
        X(STRING_CONTENT, "string_content")                                                                  \
        X(INTERPOLATION, "interpolation")                                                                    \
        X(CONCATENATED_STRING, "concatenated_string")                                                        \
        X(INTEGER, "integer")                                                                                \
        X(FLOAT, "float")                                                                                    \
        X(LIST, "list")                                                                                      \
        X(TUPLE, "tuple")                                                                                    \
        X(SET, "set")                                                                                        \
        X(DICTIONARY, "dictionary")                                                                          \
        X(PAIR, "pair")                                                                                      \
        X(BINARY, "binary_operator")                                                                         \
        X(UNARY, "unary_operator")                                                                           \
        X(BOOLEAN, "boolean_operator")                                                                       \
        X(CONDITIONAL, "conditional_expression")                                                             \
        X(PARENTHESIZED, "parenthesized_expression")                                                         \
        X(AWAIT, "await")                                                                                    \
        X(TYPE, "type")
#define PYTHON_KIND_ID(id, name) PY_##id,
enum python_kind { PY_BEFORE = KIND_OWN - 1, PYTHON_KINDS(PYTHON_KIND_ID) };

int python_scan(const struct program_job *job);

/* ---- python/names.c ---- */
const struct known *python_known(const char *name, size_t len);
/* Returns the entry of a module or of its nearest known parent; NULL. */
const struct known *python_module(const char *name, size_t len);
/* Returns the entry of a method that is recognised by its name alone. */
const struct known *python_method(const char *name, size_t len);
/* A method of pathlib.Path. */
const struct known *python_path_method(const char *name, size_t len);
/* Whether it is an attribute that gives access to the interpreter. */
bool python_is_inner(const char *name, size_t len);
/* Whether it is a module that others have as an attribute: random._os is os. */
bool python_is_root(const char *name, size_t len);
bool python_is_builtin(const char *name, size_t len);
int python_names_init(void);

/* ---- python/library.c ---- */
/* Whether an attribute of a module of the standard library is another module of it: codecs of json. */
bool python_is_borrowed(const char *module, size_t len, const char *name, size_t name_len);

/* ---- python/bind.c: the first pass ---- */
void python_enter(void *context, TSNode node, unsigned kind, unsigned parent, uint32_t frame,
                  uint32_t *child_frame);
/* The full name of an entry of an import statement; *ret_alias is null without an alias. */
const char *python_dotted(struct program *program, TSNode node, TSNode *ret_alias);

/* ---- python/text.c: literals ---- */
void python_string(struct program *program, TSNode node, uint32_t scope, struct values *ret);

/* ---- python/value.c ---- */
void python_evaluate(struct program *program, TSNode node, uint32_t scope, struct values *ret);

/* Evaluates text.format(…) and text % …: each mark is replaced by the next argument. */
void python_format(struct program *program, const struct values *of, const char *mark,
                   const TSNode *arguments, size_t n, uint32_t scope, struct values *ret);
void python_add_member(struct program *program, const struct value *object, const char *member, size_t len,
                       struct values *ret);

/* ---- python/result.c ---- */
void python_call(struct program *program, TSNode node, uint32_t scope, struct values *ret);
/* Evaluates the attribute that node names, of objects that were evaluated before. */
void python_attribute(struct program *program, TSNode node, const struct values *objects, struct values *ret);

void python_arguments(struct program *program, TSNode call, struct arguments *ret);

/* ---- python/limit.c: checks in addition to imports when imports are limited ---- */
void python_limit(struct program *program, const struct mention *mention);
/* Whether it is a builtin that is refused with a list. */
bool python_is_refused(const char *name, size_t len);

/* ---- python/check.c: the second pass ---- */
void python_check(struct program *program, const struct mention *mention);
void python_check_import(struct program *program, TSNode node, const char *module, size_t len);
