package projection

import (
	"encoding/binary"
	"math"
	"slices"

	"satchel/pipeline/infra/vecmath"
	"satchel/pipeline/isolation"
	"satchel/pipeline/store/items"
	"satchel/pipeline/store/vector"
)

// summary is the mean vector of an item, in 8 bits a number, and its population. The scale of one that cannot be compared is 0.
type summary struct {
	row        []int8
	scale      float32
	population string
	counts     bool // others are compared with it
}

// padLength is the length of a row of dims numbers.
func padLength(dims int) int { return (dims + vecmath.Lane - 1) / vecmath.Lane * vecmath.Lane }

// summarizeItem returns an item's summary: the mean of the vectors of its text.
func summarizeItem(doc *vector.Doc, dims int) *summary {
	f := &summary{row: make([]int8, padLength(dims))}
	f.population, f.counts = isolation.Population(&doc.Facets)
	var sum []float32
	for i := range doc.Chunks {
		c := &doc.Chunks[i]
		switch {
		case c.Axis != "" || len(c.Vector) != dims:
		case sum == nil:
			sum = slices.Clone(c.Vector)
		default:
			for k, x := range c.Vector {
				sum[k] += x
			}
		}
	}
	f.scale = vecmath.Quantise(f.row, sum)
	return f
}

// Places in what append wrote.
const (
	scaleAt  = 8 // after the age
	countsAt = 12
	rowAt    = 13
)

// appendSummary appends a summary as it is kept: the age, the scale, whether it counts, the row, the population.
func (f *summary) appendSummary(b []byte, age uint64) []byte {
	b = binary.LittleEndian.AppendUint64(b, age)
	b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f.scale))
	counts := byte(0)
	if f.counts {
		counts = 1
	}
	b = append(b, counts)
	for _, x := range f.row {
		b = append(b, byte(x))
	}
	return append(b, f.population...)
}

// vectorSet is the summaries of a list of items, side by side.
type vectorSet struct {
	stride int
	rows   []int8
	scales []float32
	among  []int  // those of one population have the same number; 0: the item is not there
	counts []bool // others are compared with it
	number map[string]int
}

func newVectorSet(n, dims int) *vectorSet {
	stride := padLength(dims)
	return &vectorSet{stride: stride, rows: make([]int8, n*stride), scales: make([]float32, n), among: make([]int, n), counts: make([]bool, n), number: map[string]int{}}
}

// selectRow is where the numbers of place i are.
func (l *vectorSet) selectRow(i int) []int8 { return l.rows[i*l.stride : (i+1)*l.stride] }

// setSummary puts f in place i; nil is nobody.
func (l *vectorSet) setSummary(i int, f *summary) {
	if f == nil {
		return
	}
	copy(l.selectRow(i), f.row)
	l.scales[i] = f.scale
	l.counts[i] = f.counts
	l.setPopulation(i, []byte(f.population))
}

// setPopulation puts place i in a population.
func (l *vectorSet) setPopulation(i int, population []byte) {
	number, ok := l.number[string(population)]
	if !ok {
		number = len(l.number) + 1
		l.number[string(population)] = number
	}
	l.among[i] = number
}

// readSummary puts in place i what append wrote, unless it is of another age or there is none.
func (l *vectorSet) readSummary(i int, kept []byte, age uint64) bool {
	population := rowAt + l.stride
	if len(kept) < population || binary.LittleEndian.Uint64(kept) != age {
		return false
	}
	row := l.selectRow(i)
	for k, x := range kept[rowAt:population] {
		row[k] = int8(x)
	}
	l.scales[i] = math.Float32frombits(binary.LittleEndian.Uint32(kept[scaleAt:]))
	l.counts[i] = kept[countsAt] == 1
	l.setPopulation(i, kept[population:])
	return true
}

// compareSummaries sets in out the novelties of those in list that out names.
func (l *vectorSet) compareSummaries(list []items.Member, window int, out map[string]float64) {
	query := make([]int16, l.stride)
	sums := make([]int32, window)
	for i := range list {
		if _, asked := out[list[i].ID]; !asked || l.among[i] == 0 || l.scales[i] == 0 {
			continue
		}
		for k, x := range l.selectRow(i) {
			query[k] = int16(x)
		}
		from := max(0, i-window)
		vecmath.Rows(query, l.rows[from*l.stride:i*l.stride], sums[:i-from])
		best := 0.0
		for k := range i - from {
			if l.counts[from+k] && l.among[from+k] == l.among[i] {
				best = math.Max(best, float64(sums[k])*float64(l.scales[i])*float64(l.scales[from+k]))
			}
		}
		out[list[i].ID] = 1 - math.Min(best, 1)
	}
}
