package command

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"satchel/emitters/gateway/mcp"
)

// lastAnswers is how long the end of the input waits for answers that are still to come.
const lastAnswers = 30 * time.Second

// answering is a transport over two streams that ends when the input has ended and every
// request was answered: a client may write all it has and close.
func answering(in io.ReadCloser, out io.WriteCloser) sdk.Transport {
	p := &pending{changed: make(chan struct{}, 1)}
	answers := &counted{WriteCloser: out, p: p}
	r, w := io.Pipe()
	go func() {
		lines := bufio.NewReader(in)
		for {
			line, err := lines.ReadBytes('\n')
			message := bytes.TrimSpace(line)
			refused := []byte(nil)
			if len(message) > 0 {
				refused = mcp.Refuse(message)
			}
			if refused != nil {
				_, _ = answers.send(append(refused, '\n')) // a client that is gone ends the input, too
			} else if len(message) > 0 {
				p.saw(line)
				if _, failed := w.Write(line); failed != nil {
					return
				}
			}
			if err != nil {
				p.wait()
				w.CloseWithError(err)
				return
			}
		}
	}()
	return &sdk.IOTransport{Reader: r, Writer: answers}
}

// pending counts requests that were not answered yet.
type pending struct {
	mu      sync.Mutex
	open    int
	changed chan struct{}
}

// saw counts a message: a request has an id and a method, its answer an id alone.
func (p *pending) saw(line []byte) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if json.Unmarshal(line, &m) != nil || len(m.ID) == 0 || string(m.ID) == "null" {
		return
	}
	p.mu.Lock()
	if m.Method != "" {
		p.open++
	} else {
		p.open--
	}
	p.mu.Unlock()
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

func (p *pending) wait() {
	limit := time.NewTimer(lastAnswers)
	defer limit.Stop()
	for {
		p.mu.Lock()
		open := p.open
		p.mu.Unlock()
		if open <= 0 {
			return
		}
		select {
		case <-p.changed:
		case <-limit.C:
			return
		}
	}
}

// counted is an output whose answers are counted. It is safe for concurrent use.
type counted struct {
	io.WriteCloser
	p  *pending
	mu sync.Mutex
}

// Write sends the answer to a request that was seen.
func (c *counted) Write(line []byte) (int, error) {
	n, err := c.send(line)
	c.p.saw(line)
	return n, err
}

// send sends a line.
func (c *counted) send(line []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.WriteCloser.Write(line)
}
