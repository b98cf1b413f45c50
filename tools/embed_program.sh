#!/bin/sh
# embed_program.sh PROGRAM OUT.S -- an assembler file that carries a program as
# init_program, with its length in init_program_len.
set -eu
cat > "$2" <<TXT
.section .note.GNU-stack,"",%progbits
.section .rodata
.global init_program, init_program_len
.hidden init_program, init_program_len
.balign 8
init_program_len:
.quad init_program_end - init_program
init_program:
.incbin "$(realpath "$1")"
init_program_end:
TXT
