// Write replaces files as a whole.

package files

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Write replaces a file by what write writes, for its owner alone. A crash leaves the old
// file or the new one, and may leave a file that Leftovers names. The folder must exist.
func Write(path string, write func(w io.Writer) error) error {
	if err := replaceFile(path, true, write); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// WriteUnsynced is Write that does not wait for the disk. A power cut may leave the old file, the new
// one, or one that is damaged: the reader MUST tell.
func WriteUnsynced(path string, write func(w io.Writer) error) error {
	return replaceFile(path, false, write)
}

func replaceFile(path string, sync bool, write func(w io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-*.tmp")
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil && sync {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Leftovers is a pattern of what a crash may have left of writing the files of a pattern.
func Leftovers(pattern string) string { return pattern + "*.tmp" }
