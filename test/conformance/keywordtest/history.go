package keywordtest

import (
	"fmt"

	"satchel/pipeline/store/keyword"
	"satchel/test/conformance/internal/folded"
	"satchel/test/must"
)

func tenants(s *suite) {
	other := folded.Tenant(s.T, "ACME") // another tenant, also on a file system that ignores case
	s.put(s.s, doc("same", "walnut table"), doc("mine", "walnut"))
	s.put(other, doc("same", "glass table"))
	s.finds(s.s, "walnut", "mine", "same")
	s.finds(s.s, "glass")
	s.finds(other, "glass", "same")
	s.finds(other, "walnut")
	if res := s.search(other, all("table")); s.features.ExactMoments && res.N != 1 {
		s.Errorf("the other tenant counts %d documents", res.N)
	}
	if s.digest(s.s) == s.digest(other) {
		s.Error("two tenants' digests are equal")
	}
	s.remove(other, "same")
	s.finds(s.s, "table", "same")
	must.Do(s, s.x.Reset(s.Context(), other))
	s.finds(s.s, "table", "same")
	if mine, theirs := s.checkpoint(s.s), s.checkpoint(other); mine != 2 || theirs != 0 {
		s.Errorf("checkpoints %d and %d", mine, theirs)
	}
}

func idempotence(s *suite) {
	a, b := doc("a", "first text"), doc("b", "second text")
	a.Position, b.Position = 3, 7
	changes := []keyword.Change{{Position: 3, Put: &a}, {Position: 7, Put: &b}}
	s.apply(s.s, changes, 9)
	if at := s.checkpoint(s.s); at != 9 {
		s.Fatalf("checkpoint %d, want 9", at)
	}
	before := s.digest(s.s)
	s.apply(s.s, changes, 9)
	s.apply(s.s, changes[:1], 3)
	forged := doc("a", "third text")
	forged.Position = 9
	s.apply(s.s, []keyword.Change{{Position: 8, Remove: []string{"b"}}, {Position: 9, Put: &forged}}, 9)
	if s.digest(s.s) != before {
		s.Error("changes at or below the checkpoint had an effect")
	}
	if at := s.checkpoint(s.s); at != 9 {
		s.Errorf("checkpoint went to %d", at)
	}
	s.finds(s.s, "text", "a", "b")
	late := doc("c", "late text")
	late.Position = 10
	s.apply(s.s, []keyword.Change{{Position: 9, Remove: []string{"a"}}, {Position: 10, Put: &late}}, 10)
	s.finds(s.s, "text", "a", "b", "c")
	s.apply(s.s, nil, 25)
	if at := s.checkpoint(s.s); at != 25 {
		s.Errorf("checkpoint %d, want 25", at)
	}
}

func replace(s *suite) {
	s.put(s.s, doc("a", "maple syrup"), doc("b", "maple wood"))
	s.put(s.s, doc("a", "cane sugar"))
	s.finds(s.s, "syrup")
	s.finds(s.s, "sugar", "a")
	s.finds(s.s, "maple", "b")
	s.remains(2, "a", "b", "never there")
	s.remove(s.s, "a", "never there")
	s.remains(1, "a", "b", "never there")
	s.finds(s.s, "sugar")
	if res := s.search(s.s, all("maple")); s.features.ExactMoments && res.N != 1 {
		s.Errorf("%d documents are left, want 1", res.N)
	}
	scores, err := s.x.Score(s.Context(), s.s, all("sugar"), []string{"a"})
	if err != nil || scores[0] != 0 {
		s.Errorf("a removed document scores %v, %v", scores, err)
	}
	s.put(s.s, doc("a", "maple again"))
	s.finds(s.s, "maple", "a", "b")
	at := s.checkpoint(s.s) + 1
	d := doc("b", "united again")
	d.Position = at
	s.apply(s.s, []keyword.Change{{Position: at, Remove: []string{"a"}}, {Position: at, Put: &d}}, at)
	s.finds(s.s, "maple")
	s.finds(s.s, "united", "b")
}

func (s *suite) remains(want int, ids ...string) {
	s.Helper()
	folded.Remains(s.T, s.x, s.s, want, ids...)
}

// digest checks that only what is in the index counts, not how it came there.
func digest(s *suite) {
	other := folded.Tenant(s.T, "globex")
	empty := s.digest(s.s)
	var history []keyword.Change
	texts := []string{"red lamp", "blue lamp lamp", "green chair", "red chair", "old 北京 lamp"}
	for i := range 60 {
		d := doc(fmt.Sprint(i%23), texts[i%len(texts)])
		d.Position = int64(i + 1)
		history = append(history, keyword.Change{Position: d.Position, Put: &d})
		if i%7 == 6 {
			history[i] = keyword.Change{Position: d.Position, Remove: []string{fmt.Sprint((i * 5) % 23)}}
		}
	}
	s.apply(s.s, history, 60)
	for at := 0; at < len(history); at += 7 {
		part := history[at:min(at+7, len(history))]
		s.apply(other, part, part[len(part)-1].Position)
	}
	if s.digest(s.s) != s.digest(other) {
		s.Error("the digest depends on the batches")
	}
	final := map[string]keyword.Change{}
	for _, c := range history {
		for _, id := range c.Remove {
			delete(final, id)
		}
		if c.Put != nil {
			final[c.Put.ID] = c
		}
	}
	third := folded.Tenant(s.T, "initech")
	for _, c := range history {
		if c.Put != nil && final[c.Put.ID].Position == c.Position {
			s.apply(third, []keyword.Change{c}, c.Position)
		}
	}
	if s.digest(s.s) != s.digest(third) {
		s.Error("the digest depends on what was replaced or removed")
	}
	s.put(third, doc("extra", "one more"))
	if s.digest(s.s) == s.digest(third) || s.digest(s.s) == empty {
		s.Error("the digest misses a document")
	}
	s.remove(third, "extra")
	if s.digest(s.s) != s.digest(third) {
		s.Error("the digest of the same documents differs")
	}
}

func reset(s *suite) {
	s.put(s.s, doc("a", "ivory"))
	full := s.digest(s.s)
	must.Do(s, s.x.Reset(s.Context(), s.s))
	s.finds(s.s, "ivory")
	if at := s.checkpoint(s.s); at != 0 {
		s.Errorf("checkpoint %d after reset", at)
	}
	s.put(s.s, doc("a", "ivory"))
	s.finds(s.s, "ivory", "a")
	if s.digest(s.s) != full {
		s.Error("the rebuilt digest differs")
	}
}

func unicodeText(s *suite) {
	s.put(s.s, doc("cafe", "Café ÜBER naïve"), doc("jp", "東京タワーに行きました"), doc("cn", "北京大学"),
		doc("ko", "한국어 문장"), doc("el", "ΟΔΥΣΣΕΥΣ"), doc("ru", "Москва зимой"), doc("de", "Große Straße"), doc("one", "猫"))
	s.finds(s.s, "cafe", "cafe")
	s.finds(s.s, "cafe\u0301", "cafe")
	s.finds(s.s, "über", "cafe")
	s.finds(s.s, "東京", "jp")
	s.finds(s.s, "大学", "cn")
	s.finds(s.s, "한국", "ko")
	s.finds(s.s, "Οδυσσευς", "el")
	s.finds(s.s, "МОСКВА", "ru")
	s.finds(s.s, "STRASSE", "de")
	s.finds(s.s, "猫", "one")
	s.finds(s.s, "ｃａｆｅ", "cafe")
}

func compounds(s *suite) {
	s.put(s.s, doc("camel", "call getUserName first"), doc("snake", "the max_retry_count setting"), doc("acronym", "an HTTPServer"))
	s.finds(s.s, "getusername", "camel")
	s.finds(s.s, "user names", "camel")
	s.finds(s.s, "retries", "snake")
	s.finds(s.s, "max_retry_count", "snake")
	s.finds(s.s, "http", "acronym")
	s.finds(s.s, "server", "acronym")
}
