#!/bin/sh
# embed_program.sh FILE OUT.S SYMBOL -- an assembler file that carries a file as SYMBOL, with its
# length in SYMBOL_len and a NUL behind it.
set -eu
cat > "$2" <<TXT
.section .note.GNU-stack,"",%progbits
.section .rodata
.global $3, $3_len
.hidden $3, $3_len
.balign 8
$3_len:
.quad $3_end - $3
$3:
.incbin "$(realpath "$1")"
$3_end:
.byte 0
TXT
