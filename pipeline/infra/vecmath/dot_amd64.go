package vecmath

import "golang.org/x/sys/cpu"

// dotAVX2 is dotGeneric for n rows; dims MUST be a multiple of Lane.
//
//go:noescape
func dotAVX2(query *int16, rows *int8, dims, n int, out *int32)

// dotVNNI is dotAVX2 for dims that are a multiple of two Lanes.
//
//go:noescape
func dotVNNI(query *int16, rows *int8, dims, n int, out *int32)

// Rows sets out[i] to the dot product of query and row i of rows, for every i. A row is
// len(query) numbers; Lane-sized rows go four at a time where the processor can.
func Rows(query []int16, rows []int8, out []int32) {
	n := len(out)
	if !cpu.X86.HasAVX2 || n*len(query) == 0 || len(query)%Lane != 0 {
		dotGeneric(query, rows, out)
		return
	}
	_ = rows[:n*len(query)] // the kernels do not look at bounds
	if hasVNNI() && len(query)%(2*Lane) == 0 {
		dotVNNI(&query[0], &rows[0], len(query), n, &out[0])
	} else {
		dotAVX2(&query[0], &rows[0], len(query), n, &out[0])
	}
}

// fetchRow does Fetch for n numbers from row on.
//
//go:noescape
func fetchRow(row *int8, n int)

// Fetch begins to bring a row that Rows is about to be given into the cache, without
// waiting for it, where the processor can.
func Fetch(row []int8) {
	if len(row) > 0 {
		fetchRow(&row[0], len(row))
	}
}

func hasVNNI() bool { return cpu.X86.HasAVX512VNNI && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512F }
