//go:build noencoder

package encoder

// modelFile returns "": the binary has no weights.
func modelFile() string { return "" }
