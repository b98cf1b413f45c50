/* scan/javascript/javascript.h -- shared by the files of the JavaScript scanner. */
#pragma once
#include "scan/names.h"
#include "scan/program.h"

#define JAVASCRIPT_KINDS(X)                                                                                  \
        X(PROGRAM, "program")                                                                                \
        X(IMPORT_STATEMENT, "import_statement")                                                              \
        X(IMPORT_CLAUSE, "import_clause")                                                                    \
        X(NAMESPACE_IMPORT, "namespace_import")                                                              \
        X(NAMED_IMPORTS, "named_imports")                                                                    \
        X(IMPORT_SPECIFIER, "import_specifier")                                                              \
        X(EXPORT_STATEMENT, "export_statement")                                                              \
        X(EXPORT_SPECIFIER, "export_specifier")                                                              \
        X(IMPORT, "import")                                                                                  \
        X(IDENTIFIER, "identifier")                                                                          \
        X(PROPERTY, "property_identifier")                                                                   \
        X(SHORTHAND, "shorthand_property_identifier")                                                        \
        X(SHORTHAND_PATTERN, "shorthand_property_identifier_pattern")                                        \
        X(CALL, "call_expression")                                                                           \
        X(NEW, "new_expression")                                                                             \
        X(ARGUMENTS, "arguments")                                                                            \
        X(SPREAD, "spread_element")                                                                          \
        X(MEMBER, "member_expression")                                                                       \
        X(SUBSCRIPT, "subscript_expression")                                                                 \
        X(DECLARATOR, "variable_declarator")                                                                 \
        X(LEXICAL, "lexical_declaration")                                                                    \
        X(VARIABLE, "variable_declaration")                                                                  \
        X(ASSIGNMENT, "assignment_expression")                                                               \
        X(AUGMENTED, "augmented_assignment_expression")                                                      \
        X(FUNCTION_DECLARATION, "function_declaration")                                                      \
        X(GENERATOR_DECLARATION, "generator_function_declaration")                                           \
        X(FUNCTION, "function_expression")                                                                   \
        X(GENERATOR, "generator_function")                                                                   \
        X(ARROW, "arrow_function")                                                                           \
        X(METHOD, "method_definition")                                                                       \
        X(FORMAL_PARAMETERS, "formal_parameters")                                                            \
        X(CLASS_DECLARATION, "class_declaration")                                                            \
        X(CLASS, "class")                                                                                    \
        X(OBJECT_PATTERN, "object_pattern")                                                                  \
        X(ARRAY_PATTERN, "array_pattern")                                                                    \
        X(PAIR_PATTERN, "pair_pattern")                                                                      \
        X(OBJECT_ASSIGNMENT_PATTERN, "object_assignment_pattern")                                            \
        X(ASSIGNMENT_PATTERN, "assignment_pattern")                                                          \
        X(REST_PATTERN, "rest_pattern")                                                                      \
        X(CATCH, "catch_clause")                                                                             \
        X(FOR_IN, "for_in_statement")                                                                        \
        X(STRING, "string")                                                                                  \
        X(TEMPLATE, "template_string")                                                                       \
        X(FRAGMENT, "string_fragment")                                                                       \
        X(ESCAPE, "escape_sequence")                                                                         \
        X(SUBSTITUTION, "template_substitution")                                                             \
        X(NUMBER, "number")                                                                                  \
        X(ARRAY, "array")                                                                                    \
        X(BINARY, "binary_expression")                                                                       \
        X(TERNARY, "ternary_expression")                                                                     \
        X(PARENTHESIZED, "parenthesized_expression")                                                         \
        X(SEQUENCE, "sequence_expression")                                                                   \
        X(AWAIT, "await_expression")                                                                         \
        X(UNARY, "unary_expression")                                                                         \
        X(UPDATE, "update_expression")
#define JAVASCRIPT_KIND_ID(id, name) JS_##id,
enum javascript_kind { JS_BEFORE = KIND_OWN - 1, JAVASCRIPT_KINDS(JAVASCRIPT_KIND_ID) };

int javascript_scan(const struct program_job *job);

/* ---- javascript/names.c ---- */
const struct known *javascript_known(const char *name, size_t len);
const struct known *javascript_module(const char *name, size_t len);
bool javascript_is_builtin(const char *name, size_t len);
int javascript_names_init(void);

/* ---- javascript/bind.c ---- */
void javascript_enter(void *context, TSNode node, unsigned kind, unsigned parent, uint32_t frame,
                      uint32_t *child_frame);

/* ---- javascript/value.c ---- */
void javascript_evaluate(struct program *program, TSNode node, uint32_t scope, struct values *ret);
void javascript_string(struct program *program, TSNode node, uint32_t scope, struct values *ret);
void javascript_add_member(struct program *program, const struct value *object, const char *member,
                           size_t len, struct values *ret);
/* Adds a module under the name that the tables use: without "node:", its parts separated by dots. */
void javascript_add_module(struct program *program, const char *name, size_t len, struct values *ret);

void javascript_arguments(struct program *program, TSNode call, struct arguments *ret);

/* ---- javascript/check.c ---- */
void javascript_check(struct program *program, const struct mention *mention);
