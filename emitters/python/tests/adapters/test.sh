#!/bin/sh
# Test each adapter in an environment of its own, made in the folder given and kept there: test.sh FOLDER
# SATCHEL_TEST_BINARY names the binary.
set -eu
cd "$(dirname "$0")/../.."
test_adapter() { # adapter, packages
	venv=$folder/$1
	wanted=$(python3 --version; echo "$2")
	if [ "$(cat "$venv/wanted" 2>/dev/null)" != "$wanted" ]; then
		python3 -m venv --clear "$venv"
		# shellcheck disable=SC2086
		"$venv/bin/pip" install --quiet pytest==9.2.0 mypy==2.4.1 $2
		echo "$wanted" > "$venv/wanted"
	fi
	MYPYPATH=src "$venv/bin/python" -m mypy --cache-dir "$venv/mypy" "src/satchel_memory/adapters/$1.py"
	"$venv/bin/python" -B -m pytest "tests/adapters/test_$1.py"
}
mkdir -p "$1"
folder=$(cd "$1" && pwd)
test_adapter langgraph langgraph-checkpoint==4.3.2
test_adapter openai_agents openai-agents==0.24.0
test_adapter llamaindex llama-index-core==0.14.25
