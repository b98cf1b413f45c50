/* daemon/scan.h -- cella-server --scan, which `cella scan` executes. */
#pragma once

/* Scans standard input. Options: --name FILE, --language NAME, --allow MODULE (can be repeated), --json.
 * Returns the exit status: 1 if there is a finding of severity medium or high, 2 for wrong options, 125 on
 * failure. */
int scan_main(int argc, char **argv);
