#!/bin/sh
# Build the wheel and the sdist of emitters/python and the npm package of emitters/typescript into FOLDER:
#   deploy/release/packages.sh FOLDER
# It needs Python 3.11, npm and a Python package index, and installs its tools into bin/dist. Equal commits give
# equal bytes.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p bin/dist "$1"
out=$(cd "$1" && pwd)
tools="$(python3 --version) build==1.6.1 hatchling==1.33.0"
if [ "$(cat bin/dist/tools 2>/dev/null)" != "$tools" ]; then
	python3 -m venv --clear bin/dist/venv
	bin/dist/venv/bin/pip install --quiet build==1.6.1 hatchling==1.33.0
	echo "$tools" > bin/dist/tools
fi

# The packages hold what git tracks, and the licence, which both tools take from the package's folder.
rm -rf bin/dist/tree
mkdir bin/dist/tree
git ls-files -z emitters/python emitters/typescript | tar -c --null -T - | tar -x -C bin/dist/tree
cp LICENSE bin/dist/tree/emitters/python/
cp LICENSE bin/dist/tree/emitters/typescript/
chmod -R u=rwX,go=rX bin/dist/tree
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
python=bin/dist/tree/emitters/python
if ! bin/dist/venv/bin/python -m build --no-isolation --outdir "$out" $python > bin/dist/log 2>&1; then
	cat bin/dist/log >&2
	exit 1
fi
(cd bin/dist/tree/emitters/typescript && npm pack --silent --pack-destination "$out" > /dev/null)
