#include "cli/cli.h"
const struct cli_command cli_doctor = {.name = "doctor", .usage = "", .summary = "x"};
