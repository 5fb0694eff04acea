package e2e

import (
	"os"
	"os/exec"
	"testing"

	"satchel/test/parts"
)

// The Python client passes its own tests against the binary.
func TestPythonClient(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("python3", "-c", "import sys; assert sys.version_info >= (3, 11)").CombinedOutput()
	if err != nil {
		parts.Missing(t, "python", "Python 3.11 is needed: "+string(out))
	}
	cmd := exec.Command("python3", "-m", "unittest", "discover", "-s", "tests")
	cmd.Dir = "../../emitters/python"
	cmd.Env = append(os.Environ(), "SATCHEL_TEST_BINARY="+binary("satchel"), "PYTHONPATH=src", "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The TypeScript client passes its own tests against the binary.
func TestTypeScriptClient(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("node", "-e", "process.exit(parseInt(process.versions.node) >= 20 ? 0 : 1)").CombinedOutput()
	if err != nil {
		parts.Missing(t, "node", "Node 20 is needed: "+string(out))
	}
	cmd := exec.Command("node", "--test", "test/client.test.js")
	cmd.Dir = "../../emitters/typescript"
	cmd.Env = append(os.Environ(), "SATCHEL_TEST_BINARY="+binary("satchel"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
