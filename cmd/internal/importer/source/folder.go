package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
)

// Reason says why a file is not read. As an error it is a sentence about the file.
type Reason string

// The reasons.
const (
	OtherLanguage Reason = "other language"
	Neither       Reason = "neither documentation nor .jsonl"
	Secret        Reason = "secret"
	Vendored      Reason = "vendored"
	Generated     Reason = "generated"
	Minified      Reason = "minified"
	TooLarge      Reason = "too large"
	Binary        Reason = "binary"
	Empty         Reason = "empty"
	LFS           Reason = "in Git LFS and not fetched"
	Link          Reason = "link"
	Special       Reason = "not a regular file"
	Unreadable    Reason = "unreadable" // the system refuses it, or a parser
)

func (r Reason) Error() string {
	if r == Link {
		return "is a link"
	}
	return "is " + string(r)
}

// ReasonOf returns the reason that err has, Unreadable for an error of the system.
func ReasonOf(err error) Reason {
	reason := Unreadable
	errors.As(err, &reason)
	return reason
}

// vendored is found in the path of a folder with files of others.
var vendored = regexp.MustCompile(`(^|/)(vendor|node_modules|third_party|thirdparty|bower_components|__pycache__|\.git|\.venv|venv|site-packages|\.tox|Pods|` +
	`\.obsidian|\.logseq|\.yarn|\.next|\.nuxt|\.svelte-kit|\.terraform|\.gradle)(/|$)`)

// IsVendored reports whether a folder, with slashes from the root, holds files of others.
func IsVendored(folder string) bool { return vendored.MatchString(folder) }

// secret is the name of a file that holds keys or passwords, by custom.
var secret = regexp.MustCompile(`(?i)\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk)$|^(\.env(\..*)?|\.netrc|\.npmrc|\.pypirc|\.htpasswd|\.pgpass|credentials|id_rsa|id_dsa|id_ecdsa|id_ed25519)$`)

// IsSecret reports whether a file of this name holds keys or passwords, by custom.
func IsSecret(name string) bool { return secret.MatchString(path.Base(name)) }

// Walk lists the files below dir, with paths from it and slashes, in order. It passes over vendored folders and those
// whose name begins with a dot. It is for folders that are no git repository.
func Walk(ctx context.Context, dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		name, inside := filepath.Rel(dir, p)
		if err := errors.Join(err, ctx.Err(), inside); err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		switch {
		case !d.IsDir():
			files = append(files, name)
		case name != "." && (strings.HasPrefix(d.Name(), ".") || IsVendored(name)):
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	return files, nil
}

// Folder is an open folder. What it returns was in a regular file below it: it follows no link out of it, waits for no
// pipe or device, reads no more than it was told to, and holds all that also for a folder that is changed meanwhile. It
// is safe for concurrent use.
type Folder struct{ root *os.Root }

// OpenFolder opens a folder; a link that dir itself is, is followed.
func OpenFolder(dir string) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open folder: %w", err)
	}
	return &Folder{root}, nil
}

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

// Read returns what the file called name, with slashes from the folder, holds, and what the system says of it. One of
// more than most bytes is TooLarge.
func (f *Folder) Read(name string, most int64) ([]byte, fs.FileInfo, error) {
	file, info, err := f.File(name)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if info.Size() > most {
		return nil, nil, TooLarge
	}
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	switch {
	case err != nil:
		return nil, nil, err
	case int64(len(text)) > most:
		return nil, nil, TooLarge
	}
	return text, info, nil
}

// File opens the file called name, which the caller MUST close. What is no regular file is a Link or Special; what the
// system refuses, such as for want of permission, is the system's error.
func (f *Folder) File(name string) (*os.File, fs.FileInfo, error) {
	name = filepath.FromSlash(name)
	seen, err := f.root.Lstat(name)
	switch {
	case err != nil:
		return nil, nil, err
	case seen.Mode()&fs.ModeSymlink != 0:
		return nil, nil, Link
	case !seen.Mode().IsRegular():
		return nil, nil, Special
	}
	// A pipe that has taken the file's place by now must not be waited for.
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !os.SameFile(seen, info) {
		err = Link // it was followed to another file
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}
