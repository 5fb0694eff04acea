//go:build !windows

package files

import (
	"errors"
	"os"
)

// SyncFolder makes the names of a folder's files survive a power cut.
func SyncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
