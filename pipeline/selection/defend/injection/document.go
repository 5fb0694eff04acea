package injection

import "math"

// inputs are what the second stage knows of a document: for each head its best
// sentence, its second, the mean of the others and where the best one stands; and
// what kind of text the whole is.
const (
	perHead = 11
	global  = 13
	inputs  = heads*perHead + global
	hidden  = 24
)

// best is the leading sentence of a head.
type best struct {
	sentence
	index  int
	before [heads]float32 // logits of the sentence before it
	after  [heads]float32
	second float32
	sum    float32
	above  int // sentences with a positive logit
}

// document gathers the sentences of a text as they come.
type document struct {
	top       [heads]best
	last      sentence
	sentences int
	cells     int
	fenced    int
	questions int
	pointers  int
	words     int
	size      int // bytes
}

// leastTold is the number of words from which a sentence says something.
const leastTold = 2

func (d *document) addSentence(s *sentence) {
	if s.words < leastTold {
		return
	}
	for h := range d.top {
		t := &d.top[h]
		v := clipLogit(s.logit[h])
		t.sum += v
		if v > 0 {
			t.above++
		}
		switch {
		case d.sentences == 0 || v > t.logit[h]:
			if d.sentences > 0 {
				t.second = t.logit[h]
			} else {
				t.second = -limit
			}
			t.sentence = *s
			t.index = d.sentences
			t.before = d.last.logit
			t.logit[h] = v
			t.after = [heads]float32{}
		default:
			t.second = max(t.second, v)
			if t.index == d.sentences-1 {
				t.after = s.logit
			}
		}
	}
	d.sentences++
	d.words += int(s.words)
	d.cells += convertToInt(s.cell)
	d.fenced += convertToInt(s.fenced)
	d.questions += convertToInt(s.question)
	d.pointers += convertToInt(s.deictic)
	d.last = *s
}

// computeEvidence is the logit by which the strongest sentence of a document is one that injects.
func (d *document) computeEvidence() float32 {
	return max(d.top[attack].logit[attack], d.top[steer].logit[steer], d.top[harm].logit[harm], d.top[task].logit[task]-sureTask)
}

func convertToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

const limit = 8 // logits are clipped to ±limit

func clipLogit(x float32) float32 { return max(-limit, min(limit, x)) }

func convertToFloat(b bool) float32 { return float32(convertToInt(b)) }

func logOf(n int) float32 { return float32(math.Log1p(float64(n))) / 4 }

func (d *document) fillInputs(x *[inputs]float32) {
	others := float32(max(1, d.sentences-1))
	n := float32(max(1, d.sentences))
	for h := range d.top {
		t := &d.top[h]
		f := x[h*perHead : (h+1)*perHead]
		f[0] = t.logit[h] / 4
		f[1] = t.second / 4
		f[2] = (t.sum - t.logit[h]) / others / 4
		f[3] = float32(t.above) / n
		f[4] = convertToFloat(t.index == 0)
		f[5] = convertToFloat(t.index == d.sentences-1)
		f[6] = convertToFloat(t.alone)
		f[7] = convertToFloat(t.question)
		f[8] = convertToFloat(t.deictic)
		f[9] = (clipLogit(t.before[h]) + clipLogit(t.after[h])) / 8
		f[10] = clipLogit(t.logit[foreign]) / 4
	}
	f := x[heads*perHead:]
	f[0] = convertToFloat(d.sentences == 1)
	f[1] = logOf(d.sentences)
	f[2] = logOf(d.size)
	f[3] = float32(d.cells) / n
	f[4] = float32(d.fenced) / n
	f[5] = float32(d.questions) / n
	f[6] = convertToFloat(d.pointers > 0)
	f[7] = logOf(d.words)
	f[8] = float32(d.words) / n / 30
	f[9] = convertToFloat(d.fenced > 0)
	f[10] = convertToFloat(d.cells > 0)
	f[11] = logOf(int(d.top[task].words))
	f[12] = logOf(int(d.top[steer].words))
}
