package encoder_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"satchel/pipeline/embed"
	"satchel/pipeline/embed/encoder"
	"satchel/pipeline/embed/static"
	"satchel/test/conformance/embedtest"
)

func openDocuments(t *testing.T) (*encoder.Documents, *static.Embedder) {
	t.Helper()
	table, err := static.New()
	if err != nil {
		t.Fatal(err)
	}
	d, err := encoder.OpenDocuments(table, 2)
	if errors.Is(err, encoder.ErrNotIncluded) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d, table
}

func TestDocumentsConform(t *testing.T) {
	t.Parallel()
	d, _ := openDocuments(t)
	embedtest.Run(t, func(*testing.T) embed.Embedder { return d })
}

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// Each question shares no word with its answer.
func TestDocumentsAreFoundByTheTablesQuestions(t *testing.T) {
	t.Parallel()
	d, table := openDocuments(t)
	pairs := [][2]string{
		{"Who has children?", "Anna is the mother of two boys."},
		{"money we still owe", "The invoice of the joiner has not been paid."},
		{"Who is sick?", "Tom stayed in bed with a fever on Tuesday."},
		{"how do I restart the machine?", "Press the power button for five seconds to reboot the server."},
		{"musical instruments", "My grandmother plays the violin."},
		{"pets", "Their dog is afraid of thunder."},
	}
	var questions, answers []string
	for _, p := range pairs {
		questions, answers = append(questions, p[0]), append(answers, p[1])
	}
	ctx := context.Background()
	qs, err := table.Embed(ctx, questions)
	if err != nil {
		t.Fatal(err)
	}
	as, err := d.Embed(ctx, answers)
	if err != nil {
		t.Fatal(err)
	}
	for i, q := range qs {
		for j, a := range as {
			if i != j && dot(q, a) >= dot(q, as[i]) {
				t.Errorf("%q is closer to %q (%.3f) than to %q (%.3f)", questions[i], answers[j], dot(q, a), answers[i], dot(q, as[i]))
			}
		}
		if length := math.Sqrt(dot(as[i], as[i])); math.Abs(length-1) > 1e-5 {
			t.Errorf("the vector of %q has length %f", answers[i], length)
		}
	}
}

func TestDocumentsOfAnotherTable(t *testing.T) {
	t.Parallel()
	if _, err := encoder.OpenDocuments(short{}, 1); err == nil || errors.Is(err, encoder.ErrNotIncluded) {
		if errors.Is(err, encoder.ErrNotIncluded) {
			t.Skip(err)
		}
		t.Error("a table of 8 dimensions was taken")
	}
}

// short makes vectors of another length.
type short struct{}

func (short) Model() embed.Model { return embed.Model{Name: "short", Revision: "1", Dimensions: 8} }

func (short) Embed(context.Context, []string) ([][]float32, error) { return nil, nil }
