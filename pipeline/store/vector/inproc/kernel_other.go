//go:build !amd64

package inproc

// dot is dotGeneric.
func dot(query []int16, rows []int8, out []int32) { dotGeneric(query, rows, out) }
