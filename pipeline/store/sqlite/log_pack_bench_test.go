package sqlite_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"satchel/pipeline/store/eventlog"
)

// answer makes the drafts of a request that shows 50 of a thousand items: the pack with the
// reply attached, the drop report and the decision, of the sizes that they have.
func answer(r *rand.Rand, n int) []eventlog.Draft {
	entry := func(kind string, data []byte) eventlog.Draft {
		return eventlog.Draft{
			Tenant: "acme", Agent: "engine", Type: "io.satchel." + kind + ".v1", Source: "//satchel/pipeline",
			ID: fmt.Sprintf("019a0000-%04x-7%03x-8%03x-%012x", n>>16, n&0xfff, r.IntN(1<<12), r.Int64N(1<<48)), Subject: fmt.Sprintf("req-%d", n),
			Time: time.Unix(1.7e9, int64(n)), Data: data,
			Extensions: map[string]string{"datacontenttype": "application/json", "dataschema": "https://satchel.dev/schemas/" + kind + ".json"},
		}
	}
	fill := func(b []byte, fields, number int) []byte {
		for range fields {
			b = fmt.Appendf(b, `{"id":"019a0000-0000-7000-8000-%012d","score":%.16f,"reason":"rank"}`, r.IntN(1000), r.Float64()*float64(number))
		}
		return b
	}
	attachment := fill(nil, 900, 1)
	sum := sha256.Sum256(attachment)
	pack := entry("context.packed", fill(fmt.Appendf(nil, `{"result_sha256":"%x"}`, sum), 350, 1))
	var refs []string
	for _, i := range r.Perm(1000)[:50] {
		refs = append(refs, fmt.Sprintf("019a0000-0000-7000-8000-%012d", i))
	}
	pack.Attachment = eventlog.Derive(refs, attachment)
	return []eventlog.Draft{pack, entry("context.dropped", fill(nil, 80, 1)), entry("policy.decided", fill(nil, 130, 0))}
}

// BenchmarkAppendAnswer appends the entries of a request to a log that has those of a thousand.
func BenchmarkAppendAnswer(b *testing.B) {
	path := filepath.Join(b.TempDir(), "log.db")
	l := openLog(b, path)
	r := rand.New(rand.NewPCG(1, 2))
	n := 0
	add := func(quiet bool) time.Duration {
		batch := eventlog.Batch{Drafts: answer(r, n), Quiet: quiet}
		n++
		began := time.Now()
		if _, err := l.Append(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
	for range 1000 {
		add(true)
	}
	var took []time.Duration
	frames, last := 0, journal(b, path)
	for b.Loop() {
		took = append(took, add(true))
		now := journal(b, path)
		if now < last {
			last = 0
		}
		frames, last = frames+now-last, now
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds()), "p95-µs")
	b.ReportMetric(float64(frames)/float64(len(took)), "frames/op")
}

// journal returns how many frames the journal has, which its index says.
func journal(b *testing.B, path string) int {
	raw, err := os.ReadFile(path + "-shm")
	if err != nil {
		b.Fatal(err)
	}
	return int(binary.LittleEndian.Uint32(raw[16:]))
}
