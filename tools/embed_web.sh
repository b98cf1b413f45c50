#!/bin/sh
# embed_web.sh OUT.S OUT.c FILE... -- carries the web page's files inside the program: an assembler file with each of
# them, as it is and compressed, and the table of front/web/assets.h, with a hash of what each one holds.
set -eu
assembly=$1 table=$2
shift 2
packed=$(dirname "$assembly")/web_packed
mkdir -p "$packed"

type_of() {
        case $1 in
        *.html) echo "text/html; charset=utf-8" ;;
        *.css) echo "text/css; charset=utf-8" ;;
        *.js) echo "text/javascript; charset=utf-8" ;;
        *.svg) echo "image/svg+xml" ;;
        *) echo "embed_web.sh: what is $1?" >&2 && exit 1 ;;
        esac
}

carry() { # SYMBOL FILE
        printf '.balign 8\n%s:\n.incbin "%s"\n%s_end:\n.byte 0\n' "$1" "$(realpath "$2")" "$1"
        printf '.balign 8\n%s_len:\n.quad %s_end - %s\n' "$1" "$1" "$1"
        printf '.global %s, %s_len\n.hidden %s, %s_len\n' "$1" "$1" "$1" "$1"
}

rows='' number=0
printf '.section .note.GNU-stack,"",%%progbits\n.section .rodata\n' >"$assembly.new"
printf '#include "front/web/assets.h"\n\n' >"$table.new"
for file; do
        name=$(basename "$file")
        symbol=web_asset_$number
        type=$(type_of "$name")
        gzip -9nc "$file" >"$packed/$name.gz"
        hash=$(sha256sum "$file" | cut -c 1-20)
        carry "$symbol" "$file" >>"$assembly.new"
        carry "${symbol}_gz" "$packed/$name.gz" >>"$assembly.new"
        printf 'extern const char %s[], %s_gz[];\nextern const uint64_t %s_len, %s_gz_len;\n' \
                "$symbol" "$symbol" "$symbol" "$symbol" >>"$table.new"
        rows="$rows        {\"$name\", \"$type\", \"\\\"$hash\\\"\", $symbol, ${symbol}_gz, &${symbol}_len, &${symbol}_gz_len},
"
        number=$((number + 1))
done
printf '\nconst struct web_asset web_assets[] = {\n%s};\nconst size_t web_assets_len = %s;\n' "$rows" "$number" >>"$table.new"
mv "$assembly.new" "$assembly"
mv "$table.new" "$table"
