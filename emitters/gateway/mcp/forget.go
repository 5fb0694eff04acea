package mcp

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"satchel/emitters"
	"satchel/schemas"
)

// confirmFor is how long a confirmation may take.
const confirmFor = 5 * time.Minute

type forgetInput struct {
	Items   []string `json:"items,omitempty" jsonschema:"ids of memories"`
	Reason  string   `json:"reason,omitempty"`
	Erasure string   `json:"erasure,omitempty" jsonschema:"instead of items: the id of an erasure that is under way, to wait for"`
	Confirm string   `json:"confirm,omitempty" jsonschema:"what the first call returned, once the user agreed"`
}

// forgetItems erases items once they were confirmed: by the user, where the client can ask, or else by
// a second call with the confirmation that the first returned.
func (s *server) forgetItems(ctx context.Context, client *emitters.Emitter, req *sdk.CallToolRequest, in forgetInput) (*sdk.CallToolResult, error) {
	if in.Erasure != "" && len(in.Items) > 0 {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Field: "/erasure", Message: "give items or erasure, not both: nothing was erased"}
	}
	if in.Erasure != "" {
		return describeErasure(client.Erasure(ctx, in.Erasure))
	}
	if len(in.Items) == 0 {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Field: "/items", Message: "name at least one memory"}
	}
	switch answer := req.Params.InputResponses["erase"].(type) {
	case *sdk.ElicitResult:
		yes, _ := answer.Content["erase"].(bool)
		yes = yes && answer.Action == "accept"
		if !yes {
			was, err := s.unsealConfirmation(req.Params.RequestState, in)
			if err == nil {
				err = s.spendConfirmation(was)
			}
			if err != nil {
				return nil, err
			}
			return makeStructuredResult("Nothing was erased: it was not confirmed.", map[string]any{"erased": false}), nil
		}
		if err := s.useConfirmation(ctx, client, req.Params.RequestState, in); err != nil {
			return nil, err
		}
	default:
		if in.Confirm != "" {
			if err := s.useConfirmation(ctx, client, in.Confirm, in); err != nil {
				return nil, err
			}
			break
		}
		plan, err := client.Plan(ctx, in.Items)
		if err != nil {
			return nil, err
		}
		state, err := s.sealConfirmation(in, plan.Position)
		if err != nil {
			return nil, err
		}
		about := fmt.Sprintf("This erases %d memories for good, in every store: %s. With them go %d summaries, %d packs that show them and %d heavy contents.",
			len(in.Items), strings.Join(in.Items, ", "), len(plan.Summaries), plan.Packs, plan.Artifacts)
		if c := req.ClientCapabilities(); c != nil && c.Elicitation != nil {
			return &sdk.CallToolResult{RequestState: state, InputRequests: sdk.InputRequestMap{"erase": &sdk.ElicitParams{
				Message: about,
				RequestedSchema: &jsonschema.Schema{Type: "object", Required: []string{"erase"},
					Properties: map[string]*jsonschema.Schema{"erase": {Type: "boolean", Title: "Erase for good"}}},
			}}}, nil
		}
		return makeStructuredResult(about+" Ask the user. Then call forget again with the same items and reason, and confirm: "+state,
			map[string]any{"erased": false, "would_erase": plan, "confirm": state}), nil
	}
	return describeErasure(client.Forget(ctx, in.Items, in.Reason))
}

// describeErasure says what an erasure removed, or that it is under way.
func describeErasure(receipt schemas.ErasureReceipt, err error) (*sdk.CallToolResult, error) {
	var state *schemas.Error
	if errors.As(err, &state) && state.Code == schemas.CodeUnderWay {
		return makeStructuredResult("The erasure is under way and not finished. Call forget with erasure: "+state.Erasure+" to wait for it.", state), nil
	}
	if err != nil {
		return nil, err
	}
	lines := []string{"Erased: " + strings.Join(receipt.Items, ", ") + "."}
	for i := range receipt.Stores {
		st := &receipt.Stores[i]
		line := fmt.Sprintf("%s: removed %d", st.Store, st.Removed)
		if st.Absent {
			line += ", nothing left"
		}
		if len(st.Missing) > 0 {
			line += ", not finished while partition " + strings.Join(st.Missing, ", ") + " stands still"
		}
		lines = append(lines, line)
	}
	return makeStructuredResult(strings.Join(lines, "\n"), receipt), nil
}

// sealed is what a confirmation is bound to. No two are equal.
type sealed struct {
	Tenant, Principal, Reason string
	Items                     []string
	Position                  int64  // of the last entry that would go
	Until                     int64  // Unix seconds
	ID                        string // of the confirmation
}

func (s *server) sealConfirmation(in forgetInput, position int64) (string, error) {
	body, err := json.Marshal(sealed{s.Tenant, s.Principal, in.Reason, in.Items, position, s.Clock().Add(confirmFor).Unix(), s.id + rand.Text()})
	if err != nil {
		return "", fmt.Errorf("seal confirmation: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(body) + "." + base64.RawURLEncoding.EncodeToString(s.signBody(body)), nil
}

// useConfirmation uses a confirmation up: of the items as they were when it was asked for, and once.
func (s *server) useConfirmation(ctx context.Context, client *emitters.Emitter, state string, in forgetInput) error {
	was, err := s.unsealConfirmation(state, in)
	if err != nil {
		return err
	}
	plan, err := client.Plan(ctx, in.Items)
	if err != nil {
		return err
	}
	if plan.Position != was.Position {
		return newUnconfirmedError("is for these memories as they were: something was recorded since")
	}
	return s.spendConfirmation(was)
}

// unsealConfirmation checks that the state confirms what is asked for, and still does.
func (s *server) unsealConfirmation(state string, in forgetInput) (was sealed, err error) {
	head, tail, _ := strings.Cut(state, ".")
	body, err := base64.RawURLEncoding.DecodeString(head)
	mac, err2 := base64.RawURLEncoding.DecodeString(tail)
	if err != nil || err2 != nil || !hmac.Equal(mac, s.signBody(body)) || json.Unmarshal(body, &was) != nil || !strings.HasPrefix(was.ID, s.id) {
		return was, newUnconfirmedError("is not one of this server")
	}
	switch {
	case s.Clock().Unix() > was.Until:
		return was, newUnconfirmedError("has expired")
	case was.Tenant != s.Tenant, was.Principal != s.Principal, was.Reason != in.Reason, !slices.Equal(was.Items, in.Items):
		return was, newUnconfirmedError("is for other items, another reason or another principal")
	}
	return was, nil
}

// spendConfirmation uses a confirmation up: it counts once.
func (s *server) spendConfirmation(was sealed) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.Clock().Unix()
	maps.DeleteFunc(s.spent, func(_ string, until int64) bool { return now > until })
	if _, again := s.spent[was.ID]; again {
		return newUnconfirmedError("was used before")
	}
	s.spent[was.ID] = was.Until
	return nil
}

func newUnconfirmedError(why string) error {
	return &schemas.Error{Code: schemas.CodeValidation, Field: "/confirm", Message: "nothing was erased: the confirmation " + why + "; call forget without it first"}
}

func (s *server) signBody(body []byte) []byte {
	m := hmac.New(sha256.New, s.Key)
	m.Write(body)
	return m.Sum(nil)
}
