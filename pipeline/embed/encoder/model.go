//go:build !noencoder

package encoder

import _ "embed"

//go:embed model.bin
var model string

//go:embed projection.bin
var projection string

// modelFile returns the weights in the binary.
func modelFile() string { return model }

// tableProjection returns the map to the table's space.
func tableProjection() string { return projection }
