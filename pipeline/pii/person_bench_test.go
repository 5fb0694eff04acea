package pii_test

import (
	"strings"
	"testing"

	"satchel/pipeline/pii"
)

func BenchmarkPersons(b *testing.B) {
	d := newDetector(b, pii.Config{Types: pii.Types()})
	text := strings.Repeat("On Tuesday Jonas Weber told the team that the gateway certificate had expired; Maria renewed it. ", 5)[:400]
	b.ReportAllocs()
	for b.Loop() {
		d.Find(text)
	}
}
