//go:build unix

package testenv

import (
	"errors"
	"syscall"
)

// tryPort returns whether 127.0.0.1:port can be listened on. No process starts meanwhile: it
// would have a copy of the socket until it runs its program, and the port would not be free.
func tryPort(port int) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	return errors.Join(
		syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1),
		syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}),
		syscall.Listen(fd, 1),
		syscall.Close(fd))
}
