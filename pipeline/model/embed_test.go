package model_test

import (
	"testing"

	"satchel/pipeline/model"
)

func TestModelString(t *testing.T) {
	t.Parallel()
	m := model.EmbeddingModel{Name: "static", Revision: "0123abcd", Dimensions: 256}
	if got, want := m.String(), "static@0123abcd"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
}
