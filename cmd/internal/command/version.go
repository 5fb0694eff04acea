package command

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"satchel/cmd/internal/app"
	"satchel/cmd/internal/config"
)

// Version is satchel version.
type Version struct {
	Verify string `help:"Check files against the signed sums of a release." type:"existingfile" placeholder:"F.note"`
	Key    string `help:"With --verify: the verifier key of the release's maker, or a file with it."`
}

// Help shows how it is called.
func (Version) Help() string {
	return `With --verify it checks that the key signed the sums, then each listed file that lies beside
them, and says whether this program is listed. Exit code 3 when the signature or a file is wrong, or
when nothing that is listed was found.

Examples:
  satchel version --json
  satchel version --verify SHA256SUMS.note --key release.pub`
}

// Built is what version prints.
type Built struct {
	Version  string   `json:"version"`
	Revision string   `json:"revision,omitempty"`
	Go       string   `json:"go"`
	Verified []string `json:"verified,omitempty"` // files that are as the signed sums say
	Listed   string   `json:"listed,omitempty"`   // this program's name in the signed sums
}

// Run prints the version, what it was built from, and which files were verified.
func (c Version) Run(a *app.App) error {
	built := Built{Version: app.Version(), Revision: app.Revision(), Go: runtime.Version()}
	if c.Verify != "" {
		if err := c.verify(&built); err != nil {
			return err
		}
	}
	return PrintReply(a, built, func(w io.Writer) {
		fmt.Fprintf(w, "satchel %s %s %s\n", built.Version, built.Revision, built.Go)
		for _, name := range built.Verified {
			fmt.Fprintf(w, "ok   %s\n", name)
		}
		if built.Listed != "" {
			fmt.Fprintf(w, "ok   this program is %s\n", built.Listed)
		}
	})
}

// verify checks the signature of the sums, and the files that they list and that are there.
func (c Version) verify(built *Built) error {
	sums, err := c.signed()
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	own, err := fileSum(program)
	if err != nil {
		return fmt.Errorf("read this program: %w", err)
	}
	var wrong []string
	for line := range strings.Lines(sums) {
		sum, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok || name != filepath.Base(name) {
			return &FoundError{What: fmt.Sprintf("%s has the line %q, which is no sum of a file beside it", c.Verify, line)}
		}
		if sum == own {
			built.Listed = name
		}
		is, err := fileSum(filepath.Join(filepath.Dir(c.Verify), name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("read %s: %w", name, err)
		case is != sum:
			wrong = append(wrong, name)
		default:
			built.Verified = append(built.Verified, name)
		}
	}
	switch {
	case wrong != nil:
		return &FoundError{What: "not as they were signed: " + strings.Join(wrong, ", ") +
			"; download them again, and do not run them"}
	case built.Verified == nil && built.Listed == "":
		return &FoundError{What: "nothing was checked: no file that " + c.Verify +
			" lists is beside it, and this program is not listed"}
	}
	return nil
}

// signed returns the sums, when the key signed them.
func (c Version) signed() (string, error) {
	key := c.Key
	if file, err := os.ReadFile(key); err == nil {
		key = strings.TrimSpace(string(file))
	}
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return "", config.Usagef("--verify needs --key, the verifier key of the release's maker or a file with it; "+
			"%.80q is neither", c.Key)
	}
	raw, err := os.ReadFile(c.Verify)
	if err != nil {
		return "", fmt.Errorf("read sums: %w", err)
	}
	signed, err := note.Open(raw, note.VerifierList(verifier))
	if err != nil {
		return "", &FoundError{What: fmt.Sprintf("%s is not signed by %s: %v", c.Verify, verifier.Name(), err)}
	}
	return signed.Text, nil
}

// fileSum returns the SHA-256 of a file in hexadecimal.
func fileSum(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
