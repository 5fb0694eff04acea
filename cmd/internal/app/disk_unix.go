//go:build linux || darwin || freebsd

package app

import "syscall"

// freeBytes is how much a user may still write where a folder is.
func freeBytes(dir string) (float64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return 0, err
	}
	return float64(disk.Bavail) * float64(disk.Bsize), nil
}
