package postgres

import (
	"context"
	"strconv"
	"strings"
	"unicode/utf8"

	"satchel/pipeline/language"
)

// Bounds of a tsvector, whose own limit is 1 MiB, and of its positions.
const (
	maxVector    = 700 << 10 // bytes of lexemes and positions
	maxPosition  = 16383
	maxPositions = 255 // of one lexeme
	maxTerms     = 512 // distinct terms of a query
	maxText      = 256 << 10
)

// makePrefix is what every lexeme of a tenant begins with.
func makePrefix(tenant int32) string { return strconv.FormatInt(int64(tenant), 10) + "/" }

// prefixed is an expression that gives the lexemes of the tsvector in it the tenant's
// prefix; $1 is the tenant's number.
const prefixed = `coalesce((SELECT string_agg('''' || ($1::int)::text || '/' || replace(replace(l.lexeme, '\', '\\'), '''', '''''') || ''':' || array_to_string(l.positions, ','), ' ')
	FROM unnest(%s) l), '')::tsvector`

// quoteText returns s as a quoted lexeme or literal.
func quoteText(s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), "'", "''") + "'"
}

// cutForVector returns the beginning of a text that a tsvector can hold.
func cutForVector(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// makeTextVector returns the text form of the tsvector of a text's terms.
func makeTextVector(tenant int32, text string) string {
	var a language.Analyzer
	a.Analyze(text)
	at := make(map[string][]int, a.Len())
	order := make([]string, 0, a.Len())
	size := 0
	for i := range a.Len() {
		term := a.Term(i)
		positions, seen := at[string(term)]
		if !seen {
			size += len(term) + 24
			if size > maxVector {
				break
			}
			order = append(order, string(term))
		}
		size += 2
		if len(positions) < maxPositions {
			at[string(term)] = append(positions, min(i+1, maxPosition))
		}
	}
	var b strings.Builder
	for _, term := range order {
		b.WriteString(quoteText(makePrefix(tenant) + ShortText(term)))
		sep := byte(':')
		for _, p := range at[term] {
			b.WriteByte(sep)
			b.WriteString(strconv.Itoa(p))
			sep = ','
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// makeTextQuery returns the text form of the tsquery that asks for any term of text; "" asks for
// nothing.
func (x *Keyword) makeTextQuery(ctx context.Context, tenant int32, text string) (string, error) {
	var terms []string
	if x.language == "" {
		terms = language.Analyze(text)
	} else {
		err := x.pool.QueryRow(ctx, "SELECT ARRAY(SELECT lexeme FROM unnest(to_tsvector($1::regconfig, $2)))", x.language, cutForVector(ShortText(text))).Scan(&terms)
		if err != nil {
			return "", err
		}
	}
	seen := make(map[string]bool, len(terms))
	var quoted []string
	for _, term := range terms {
		if !seen[term] && len(quoted) < maxTerms {
			seen[term] = true
			quoted = append(quoted, quoteText(makePrefix(tenant)+ShortText(term)))
		}
	}
	return strings.Join(quoted, " | "), nil
}
