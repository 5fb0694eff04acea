#!/usr/bin/env bash
# Builds outline.wasm.gz: tree-sitter, its grammars and outline.c as WebAssembly.
# Needs python3 with pip, npm, tar and unzip; takes about two minutes. The versions below
# decide the bytes: --check says whether the committed file is what they give.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

python3 -m pip download -q --no-deps ziglang==0.17.1 -d .
python3 -m pip download -q --no-deps --no-binary :all: tree-sitter==0.26.1 -d .
unzip -q ziglang-*.whl
tar xzf tree*sitter-0.26.1.tar.gz
grammars="python@0.25.0 javascript@0.25.0 typescript@0.23.2 java@0.23.5 rust@0.24.0 c@0.24.1 cpp@0.23.4 ruby@0.23.1 php@0.24.2"
for g in $grammars; do
  npm pack --silent "tree-sitter-$g" >/dev/null
  mkdir "${g%@*}"
  tar xzf "tree-sitter-${g/@/-}.tgz" -C "${g%@*}"
done

lib=$(echo tree*sitter-0.26.1/tree_sitter/core/lib)
chmod +x ziglang/zig
cc() { ziglang/zig cc --target=wasm32-wasi -O2 -DNDEBUG -D_GNU_SOURCE -D_WASI_EMULATED_PROCESS_CLOCKS -I"$lib/include" -I"$lib/src" "$@"; }
mkdir o
cc -c "$lib/src/lib.c" -o o/lib.o
cc -c "$here/outline.c" -o o/outline.o
for src in python/package javascript/package java/package rust/package c/package cpp/package ruby/package typescript/package/typescript typescript/package/tsx php/package/php; do
  name=$(echo "$src" | tr / -)
  for part in parser scanner; do
    [ ! -f "$src/src/$part.c" ] || cc -I"$src/src" -c "$src/src/$part.c" -o "o/$name.$part.o"
  done
done
ziglang/zig cc --target=wasm32-wasi -mexec-model=reactor -O2 -s -Wl,--gc-sections -Wl,-z,stack-size=1048576 o/*.o -o outline.wasm
gzip -9n outline.wasm
if [ "${1:-}" = --check ]; then
  cmp outline.wasm.gz "$here/../outline.wasm.gz" && echo "outline.wasm.gz is what its sources give"
else
  cp outline.wasm.gz "$here/../"
fi
