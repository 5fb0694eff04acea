package remote

import (
	"encoding/json"
	"fmt"
	"strings"

	"satchel/pipeline/model"
)

// dialect is which optional fields an endpoint takes. They differ: newer models refuse
// max_tokens for max_completion_tokens, and some take no temperature.
type dialect struct {
	completionTokens bool // the newer name of max_tokens
	noTemperature    bool
	noStop           bool
	noFormat         bool
}

// dropRefusedField returns the dialect that does not use the field the endpoint refused, and
// whether that is another one.
func (d dialect) dropRefusedField(field string) (dialect, bool) {
	before := d
	switch field {
	case "max_tokens":
		d.completionTokens = true
	case "temperature":
		d.noTemperature = true
	case "stop":
		d.noStop = true
	case "response_format":
		d.noFormat = true
	}
	return d, d != before
}

type wireMessage struct {
	Role    model.ChatRole `json:"role"`
	Content string         `json:"content"`
}

type wireFormat struct {
	Type string `json:"type"`
}

type wireRequest struct {
	Model               string        `json:"model"`
	Messages            []wireMessage `json:"messages"`
	MaxTokens           int           `json:"max_tokens,omitempty"`
	MaxCompletionTokens int           `json:"max_completion_tokens,omitempty"`
	Temperature         *float64      `json:"temperature,omitempty"`
	Stop                []string      `json:"stop,omitempty"`
	Format              *wireFormat   `json:"response_format,omitempty"`
	Stream              bool          `json:"stream"`
}

type wireAnswer struct {
	Model   string `json:"model"`
	Choices []struct {
		Message struct {
			Content string `json:"content"`
		} `json:"message"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		Prompt int `json:"prompt_tokens"`
		Answer int `json:"completion_tokens"`
	} `json:"usage"`
}

// wireFault is the body of a refusal. Its message may repeat what was asked, so only
// the name of the field at fault is read.
type wireFault struct {
	Error struct {
		Param string `json:"param"`
	} `json:"error"`
}

func encodeRequest(model string, req *model.ChatRequest, d dialect) ([]byte, error) {
	w := wireRequest{Model: model, Messages: make([]wireMessage, len(req.Messages))}
	for i, m := range req.Messages {
		w.Messages[i] = wireMessage{Role: m.Role, Content: strings.ToValidUTF8(m.Content, "\ufffd")}
	}
	if d.completionTokens {
		w.MaxCompletionTokens = req.MaxTokens
	} else {
		w.MaxTokens = req.MaxTokens
	}
	if !d.noTemperature {
		w.Temperature = &req.Temperature
	}
	if !d.noStop {
		w.Stop = req.Stop
	}
	if req.JSON && !d.noFormat {
		w.Format = &wireFormat{Type: "json_object"}
	}
	raw, err := json.Marshal(w)
	if err != nil {
		return nil, fmt.Errorf("encode question: %w", err)
	}
	return raw, nil
}

// decodeAnswer reads an answer; its errors say nothing of what it holds.
func decodeAnswer(raw []byte) (model.ChatAnswer, error) {
	var w wireAnswer
	if json.Unmarshal(raw, &w) != nil {
		return model.ChatAnswer{}, fmt.Errorf("answer is not the JSON of a chat completion")
	}
	if len(w.Choices) == 0 {
		return model.ChatAnswer{}, fmt.Errorf("answer has no choices")
	}
	text := strings.TrimSpace(w.Choices[0].Message.Content)
	if text == "" {
		return model.ChatAnswer{}, fmt.Errorf("answer is empty")
	}
	return model.ChatAnswer{
		Text: text, Model: w.Model, Truncated: w.Choices[0].FinishReason == "length",
		PromptTokens: max(0, w.Usage.Prompt), AnswerTokens: max(0, w.Usage.Answer),
	}, nil
}

// refusedField is the field that a refusal names, "" when it names none.
func refusedField(raw []byte) string {
	var f wireFault
	if json.Unmarshal(raw, &f) != nil {
		return ""
	}
	return f.Error.Param
}
