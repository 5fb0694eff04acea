package backup

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"satchel/pipeline/scope"
	"satchel/pipeline/store/eventlog"
)

// format is the first line of a manifest.
const format = "satchel-backup/1"

// manifestFile is the manifest's name in the folder.
const manifestFile = "manifest"

// ErrNone is returned for a folder without a backup.
var ErrNone = errors.New("there is no backup")

// DamagedError names the file of a backup that is not what the manifest says.
type DamagedError struct {
	File    string // below the backup's folder
	Problem string
}

// Error says which file is damaged and how.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("the backup is damaged: %s: %s", e.File, e.Problem)
}

// Manifest says what a backup is made of.
type Manifest struct {
	Made  time.Time
	Heads []eventlog.Head
	Files []File
}

// File is a file of a backup.
type File struct {
	Path   string // below the backup's folder, with slashes
	Size   int64
	SHA256 string
	Erased int // entries of a segment without content or attachment
}

// name is the folder of the files that every backup writes again.
func (m *Manifest) name() string { return "at-" + m.Made.UTC().Format("20060102T150405.000Z") }

// head returns the head of a tenant, the zero one for a tenant that the backup does not have.
func (m *Manifest) head(tenant string) eventlog.Head {
	for _, h := range m.Heads {
		if h.Tenant == tenant {
			return h
		}
	}
	return eventlog.Head{}
}

// text is what is signed.
func (m *Manifest) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nmade %s\n", format, m.Made.UTC().Format(time.RFC3339Nano))
	for _, h := range m.Heads {
		fmt.Fprintf(&b, "tenant %s %d %x\n", h.Tenant, h.Size, h.Root[:])
	}
	for _, f := range m.Files {
		fmt.Fprintf(&b, "file %s %d %d %s\n", f.SHA256, f.Size, f.Erased, f.Path)
	}
	return b.String()
}

// readManifest reads the manifest of a folder and checks its signature.
func readManifest(dir string, key note.Verifier) (*Manifest, error) {
	raw, err := os.ReadFile(filepath.Join(dir, manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s", ErrNone, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	signed, err := note.Open(raw, note.VerifierList(key))
	var unverified *note.UnverifiedNoteError
	switch {
	case errors.As(err, &unverified):
		return nil, &DamagedError{manifestFile, "the key " + key.Name() + " of the data folder did not sign it: it is the backup of another folder, or was changed"}
	case err != nil:
		return nil, &DamagedError{manifestFile, "its signature does not hold"}
	}
	m, err := parseManifest(signed.Text)
	if err != nil {
		return nil, &DamagedError{manifestFile, err.Error()}
	}
	return m, nil
}

func parseManifest(text string) (*Manifest, error) {
	m := &Manifest{}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if lines[0] != format {
		return nil, fmt.Errorf("its format is %.40q, and this version reads %s", lines[0], format)
	}
	for i, line := range lines[1:] {
		kind, rest, _ := strings.Cut(line, " ")
		var err error
		switch {
		case i == 0 && kind == "made":
			m.Made, err = time.Parse(time.RFC3339Nano, rest)
		case kind == "tenant":
			err = m.addHead(strings.Split(rest, " "))
		case kind == "file":
			err = m.addFile(strings.SplitN(rest, " ", 4))
		default:
			err = errors.New("it is not known")
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+2, err)
		}
	}
	if m.text() != text {
		return nil, errors.New("it is not in canonical form")
	}
	return m, nil
}

func (m *Manifest) addHead(fields []string) error {
	if len(fields) != 3 || !scope.ValidTenant(fields[0]) {
		return errors.New("it is no head")
	}
	size, err := strconv.ParseInt(fields[1], 10, 64)
	root, hexErr := hex.DecodeString(fields[2])
	h := eventlog.Head{Tenant: fields[0], Size: size}
	if errors.Join(err, hexErr) != nil || len(root) != len(h.Root) || size < 1 {
		return errors.New("it is no head")
	}
	copy(h.Root[:], root)
	m.Heads = append(m.Heads, h)
	return nil
}

func (m *Manifest) addFile(fields []string) error {
	if len(fields) != 4 || !filepath.IsLocal(filepath.FromSlash(fields[3])) {
		return errors.New("it is no file")
	}
	size, err := strconv.ParseInt(fields[1], 10, 64)
	erased, erasedErr := strconv.Atoi(fields[2])
	if err != nil || erasedErr != nil || len(fields[0]) != 64 {
		return errors.New("it is no file")
	}
	m.Files = append(m.Files, File{Path: fields[3], Size: size, SHA256: fields[0], Erased: erased})
	return nil
}

// signed returns the manifest as it is written.
func (m *Manifest) signed(signer note.Signer) ([]byte, error) {
	raw, err := note.Sign(&note.Note{Text: m.text()}, signer)
	if err != nil {
		return nil, fmt.Errorf("sign manifest: %w", err)
	}
	return raw, nil
}
