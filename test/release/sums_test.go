package release

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The sums that a release signs are those that satchel version --verify checks.
func TestSignedSums(t *testing.T) {
	t.Parallel()
	keys, dir := t.TempDir(), folder(t, nil)
	release, satchel := filepath.Join(bin, "release"), filepath.Join(bin, "satchel")
	public := strings.TrimSpace(start(t, dir, nil, release, "key", "releases.example", filepath.Join(keys, "release.key")))
	sums := start(t, bin, nil, "sha256sum", "satchel")
	dir = folder(t, map[string]string{"SHA256SUMS": sums})
	note := start(t, dir, nil, release, "sign", filepath.Join(keys, "release.key"), "SHA256SUMS")
	dir = folder(t, map[string]string{"SHA256SUMS.note": note})
	out := start(t, dir, nil, satchel, "version", "--verify", "SHA256SUMS.note", "--key", public)
	if !strings.Contains(out, "ok   this program is satchel\n") {
		t.Errorf("printed\n%s", out)
	}
	if err := exec.Command(release, "key", "releases.example", filepath.Join(keys, "release.key")).Run(); err == nil {
		t.Error("a key was overwritten")
	}
}
