/* daemon/backup.h -- cella-server --backup and --restore, which `cella backup` and `cella restore` run.
 *
 * --backup DIR             writes an archive of the state directory DIR to descriptor 3
 * --restore DIR [--force]  reads an archive from descriptor 3; the caller holds the lock of DIR
 *
 * Return the exit status. */
#pragma once

int backup_main(int argc, char **argv);
int restore_main(int argc, char **argv);
