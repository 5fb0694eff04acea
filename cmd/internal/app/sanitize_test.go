package app

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"satchel/cmd/internal/config"
)

// Workers that share a log share its key, and with it what pseudonyms and handles are made
// with: from a folder that holds that key alone and cannot be written, and unless a key of
// its own is there.
func TestTheSecretKeyComesFromTheLogs(t *testing.T) {
	t.Parallel()
	key := func(signing, own string) []byte {
		a := &App{Settings: &config.Settings{Dir: t.TempDir()}}
		if err := os.Mkdir(a.Path("keys"), 0o700); err != nil {
			t.Fatal(err)
		}
		for name, content := range map[string]string{"log.key": signing, "secret.key": own} {
			if content != "" {
				if err := os.WriteFile(filepath.Join(a.Path("keys"), name), []byte(content), 0o400); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := os.Chmod(a.Path("keys"), 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.Chmod(a.Path("keys"), 0o700); err != nil {
				t.Error(err)
			}
		})
		got, err := a.secretKey()
		if err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(a.Path("keys")); err != nil || own == "" && signing != "" && len(left) != 1 {
			t.Errorf("the folder holds %v, %v", left, err)
		}
		return got
	}
	one, two, other := key("PRIVATE+KEY+one", ""), key("PRIVATE+KEY+one", ""), key("PRIVATE+KEY+other", "")
	if !bytes.Equal(one, two) || bytes.Equal(one, other) || len(one) != 32 || bytes.Contains([]byte("PRIVATE+KEY+one"), one) {
		t.Error("the same log key gives another secret key, or another the same")
	}
	if own := key("PRIVATE+KEY+one", "a key of thirty-two bytes, or more"); string(own) != "a key of thirty-two bytes, or more" {
		t.Errorf("a key of its own is not taken: %q", own)
	}
	if bytes.Equal(key("", ""), key("", "")) {
		t.Error("without any key, two calls have the same")
	}
}
