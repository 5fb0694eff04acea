//go:build !noencoder

package encoder

import _ "embed"

//go:embed model.bin
var model string

// modelFile returns the weights in the binary.
func modelFile() string { return model }
