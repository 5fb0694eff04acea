package encoder

import "unsafe"

// productGeneric is the product that every kernel equals.
func productGeneric(p *panel) {
	depth := p.steps * 2 * quad
	weights := unsafe.Slice(p.weights, depth*panelWidth)
	sums := unsafe.Slice(p.sums, panelWidth)
	scale := unsafe.Slice(p.scale, panelWidth)
	bias := unsafe.Slice(p.bias, panelWidth)
	rowScale := unsafe.Slice(p.rowScale, p.rows)
	rowZero := unsafe.Slice(p.rowZero, p.rows)
	a := unsafe.Slice(p.a, (p.rows-1)*p.stride+depth)
	const number = int(unsafe.Sizeof(*p.out))
	out := unsafe.Slice(p.out, (p.rows-1)*p.outStride/number+panelWidth)
	for r := range p.rows {
		row := a[r*p.stride : r*p.stride+depth]
		var acc [panelWidth]int32
		for k := 0; k < depth; k += quad {
			a0 := int32(row[k])
			a1 := int32(row[k+1])
			a2 := int32(row[k+2])
			a3 := int32(row[k+3])
			columns := (*[panelWidth * quad]int8)(weights[k*panelWidth:])
			for c := range acc {
				w := columns[c*quad : c*quad+quad : c*quad+quad]
				acc[c] += a0*int32(w[0]) + a1*int32(w[1]) + a2*int32(w[2]) + a3*int32(w[3])
			}
		}
		line := out[r*p.outStride/number:][:panelWidth]
		for c := range line {
			sum := float32(acc[c] - rowZero[r]*sums[c])
			line[c] = float32(sum*float32(rowScale[r]*scale[c])) + bias[c]
		}
	}
}
