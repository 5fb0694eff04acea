package console

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"

	"satchel/emitters"
	"satchel/schemas"
)

// Sizes of a page of the ledger.
const (
	pageSize  = 20
	mostPages = 10 // of the log that are looked through for a page of packs
)

// row is a pack in the list.
type row struct {
	Position int64
	schemas.ContextPack
	Items, LeftOut, Denied int
	Opened                 bool // the session may open it
}

// makePacksPage is the page of the newest packs: the session's own, or, with the scope audit, all that it
// may open.
func makePacksPage(v view) (page, error) {
	before, err := parsePosition(v.URL.Query().Get("before"))
	if err != nil {
		return page{}, err
	}
	session := v.URL.Query().Get("session")
	principal := v.URL.Query().Get("principal")
	list, next, err := readRecentPacks(v, before, pageSize, func(p *schemas.ContextPack) bool {
		return (session == "" || p.SessionID == session) && (principal == "" || p.Principal == principal)
	})
	if err != nil {
		return page{}, err
	}
	return page{name: "packs", title: "Packs", data: struct {
		Rows               []row
		Next               int64
		Session, Principal string
		Audit              bool
	}{list, next, session, principal, v.who.Audit}}, nil
}

// readRecentPacks reads packs from the log, newest first. Another principal's pack is listed when the session may open it.
func readRecentPacks(
	v view, before int64, most int, wanted func(*schemas.ContextPack) bool,
) (list []row, next int64, err error) {
	next = before
	for range mostPages {
		reply, err := readEntries(v, schemas.LedgerPack, next, most)
		if err != nil {
			return nil, 0, err
		}
		var some []row
		for i := range reply.Entries {
			one := row{Position: reply.Entries[i].Position}
			if json.Unmarshal(reply.Entries[i].Data, &one.ContextPack) != nil || one.ID == "" {
				continue // erased
			}
			if (one.Principal == v.who.Principal || v.who.Audit) && wanted(&one.ContextPack) {
				some = append(some, one)
			}
		}
		openAll(v, some)
		for i := range some {
			if some[i].Opened || some[i].Principal == v.who.Principal {
				list = append(list, some[i])
			}
		}
		next = reply.Next
		if next == 0 || len(list) >= most {
			break
		}
	}
	return list, next, nil
}

// readEntries reads a page of one kind, newest first.
func readEntries(v view, kind schemas.LedgerKind, before int64, limit int) (schemas.EntriesReply, error) {
	kinds := []schemas.LedgerKind{kind}
	return v.client.Entries(v.Context(), schemas.EntriesRequest{Kinds: kinds, Before: before, Limit: limit})
}

// openAll opens packs, a few at a time, for what only the pack itself tells.
func openAll(v view, rows []row) {
	var group sync.WaitGroup
	slots := make(chan struct{}, 4)
	for i := range rows {
		group.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			one := &rows[i]
			for _, section := range one.Sections {
				one.Items += len(section.Items)
			}
			p, err := openPack(v, one.ID)
			if err != nil {
				return // the row says so
			}
			one.Opened = true
			one.LeftOut = len(p.Drop.Drops)
			for _, n := range p.Drop.Denied {
				one.Denied += n
			}
		})
	}
	group.Wait()
}

func parsePosition(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, newRefusal(schemas.CodeValidation, "a log position is a number")
	}
	return n, nil
}

// makeOverviewPage is the first page.
func makeOverviewPage(v view) (page, error) {
	head, err := v.client.Head(v.Context())
	if err != nil {
		return page{}, err
	}
	status, err := v.client.Status(v.Context())
	if err != nil {
		return page{}, err
	}
	data := struct {
		Head    schemas.HeadReply
		Newest  *schemas.LedgerEntry // what agents wrote last
		Indexed bool                 // every index has it
		Packs   []row
	}{Head: head}
	if data.Packs, _, err = readRecentPacks(v, 0, pageSize, func(*schemas.ContextPack) bool { return true }); err != nil {
		return page{}, err
	}
	last, err := readEntries(v, schemas.LedgerMemory, 0, 1)
	if err != nil {
		return page{}, err
	}
	if len(last.Entries) > 0 {
		data.Newest = &last.Entries[0]
		data.Indexed = status.Ready
		for _, at := range status.Indexed {
			data.Indexed = data.Indexed && at >= data.Newest.Position
		}
	}
	return page{name: "overview", title: "Overview", data: data}, nil
}

// readReceipt returns the receipt of an event that has reached a level, nil while it has not.
func readReceipt(v view, source, id string, level schemas.ReceiptLevel) (*schemas.Receipt, error) {
	soon, cancel := context.WithTimeout(v.Context(), time.Second)
	defer cancel()
	receipt, err := v.client.Receipt(soon, source, id, level)
	if err != nil && emitters.Refusal(err).Code == schemas.CodeDeadlineExceeded && v.Context().Err() == nil {
		return nil, nil
	}
	return &receipt, err
}

// station is a place that an event passes.
type station struct {
	Level   schemas.ReceiptLevel
	Reached bool
	Says    string
}

// makeWritePage is the page of how far an event is. With the scope audit it may be anybody's.
func makeWritePage(v view) (page, error) {
	id := strings.TrimSpace(v.URL.Query().Get("id"))
	source := strings.TrimSpace(v.URL.Query().Get("source"))
	if source == "" || !v.who.Audit {
		source = v.client.Source()
	}
	data := struct {
		ID, Source string
		Audit      bool
		Stations   []station
		Stuck      string
		Entry      *schemas.LedgerEntry
	}{ID: id, Source: source, Audit: v.who.Audit}
	if id == "" {
		return page{name: "write", title: "Write", data: data}, nil
	}
	var at *schemas.Receipt
	for _, level := range []schemas.ReceiptLevel{schemas.ReceiptLogged, schemas.ReceiptIndexed, schemas.ReceiptProved} {
		r, err := readReceipt(v, source, id, level)
		if err != nil {
			return page{}, err
		}
		if r == nil {
			break
		}
		at = r
	}
	data.Stations, data.Stuck = listStations(at)
	if at != nil {
		near, err := v.client.Entries(v.Context(), schemas.EntriesRequest{Before: at.Position + 1, Limit: 1})
		if err != nil {
			return page{}, err
		}
		if len(near.Entries) == 1 && near.Entries[0].Position == at.Position {
			data.Entry = &near.Entries[0]
		}
	}
	return page{name: "write", title: "Write", data: data}, nil
}

// listStations says how far an event with a receipt is, nil for none, and why it goes no further.
func listStations(at *schemas.Receipt) (list []station, stuck string) {
	logged := at != nil
	indexed := logged && at.Level != schemas.ReceiptLogged
	proved := logged && at.Level == schemas.ReceiptProved
	list = []station{
		{schemas.ReceiptQueued, logged, "its emitter has it"},
		{schemas.ReceiptAccepted, logged, "the stream has it, on disk"},
		{schemas.ReceiptLogged, logged, "it is in the log"},
		{schemas.ReceiptIndexed, indexed, "every index has it: it can be found"},
		{schemas.ReceiptProved, proved, "a signed head covers it"},
	}
	switch {
	case !logged:
		stuck = "The log does not have it. Its emitter still has it, it waits in the stream, or it was refused: " +
			"satchel dlq ls lists what was refused."
	case !indexed:
		stuck = "An index is behind: satchel doctor says which."
	case !proved:
		stuck = "No signed head covers it yet: try again in a few seconds."
	}
	return list, stuck
}

// erasure is what the ledger says of one.
type erasure struct {
	Entry schemas.LedgerEntry
	Of    schemas.LedgerReference
}

// makeErasuresPage is the page of what was erased, and what that took.
func makeErasuresPage(v view) (page, error) {
	before, err := parsePosition(v.URL.Query().Get("before"))
	if err != nil {
		return page{}, err
	}
	reply, err := readEntries(v, schemas.LedgerErasure, before, pageSize)
	if err != nil {
		return page{}, err
	}
	data := struct {
		Erasures []erasure
		Next     int64
	}{Next: reply.Next}
	for i := range reply.Entries {
		one := erasure{Entry: reply.Entries[i]}
		if err := json.Unmarshal(one.Entry.Data, &one.Of); err != nil {
			return page{}, newRefusal(schemas.CodeStorage, "an erasure in the log could not be read")
		}
		data.Erasures = append(data.Erasures, one)
	}
	return page{name: "erasures", title: "Erasures", data: data}, nil
}

// line is an entry of the ledger for the page and its script.
type line struct {
	Position int64  `json:"position"`
	Time     string `json:"time"`
	Kind     string `json:"kind"`
	Agent    string `json:"agent"`
	Type     string `json:"type"`
	About    string `json:"about"`
	Pack     string `json:"pack,omitempty"` // the id of a pack
}

func lineOf(e *schemas.LedgerEntry) line {
	at := e.Time
	if at.IsZero() {
		at = e.RecordedAt
	}
	out := line{e.Position, at.UTC().Format(time.DateTime), string(e.Kind), e.Agent,
		strings.TrimSuffix(strings.TrimPrefix(e.Type, "io.satchel."), ".v1"), e.Subject, ""}
	switch e.Kind {
	case schemas.LedgerPack:
		out.About = e.ID
		out.Pack = e.ID
	case schemas.LedgerErasure:
		var ref schemas.LedgerReference
		if json.Unmarshal(e.Data, &ref) == nil && len(ref.Items) > 0 {
			out.About = strings.Join(ref.Items, ", ")
		}
	}
	for _, text := range []*string{&out.Agent, &out.About} {
		*text = string(revealMarks([]byte(*text)))
	}
	return out
}

// makeLedgerPage is the page of the log as it grows.
func makeLedgerPage(v view) (page, error) {
	kinds, err := kindsOf(v)
	if err != nil {
		return page{}, err
	}
	before, err := parsePosition(v.URL.Query().Get("before"))
	if err != nil {
		return page{}, err
	}
	reply, err := v.client.Entries(v.Context(), schemas.EntriesRequest{Kinds: kinds, Before: before, Limit: 50})
	if err != nil {
		return page{}, err
	}
	data := struct {
		Lines  []line
		Next   int64
		Last   int64 // 0 on an older page, which does not grow
		All    []schemas.LedgerKind
		Chosen map[schemas.LedgerKind]bool
	}{Next: reply.Next, All: schemas.LedgerKinds(), Chosen: map[schemas.LedgerKind]bool{}}
	for _, k := range kinds {
		data.Chosen[k] = true
	}
	for i := range reply.Entries {
		data.Lines = append(data.Lines, lineOf(&reply.Entries[i]))
	}
	if before == 0 && len(data.Lines) > 0 {
		data.Last = data.Lines[0].Position
	}
	return page{name: "ledger", title: "Ledger", data: data}, nil
}

// ledgerSince answers the script with what came after a position.
func ledgerSince(v view) (page, error) {
	kinds, err := kindsOf(v)
	if err != nil {
		return page{}, err
	}
	after, err := parsePosition(v.URL.Query().Get("after"))
	if err != nil {
		return page{}, err
	}
	reply, err := v.client.Entries(v.Context(), schemas.EntriesRequest{Kinds: kinds, After: max(after, 1), Limit: 50})
	if err != nil {
		return page{}, err
	}
	lines := make([]line, 0, len(reply.Entries))
	for i := range reply.Entries {
		lines = append(lines, lineOf(&reply.Entries[i]))
	}
	return page{data: struct {
		Entries []line `json:"entries"`
		Next    int64  `json:"next"`
	}{lines, reply.Next}}, nil
}

// makeVerifyPage is the page that checks a pack's place in the log.
func makeVerifyPage(v view) (page, error) {
	pack := strings.TrimSpace(v.URL.Query().Get("pack"))
	return page{name: "verify", title: "Verify", data: struct{ Pack, Tenant string }{pack, v.who.Tenant}}, nil
}

// makeProofPage answers the script with what proves that a pack is in the log.
func makeProofPage(v view) (page, error) {
	p, err := openPack(v, v.PathValue("pack"))
	if err != nil {
		return page{}, err
	}
	head, err := v.client.Head(v.Context())
	if err != nil {
		return page{}, err
	}
	proved, err := v.client.Prove(v.Context(), schemas.ProveRequest{Source: schemas.SourceEngine, ID: p.PackID})
	if err != nil {
		return page{}, err
	}
	return page{data: struct {
		Pack  string             `json:"pack"`
		Key   string             `json:"key"`
		Proof schemas.ProveReply `json:"proof"`
	}{p.PackID, head.PublicKey, proved}}, nil
}
