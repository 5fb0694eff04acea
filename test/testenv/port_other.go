//go:build !unix

package testenv

import (
	"fmt"
	"net"
)

// tryPort returns whether 127.0.0.1:port can be listened on.
func tryPort(port int) error {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	return l.Close()
}
