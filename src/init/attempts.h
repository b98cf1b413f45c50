/* init/attempts.h -- attempts of code without a network to use one.
 *
 * A sandbox of tier restricted has only loopback: a connection to any other address fails with ENETUNREACH,
 * and a DNS query with a refused port.  The kernel counts both in the network namespace of the sandbox. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Call before a command starts. */
void attempts_begin(void);

/* Whether there were any since attempts_begin(), or since the last call. */
bool attempts_made(void);

/* Adds up the counters in the contents of /proc/net/snmp and /proc/net/snmp6, which end with NUL. */
uint64_t attempts_count(const char *snmp, const char *snmp6);
