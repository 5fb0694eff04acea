//go:build !noencoder

package encoder

import _ "embed"

//go:embed model.bin
var encoderModel string

// modelFile returns the weights in the binary.
func modelFile() string { return encoderModel }
