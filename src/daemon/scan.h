/* daemon/scan.h -- cella-server --scan: what `cella scan` becomes. */
#pragma once

/* Scans standard input.  --name FILE, --language NAME, --allow MODULE (again for more), --json.  Returns the
 * exit status: 1 if there is a finding of severity medium or high, 2 for bad arguments, 125 if it failed. */
int scan_main(int argc, char **argv);
