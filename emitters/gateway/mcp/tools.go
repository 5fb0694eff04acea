package mcp

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"satchel/emitters"
	"satchel/pipeline/language"
	"satchel/schemas"
)

type rememberInput struct {
	Text   string   `json:"text"`
	Kind   string   `json:"kind,omitempty" jsonschema:"memory (default), knowledge, experience, value, code, commit or tool"`
	Time   string   `json:"time,omitempty" jsonschema:"when it happened, RFC 3339; default now"`
	About  []string `json:"about,omitempty" jsonschema:"ids of memories it follows from"`
	Labels []string `json:"labels,omitempty" jsonschema:"name:value, such as level:internal"`
	Key    string   `json:"key,omitempty" jsonschema:"same key, same memory: safe to repeat, with time"`
}

func (s *server) rememberText(ctx context.Context, client *emitters.Emitter, _ *sdk.CallToolRequest, in rememberInput) (*sdk.CallToolResult, error) {
	item := schemas.MemoryItem{Content: schemas.TextContent(in.Text), Kind: schemas.Kind(cmp.Or(in.Kind, string(schemas.KindMemory))), SecurityLabel: in.Labels}
	for _, id := range in.About {
		item.Links = append(item.Links, schemas.Link{Rel: schemas.RelFollows, To: id})
	}
	var err error
	if item.CreatedAt, err = timeOf("/time", in.Time); err != nil {
		return nil, err
	}
	item.ID = cmp.Or(in.Key, client.NewID())
	r, err := client.Remember(ctx, item, &emitters.Options{Wait: schemas.ReceiptIndexed, EventID: in.Key})
	if err != nil {
		return nil, err
	}
	return makeReceiptResult(fmt.Sprintf("Stored as %s: %s at log position %d.", item.ID, r.Level, r.Position), item.ID, r), nil
}

// makeReceiptResult shows a receipt, with the id of the item.
func makeReceiptResult(say, item string, r schemas.Receipt) *sdk.CallToolResult {
	return makeStructuredResult(say, struct {
		Item string `json:"item"`
		schemas.Receipt
	}{item, r})
}

type contextInput struct {
	Question string `json:"question"`
	Budget   int    `json:"budget,omitempty" jsonschema:"tokens, default 2000"`
	Session  string `json:"session,omitempty" jsonschema:"what this session has seen is not repeated"`
	AsOf     string `json:"as_of,omitempty" jsonschema:"RFC 3339 time or log position to look back to"`
	Detail   string `json:"detail,omitempty" jsonschema:"full: the whole result as structured content"`
	TZ       string `json:"tz,omitempty" jsonschema:"time zone of the user's days, as Asia/Tokyo"`
	Prefer   string `json:"prefer,omitempty" jsonschema:"docs, code or history, where the answer should stand"`
	Fill     bool   `json:"fill,omitempty" jsonschema:"take the whole budget; without it the text ends where more is worth too little"`

	Filters schemas.Filters `json:"filters,omitempty" jsonschema:"as of search"`
}

// packed is what context tells beside the text.
type packed struct {
	PackID   string         `json:"pack_id"`
	Position int64          `json:"position"`
	Tokens   int            `json:"tokens"`
	LeftOut  map[string]int `json:"left_out"`
	Warnings []string       `json:"warnings"`
}

func (s *server) askContext(ctx context.Context, client *emitters.Emitter, _ *sdk.CallToolRequest, in contextInput) (*sdk.CallToolResult, error) {
	if strings.TrimSpace(in.Question) == "" {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Field: "/question", Message: "the question is empty"}
	}
	req := schemas.ContextRequest{Payload: schemas.RequestPayload{
		Query: schemas.Query{Text: in.Question, Filters: in.Filters}, TokenBudget: cmp.Or(in.Budget, schemas.DefaultTokenBudget), Session: in.Session,
		Prefer: schemas.Preference(in.Prefer), TZ: in.TZ, Fill: in.Fill,
	}}
	if in.AsOf != "" {
		if position, err := strconv.ParseInt(in.AsOf, 10, 64); err == nil {
			req.Payload.AsOf = position
		} else if req.Payload.AsOfTime, err = timeOf("/as_of", in.AsOf); err != nil {
			return nil, err
		}
	}
	result, err := client.Ask(ctx, req)
	if err != nil {
		return nil, err
	}
	p := &result.Payload
	if in.Detail == "full" {
		return makeStructuredResult(p.Text, p), nil
	}
	short := packed{PackID: p.PackID, Position: p.Positions.Pack, Tokens: p.Pack.TokenActual, LeftOut: map[string]int{}, Warnings: p.Explainability.Warnings}
	for i := range p.Drop.Drops {
		short.LeftOut[string(p.Drop.Drops[i].Reason)]++
	}
	return makeStructuredResult(p.Text, short), nil
}

type searchInput struct {
	Query string   `json:"query"`
	Limit int      `json:"limit,omitempty" jsonschema:"default 10"`
	Kinds []string `json:"kinds,omitempty"`
	From  string   `json:"from,omitempty" jsonschema:"RFC 3339"`
	To    string   `json:"to,omitempty" jsonschema:"RFC 3339"`
	TZ    string   `json:"tz,omitempty" jsonschema:"as of context"`
	Hops  int      `json:"hops,omitempty" jsonschema:"follow links, 0 to 3"`

	Filters schemas.Filters `json:"filters,omitempty" jsonschema:"only memories whose fields have these values, such as {\"labels\": \"project:apollo\"}"`
}

func (s *server) searchItems(ctx context.Context, client *emitters.Emitter, _ *sdk.CallToolRequest, in searchInput) (*sdk.CallToolResult, error) {
	if strings.TrimSpace(in.Query) == "" {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Field: "/query", Message: "the query is empty"}
	}
	req := schemas.SearchRequest{Query: in.Query, Limit: in.Limit, MemoryTypes: in.Kinds, Filters: in.Filters, TZ: in.TZ, IncludeRelationships: in.Hops > 0, RelationshipDepth: in.Hops}
	var err error
	if req.DateFrom, err = timeOf("/from", in.From); err != nil {
		return nil, err
	}
	if req.DateTo, err = timeOf("/to", in.To); err != nil {
		return nil, err
	}
	reply, err := client.Search(ctx, req)
	if err != nil {
		return nil, err
	}
	zone, _ := schemas.Zone(in.TZ) // which was refused where there is none
	lines := make([]string, len(reply.Results))
	for i := range reply.Results {
		r := &reply.Results[i]
		lines[i] = fmt.Sprintf("%s (%.2f): %s", r.Memory.ID, r.Score, oneLine(&r.Memory, 0))
		for _, v := range r.Versions {
			older := schemas.ResultItem{Content: schemas.TextContent(cmp.Or(v.Difference, "the same")), Metadata: r.Memory.Metadata}
			lines[i] += fmt.Sprintf("\n  %s %s: %s", v.CreatedAt.In(cmp.Or(zone, time.UTC)).Format(time.DateOnly), v.ID, oneLine(&older, 0))
		}
	}
	return makeStructuredResult(cmp.Or(strings.Join(lines, "\n"), "Nothing was found."), reply), nil
}

type explainInput struct {
	Pack string `json:"pack" jsonschema:"id of a pack"`
	Item string `json:"item" jsonschema:"id of a memory"`
}

func (s *server) explainItem(ctx context.Context, client *emitters.Emitter, _ *sdk.CallToolRequest, in explainInput) (*sdk.CallToolResult, error) {
	reply, err := client.Explain(ctx, in.Pack, in.Item)
	if err != nil {
		return nil, err
	}
	return makeStructuredResult(strings.TrimSpace(reply.Explanation+" "+reply.Change), reply), nil
}

type recoverInput struct {
	Pack  string   `json:"pack" jsonschema:"id of a pack"`
	Items []string `json:"items" jsonschema:"ids that its drop report names"`
}

func (s *server) recoverItems(ctx context.Context, client *emitters.Emitter, _ *sdk.CallToolRequest, in recoverInput) (*sdk.CallToolResult, error) {
	reply, err := client.Recover(ctx, in.Pack, in.Items)
	if err != nil {
		return nil, err
	}
	lines := make([]string, len(reply.Results))
	for i := range reply.Results {
		lines[i] = reply.Results[i].ID + ": " + oneLine(&reply.Results[i], 0)
	}
	if len(reply.Missing) > 0 {
		lines = append(lines, "Not to be had: "+strings.Join(reply.Missing, ", "))
	}
	return makeStructuredResult(strings.Join(lines, "\n"), reply), nil
}

type correctInput struct {
	Item   string   `json:"item" jsonschema:"id of the memory that is wrong"`
	Text   string   `json:"text,omitempty" jsonschema:"what is true instead"`
	By     string   `json:"by,omitempty" jsonschema:"id of a memory that replaces it, instead of text"`
	Reason string   `json:"reason"`
	Labels []string `json:"labels,omitempty"`
}

func (s *server) correctItem(ctx context.Context, client *emitters.Emitter, _ *sdk.CallToolRequest, in correctInput) (*sdk.CallToolResult, error) {
	by, r, err := client.Correct(ctx, in.Item, emitters.Correction{Text: in.Text, By: in.By, Reason: in.Reason, Labels: in.Labels}, &emitters.Options{Wait: schemas.ReceiptIndexed})
	if err != nil {
		return nil, err
	}
	return makeReceiptResult(fmt.Sprintf("%s is replaced by %s.", in.Item, by), by, r), nil
}

type statusInput struct {
	Receipt string `json:"receipt,omitempty" jsonschema:"event id of a write"`
}

func (s *server) reportStatus(ctx context.Context, client *emitters.Emitter, _ *sdk.CallToolRequest, in statusInput) (*sdk.CallToolResult, error) {
	var reply struct {
		schemas.StatusReply
		Receipt *schemas.Receipt `json:"receipt,omitempty"`
	}
	var err error
	if reply.StatusReply, err = client.Status(ctx); err != nil {
		return nil, err
	}
	say := fmt.Sprintf("%s; the log has %d entries.", cmp.Or(reply.Reason, "Ready"), reply.Size)
	if in.Receipt != "" {
		r, err := client.Receipt(ctx, client.Source(), in.Receipt, schemas.ReceiptIndexed)
		if err != nil {
			return nil, err
		}
		reply.Receipt = &r
		say += fmt.Sprintf(" The write %s is %s.", in.Receipt, strings.Join(append([]string{string(r.Level)}, r.Warnings...), "; "))
	}
	return makeStructuredResult(say, reply), nil
}

// timeOf reads a time that may be absent.
func timeOf(field, value string) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	at, err := schemas.ParseTime(value)
	if err != nil {
		return at, &schemas.Error{Code: schemas.CodeValidation, Field: field, Message: "must be a time as RFC 3339 has it, such as 2026-03-03T10:00:00Z"}
	}
	return at, nil
}

// oneLine is at most most characters of an item's content without line breaks, 0 for all, behind who said and who wrote it.
// What is to be quoted, and not followed, is in quotation marks behind words that say so.
func oneLine(item *schemas.ResultItem, most int) string {
	text := strings.Join(strings.Fields(language.Shown(item.Content.Text())), " ")
	if runes := []rune(text); most > 0 && len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return item.Metadata.Say(text)
}
