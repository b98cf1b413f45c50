/* scan/rules.h -- the table of rules: name, severity, verdict. */
#pragma once
#include "scan/finding.h"

enum rule {
        RULE_IMPORT_NETWORK,
        RULE_IMPORT_PROCESS,
        RULE_IMPORT_NATIVE,
        RULE_IMPORT_NOT_CONSTANT,
        RULE_IMPORT_NOT_ALLOWED,
        RULE_CONSTRUCT_NOT_ALLOWED,
        RULE_NETWORK_CALL,
        RULE_NETWORK_COMMAND,
        RULE_NETWORK_REDIRECT,
        RULE_PROCESS_CALL,
        RULE_PROCESS_COMMAND,
        RULE_BACKGROUND,
        RULE_SYSTEM_COMMAND,
        RULE_NATIVE_CODE,
        RULE_FILE_READ,
        RULE_FILE_READ_OUTSIDE,
        RULE_FILE_WRITE,
        RULE_FILE_WRITE_OUTSIDE,
        RULE_FILE_TREE_OUTSIDE,
        RULE_FILE_WRITE_UNKNOWN,
        RULE_DIRECTORY_CHANGE,
        RULE_EVALUATE,
        RULE_EVALUATE_CONSTANT,
        RULE_DYNAMIC_NAME,
        RULE_DYNAMIC_COMMAND,
        RULE_INTROSPECTION,
        RULE_DESERIALIZE,
        RULE_OBFUSCATED_CODE,
        RULE_PIPE_TO_INTERPRETER,
        RULE_LONG_LITERAL,
        RULE_HIDDEN_CHARACTERS,
        RULE_LOOKALIKE_NAME,
        RULE_ODD_ENCODING,
        RULE_UNPARSABLE,
        RULE_UNKNOWN_LANGUAGE,
        RULES,
};

/* Requirements of the caller. */
struct scan_rules {
        /* NULL: all are allowed. An entry also allows its submodules ("os" also "os.path"; in JavaScript
         * "fs" also "node:fs" and "fs/promises"). Every import in the text must be in the list, and its
         * name must be a constant. */
        const char *const *allowed_imports;
        size_t n_allowed_imports;
};

struct scan_rule {
        const char *name;
        enum scan_severity severity;
        enum scan_category category;
        unsigned verdict;
        const char *help;
};
const struct scan_rule *scan_rule_at(size_t index); /* NULL after the last one */
