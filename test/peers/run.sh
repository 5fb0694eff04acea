#!/bin/sh
# Measures Satchel, LanceDB and Chroma by turns: run.sh [ITEMS] [QUESTIONS]. It installs the
# others into a virtual environment in a temporary folder, which it removes.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o "$work/" ./cmd/satchel ./cmd/satchel-lab
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet lancedb==0.40.* chromadb==1.5.* nats-py==2.16.*
"$work/satchel-lab" bench --items "${1:-1000}" --requests "${2:-200}" --write "$work/corpus"
"$work/venv/bin/python" test/peers/peers.py "$work/satchel" "$work/corpus" "$work"
