// Package thread tells the operating system where and how threads are to run. It does what it
// can: where a system has no such call or refuses it, nothing happens.
package thread
