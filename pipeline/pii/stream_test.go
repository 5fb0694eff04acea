package pii_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"satchel/pipeline/pii"
	"satchel/schemas"
)

// A long text is masked as a short one, wherever its windows end and however it is read.
func TestReader(t *testing.T) {
	t.Parallel()
	z := newSanitizer(t, 1)
	block := "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("MIIBVgIBADANBgkqhkiG9w0BAQEFAASCAUAwggE8AgEAAkEA\n", 60) + "-----END PRIVATE KEY-----\n"
	var b strings.Builder
	for i := 0; b.Len() < 3<<20; i++ {
		b.WriteString(strings.Repeat("plain words here ", i%700) + "\n")
		b.WriteString("write to ada@example.org or pay with 4111 1111 1111 1111\n" + block)
	}
	text := b.String()
	want := pii.Replace(text, newDetector(t, pii.Config{}).Find(text), pii.Mark)
	for name, r := range map[string]io.Reader{"whole": strings.NewReader(text), "halves": iotest.HalfReader(strings.NewReader(text)), "data with the end": iotest.DataErrReader(strings.NewReader(text))} {
		masked, ok := z.Reader("acme", r, schemas.Obligations{PII: schemas.PIIRedact})
		if !ok {
			t.Fatal("not understood")
		}
		got, err := io.ReadAll(masked)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s: the stream differs from the text, %d and %d bytes", name, len(got), len(want))
		}
	}
	seen := z.Mask(strings.NewReader(text))
	if _, err := io.Copy(io.Discard, seen); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]pii.Type{pii.Card, pii.Email, pii.Secret}, seen.Types()); diff != "" {
		t.Error(diff)
	}
}

// What breaks off is not shown to the end of what came.
func TestReaderBreaksOff(t *testing.T) {
	t.Parallel()
	z := newSanitizer(t, 1)
	broken := errors.New("broken")
	masked, ok := z.Reader("acme", io.MultiReader(strings.NewReader("write to ada@exam"), iotest.ErrReader(broken)), schemas.Obligations{PII: schemas.PIIRedact})
	if !ok {
		t.Fatal("not understood")
	}
	if got, err := io.ReadAll(masked); !errors.Is(err, broken) || len(got) > 0 {
		t.Errorf("%q, %v", got, err)
	}
}

func TestReaderFailsClosed(t *testing.T) {
	t.Parallel()
	for _, o := range []schemas.Obligations{{}, {PII: "blur"}, {PII: "redact", Types: []string{"colour"}}, {PII: "redact", Summarise: 3}} {
		if _, ok := newSanitizer(t, 1).Reader("acme", strings.NewReader("x"), o); ok {
			t.Errorf("%+v is met", o)
		}
	}
}
