package injection

import (
	"strings"
)

// frequent are the words by which English is known and by which words that were run
// together are set apart, besides those of the classes.
const frequent = `the of and to in is that it for on was with as be at by this have from or had not are but
were they which one you all would there their we him been has when who will no more if out so what up said
its about than into them can only other time new some could these two may first then do any like my now over
such our man me even most made after also did many off before must well back through years much where your way
down should because each just those people how too little state good very make world still see own work long
here get both between life being under never day same another know while last might us great old year come since
against go came right used take three himself few use house during without again place around however home small
found thought went say part once general high upon school every next need want user page document email data
message file files account please help note text line name word number report status update updates project
request call summarize article quote meeting buy today tomorrow
order list table email team customer server log hidden prompt reveal previous instructions ignore include append
internal record records approve fetch http export headers result load values value treat
trust trusted forever claims describe `

// dictionary holds the words of frequent and of the classes.
type dictionary map[string]bool

var english = buildLexicon()

func buildLexicon() dictionary {
	d := dictionary{}
	for _, w := range strings.Fields(frequent) {
		d[w] = true
	}
	for _, line := range listVocabulary() {
		for _, w := range strings.Fields(line.words) {
			if len(w) > 2 {
				d[w] = true
			}
		}
	}
	return d
}

// countCommonWords counts the words among the first of a text that are common, and all of them.
func countCommonWords(text string) (hits, words int) {
	var word [longestWord]byte
	n := 0
	for i := 0; i <= len(text) && words < sampled; i++ {
		if i < len(text) && isLetterByte(text[i]) {
			if n < longestWord {
				word[n] = text[i] | 0x20
			}
			n++
			continue
		}
		if n == 0 {
			continue
		}
		words++
		if n <= longestWord && english[string(word[:n])] {
			hits++
		}
		n = 0
	}
	return hits, words
}

const (
	sampled     = 40 // words by which a text's language is judged
	longestWord = 16
)

// longestRun is the number of letters up to which a run is set apart into words.
const longestRun = 600

// segmentText sets runs of letters apart into the words of the dictionary, by the fewest
// letters that belong to none.
func segmentText(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		j := i
		for j < len(text) && isLetterByte(text[j]) {
			j++
		}
		switch {
		case j-i >= 12 && j-i <= longestRun:
			setApart(&b, text[i:j])
		case j > i:
			b.WriteString(text[i:j])
		default:
			b.WriteByte(text[i])
			j = i + 1
		}
		i = j
	}
	return b.String()
}

func setApart(b *strings.Builder, run string) {
	const loose, known = 12, 4
	low := lowerText(run)
	cost := make([]int, len(low)+1)
	from := make([]int, len(low)+1)
	for i := 1; i <= len(low); i++ {
		cost[i] = cost[i-1] + loose
		from[i] = -1
		for n := 1; n <= min(longestWord, i); n++ {
			if c := cost[i-n] + known; c < cost[i] && english[low[i-n:i]] {
				cost[i] = c
				from[i] = i - n
			}
		}
	}
	cuts := make([]bool, len(low)+1)
	for i := len(low); i > 0; {
		if from[i] < 0 {
			i--
			continue
		}
		cuts[i] = true
		cuts[from[i]] = true
		i = from[i]
	}
	for i := range len(low) {
		if cuts[i] {
			b.WriteByte(' ')
		}
		b.WriteByte(run[i])
	}
	b.WriteByte(' ')
}

func lowerText(s string) string {
	out := []byte(s)
	for i, c := range out {
		if c >= 'A' && c <= 'Z' {
			out[i] = c | 0x20
		}
	}
	return string(out)
}
