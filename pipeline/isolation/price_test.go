package isolation_test

import (
	"math"
	"testing"

	"satchel/pipeline/isolation"
	"satchel/schemas"
)

func TestCost(t *testing.T) {
	t.Parallel()
	p := isolation.Prices{"small": {Input: 0.5, Output: 2}, "*": {Input: 10, Output: 30}}
	for model, want := range map[string]float64{"small": 0.0009, "large": 0.016} {
		if got := p.Cost(schemas.ModelInvocation{Model: model, PromptTokens: 1000, AnswerTokens: 200}); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: %g, want %g", model, got, want)
		}
	}
	if got := (isolation.Prices)(nil).Cost(schemas.ModelInvocation{Model: "small", PromptTokens: 1000}); got != 0 {
		t.Errorf("without prices: %g", got)
	}
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1)} {
		if (isolation.Prices{"x": {Output: bad}}).Validate() == nil {
			t.Errorf("%g is a price", bad)
		}
	}
}
