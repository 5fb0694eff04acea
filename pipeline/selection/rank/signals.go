package rank

import (
	"math"
	"time"

	"satchel/pipeline/candidate"
)

// frequencyFull is the access count at which the frequency signal reaches 1.
const frequencyFull = 100

// computeRelevance maps a fused z-score to 0–1: half at two deviations above the mean, so
// that an item nothing speaks for stays near zero. It orders the items of one request.
func computeRelevance(z float64) float64 { return 1 / (1 + math.Exp(-(z-1.5)/.75)) }

func measureSignals(r *candidate.Visible, relevance float64, distance int, now time.Time, lambda float64) candidate.Signals {
	v := candidate.Signals{
		Relevance:   relevance,
		Recency:     computeRecency(r, now, lambda),
		Frequency:   min(1, math.Log1p(float64(r.AccessCount))/math.Log1p(frequencyFull)),
		Importance:  orDefault(r.Importance, .5),
		Familiarity: 1 - orDefault(r.Novelty, .5),
		Trust:       orDefault(r.Trust, .5),
		Openness:    1 - orDefault(r.Sensitivity, 0),
	}
	if distance >= 0 {
		v.Causality = 1 / (1 + float64(distance))
	}
	return v
}

// ttlDecay is ln 20: an item with a ttl is down to a recency of .05 when it expires.
const ttlDecay = 2.9957

// computeRecency is exp(-λ·age_days), or the item's own decay: its decay_fn, or else one that
// fits its ttl.
func computeRecency(r *candidate.Visible, now time.Time, lambda float64) float64 {
	if r.TTL > 0 {
		lambda = ttlDecay * 86400 / float64(r.TTL)
	}
	if r.DecayFn != nil {
		return r.Decay(now, lambda)
	}
	return math.Exp(-lambda * r.Age(now))
}

// What the writer's own decay and doubt take of a score, at most, and by how much they lower an
// item in the order.
const (
	byDecay      = .5
	byConfidence = .5
	lowering     = 2 // z-scores for each e-fold
)

// writersFactor is what the writer's own decay function and confidence leave of a score.
func writersFactor(v *candidate.Visible, now time.Time, lambda float64) float64 {
	f := 1.
	if v.DecayFn != nil {
		f *= 1 - byDecay + byDecay*computeRecency(v, now, lambda)
	}
	doubt := 1 - orDefault(v.Confidence, 1)
	return f * (1 - byConfidence*doubt*doubt)
}

func orDefault(p *float64, def float64) float64 {
	if p == nil {
		return def
	}
	return *p
}

// roundSignals returns the signals as candidates have them, rounded to four places.
func roundSignals(v *candidate.Signals) candidate.Signals {
	return candidate.Signals{
		Relevance: fourPlaces(v.Relevance), Recency: fourPlaces(v.Recency), Frequency: fourPlaces(v.Frequency), Importance: fourPlaces(v.Importance),
		Causality: fourPlaces(v.Causality), Familiarity: fourPlaces(v.Familiarity), Trust: fourPlaces(v.Trust), Openness: fourPlaces(v.Openness), Evidence: v.Evidence,
	}
}

func fourPlaces(x float64) float64 { return math.Round(x*1e4) / 1e4 }
