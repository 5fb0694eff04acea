package mcp

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
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
	Items   []string `json:"items" jsonschema:"ids of memories"`
	Reason  string   `json:"reason"`
	Confirm string   `json:"confirm,omitempty" jsonschema:"what the first call returned, once the user agreed"`
}

// forget erases items once they were confirmed: by the user, where the client can ask, or else by
// a second call with the confirmation that the first returned.
func (s *server) forget(ctx context.Context, client *emitters.Emitter, req *sdk.CallToolRequest, in forgetInput) (*sdk.CallToolResult, error) {
	if len(in.Items) == 0 {
		return nil, &schemas.Error{Code: schemas.CodeValidation, Field: "/items", Message: "name at least one memory"}
	}
	switch answer := req.Params.InputResponses["erase"].(type) {
	case *sdk.ElicitResult:
		if err := s.unseal(req.Params.RequestState, in); err != nil {
			return nil, err
		}
		if yes, _ := answer.Content["erase"].(bool); answer.Action != "accept" || !yes {
			return structured("Nothing was erased: it was not confirmed.", map[string]any{"erased": false}), nil
		}
	default:
		if in.Confirm != "" {
			if err := s.unseal(in.Confirm, in); err != nil {
				return nil, err
			}
			break
		}
		plan, err := client.Plan(ctx, in.Items)
		if err != nil {
			return nil, err
		}
		state, err := s.seal(in)
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
		return structured(about+" Ask the user. Then call forget again with the same items and reason, and confirm: "+state,
			map[string]any{"erased": false, "would_erase": plan, "confirm": state}), nil
	}
	receipt, err := client.Forget(ctx, in.Items, in.Reason)
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
		lines = append(lines, line)
	}
	return structured(strings.Join(lines, "\n"), receipt), nil
}

// sealed is what a confirmation is bound to.
type sealed struct {
	Tenant, Principal, Reason string
	Items                     []string
	Until                     int64 // Unix seconds
}

func (s *server) seal(in forgetInput) (string, error) {
	body, err := json.Marshal(sealed{s.Tenant, s.Principal, in.Reason, in.Items, s.Clock().Add(confirmFor).Unix()})
	if err != nil {
		return "", fmt.Errorf("seal confirmation: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(body) + "." + base64.RawURLEncoding.EncodeToString(s.mac(body)), nil
}

// unseal checks that the state confirms what is asked for, and still does.
func (s *server) unseal(state string, in forgetInput) error {
	wrong := func(why string) error {
		return &schemas.Error{Code: schemas.CodeValidation, Field: "/confirm", Message: "nothing was erased: the confirmation " + why + "; call forget without it first"}
	}
	head, tail, _ := strings.Cut(state, ".")
	body, err := base64.RawURLEncoding.DecodeString(head)
	mac, err2 := base64.RawURLEncoding.DecodeString(tail)
	if err != nil || err2 != nil || !hmac.Equal(mac, s.mac(body)) {
		return wrong("is not one of this server")
	}
	var was sealed
	if err := json.Unmarshal(body, &was); err != nil {
		return wrong("is not one of this server")
	}
	if s.Clock().Unix() > was.Until {
		return wrong("has expired")
	}
	now, err := json.Marshal(sealed{s.Tenant, s.Principal, in.Reason, in.Items, was.Until})
	if err != nil || string(now) != string(body) {
		return wrong("is for other items, another reason or another principal")
	}
	return nil
}

func (s *server) mac(body []byte) []byte {
	m := hmac.New(sha256.New, s.Key)
	m.Write(body)
	return m.Sum(nil)
}
