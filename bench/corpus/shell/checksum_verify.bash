#!/bin/bash
set -euo pipefail
mkdir release
for part in core docs tools; do
    seq 1 200 | sed "s/^/$part /" >"release/$part.txt"
done
(cd release && sha256sum ./*.txt >SHA256SUMS)
cut -c1-16,65- release/SHA256SUMS
(cd release && sha256sum -c SHA256SUMS)

echo "tampered" >>release/docs.txt
if (cd release && sha256sum -c --quiet SHA256SUMS 2>/dev/null); then
    echo "verified"
else
    echo "verification failed" >&2
fi
tar -cf release.tar release
tar -tf release.tar | sort
gzip -c release.tar | gunzip | cmp - release.tar && echo "archive is intact"
exit 3
