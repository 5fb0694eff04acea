// Package tree reads files of a folder whose content is not trusted. What it returns
// was in a regular file below the folder: it follows no link out of it, waits for no pipe
// or device, reads no more than it was told to, and holds all that also for a folder that
// is changed meanwhile.
package tree

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Why a file is not read. What the system refuses, such as for want of permission, is
// the system's error.
var (
	ErrLink     = errors.New("is a link")
	ErrSpecial  = errors.New("is not a regular file")
	ErrTooLarge = errors.New("is too large")
)

// Folder is an open folder. It is safe for concurrent use.
type Folder struct{ root *os.Root }

// Open opens a folder; a link that dir itself is, is followed.
func Open(dir string) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open folder: %w", err)
	}
	return &Folder{root}, nil
}

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

// Read returns what the file called name, with slashes from the folder, holds, and what
// the system says of it. One of more than most bytes is too large.
func (f *Folder) Read(name string, most int64) ([]byte, fs.FileInfo, error) {
	file, info, err := f.File(name)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if info.Size() > most {
		return nil, nil, ErrTooLarge
	}
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	switch {
	case err != nil:
		return nil, nil, err
	case int64(len(text)) > most:
		return nil, nil, ErrTooLarge
	}
	return text, info, nil
}

// File opens the file called name, which the caller MUST close.
func (f *Folder) File(name string) (_ *os.File, _ fs.FileInfo, err error) {
	name = filepath.FromSlash(name)
	seen, err := f.root.Lstat(name)
	switch {
	case err != nil:
		return nil, nil, err
	case seen.Mode()&fs.ModeSymlink != 0:
		return nil, nil, ErrLink
	case !seen.Mode().IsRegular():
		return nil, nil, ErrSpecial
	}
	// A pipe that has taken the file's place by now must not be waited for.
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !os.SameFile(seen, info) {
		err = ErrLink // it was followed to another file
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}
