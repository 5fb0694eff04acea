//go:build unix

package natstest

import "syscall"

// Pause stops server i, a process, without closing a connection, until Resume: it is there
// and does not answer.
func (c *Cluster) Pause(i int) { c.t.Helper(); c.signal(i, syscall.SIGSTOP) }

// Resume is the end of Pause.
func (c *Cluster) Resume(i int) { c.t.Helper(); c.signal(i, syscall.SIGCONT) }

func (c *Cluster) signal(i int, n syscall.Signal) {
	c.t.Helper()
	if err := c.processes[i].cmd.Process.Signal(n); err != nil {
		c.t.Errorf("signal NATS server %s: %v", Name(i), err)
	}
}
