// Chat is the port through which a language model is asked for text.
//
// It owns what a question and an answer are and which errors a caller can tell
// apart; drivers live in its subfolders and pass the suite in chattest. Nothing in
// Satchel needs a model: whoever asks one has a way on when it gives no answer, and
// treats what it says as untrusted text. What is asked is what a caller was allowed
// to see, for it leaves the process.

package model

import (
	"context"
	"errors"
)

var (
	// ErrChatUnavailable is returned when the model gave no answer: not reached, too slow,
	// overloaded or failing. The same question may be answered later.
	ErrChatUnavailable = errors.New("model is unavailable")
	// ErrRefused is returned when the endpoint will not answer this question, or this
	// caller, however often it is asked.
	ErrRefused = errors.New("model refused the request")
)

// ChatRole says whose words a message is.
type ChatRole string

// The roles of a message.
const (
	System    ChatRole = "system"
	User      ChatRole = "user"
	Assistant ChatRole = "assistant"
)

// ChatMessage is one turn of the conversation with the model.
type ChatMessage struct {
	Role    ChatRole
	Content string
}

// ChatRequest is one question. Only Messages is required.
type ChatRequest struct {
	Messages []ChatMessage
	// MaxTokens bounds the answer; 0 is the driver's default.
	MaxTokens int
	// Temperature of the sampling; 0 is the least random answer.
	Temperature float64
	// Stop ends the answer before any of these texts.
	Stop []string
	// JSON asks for an answer that is one JSON object; the messages must ask for it too.
	// A model may still answer otherwise.
	JSON bool
}

// ChatAnswer is what the model said.
type ChatAnswer struct {
	Text  string
	Model string // that answered, by its own name
	// Truncated is set when the answer ended at MaxTokens.
	Truncated bool
	// PromptTokens and AnswerTokens are the endpoint's count; 0 when it gives none.
	PromptTokens, AnswerTokens int
}

// Chat answers. An implementation MUST be safe for concurrent use.
type Chat interface {
	// Name is the model that is asked for; it MUST NOT change between calls.
	Name() string
	// Complete returns the answer to one question, which is never the empty text. An
	// error is ErrUnavailable, ErrRefused, or ctx.Err when the caller went away first;
	// it MUST NOT hold anything of the messages, of the answer or of a secret.
	Complete(ctx context.Context, req ChatRequest) (ChatAnswer, error)
}
