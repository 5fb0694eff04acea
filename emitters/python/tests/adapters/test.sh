#!/bin/sh
# Test each adapter in an environment of its own, made in the folder given and kept there: test.sh FOLDER
# SATCHEL_TEST_BINARY names the binary. The adapters are tested at the same time.
set -eu
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."

test_adapter() { # adapter, package
	venv=$folder/$1
	wanted="$(python3 --version), pytest==9.2.0 mypy==2.4.1 $2"
	if [ "$(cat "$venv/wanted" 2>/dev/null)" != "$wanted" ]; then
		python3 -m venv --clear "$venv"
		"$venv/bin/pip" install --quiet pytest==9.2.0 mypy==2.4.1 "$2"
		echo "$wanted" > "$venv/wanted"
	fi
	"$venv/bin/python" -m mypy --cache-dir "$venv/mypy" "src/satchel_memory/adapters/$1.py"
	"$venv/bin/python" -B -m pytest "tests/adapters/test_$1.py"
}

test_adapter langgraph langgraph-checkpoint==4.3.2 > "$folder/langgraph.log" 2>&1 & langgraph=$!
test_adapter openai_agents openai-agents==0.24.0 > "$folder/openai_agents.log" 2>&1 & openai_agents=$!
test_adapter llamaindex llama-index-core==0.14.25 > "$folder/llamaindex.log" 2>&1 & llamaindex=$!
test_adapter adk google-adk==2.13.0 > "$folder/adk.log" 2>&1 & adk=$!
failed=0
wait $langgraph || failed=1
wait $openai_agents || failed=1
wait $llamaindex || failed=1
wait $adk || failed=1
cat "$folder/langgraph.log" "$folder/openai_agents.log" "$folder/llamaindex.log" "$folder/adk.log"
exit $failed
