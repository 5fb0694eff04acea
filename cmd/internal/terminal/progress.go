package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// ProgressBar shows progress of anything over a second: a bar on a terminal, a line every ten
// percent elsewhere. It writes to standard error, so that output stays clean.
type ProgressBar struct {
	w     io.Writer
	what  string
	live  bool
	start time.Time

	mu    sync.Mutex
	drawn time.Time
	tenth int64
}

// NewProgressBar returns a bar of what is done, on w.
func NewProgressBar(w io.Writer, what string) *ProgressBar {
	w = Beneath(w)
	f, ok := w.(*os.File)
	return &ProgressBar{w: w, what: what, live: ok && term.IsTerminal(int(f.Fd())), start: time.Now()}
}

// Set shows done of total.
func (b *ProgressBar) Set(done, total int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if total <= 0 || now.Sub(b.start) < time.Second {
		return
	}
	if !b.live {
		if tenth := done * 10 / total; tenth > b.tenth {
			b.tenth = tenth
			fmt.Fprintf(b.w, "%s: %d %%, %d of %d\n", b.what, tenth*10, done, total)
		}
		return
	}
	if now.Sub(b.drawn) < 100*time.Millisecond && done < total {
		return
	}
	b.drawn = now
	const width = 30
	full := int(done * width / total)
	left := ""
	if done > 0 && done < total {
		left = fmt.Sprintf(", %s left", (time.Duration(float64(now.Sub(b.start)) * float64(total-done) / float64(done))).Round(time.Second))
	}
	fmt.Fprintf(b.w, "\r%s [%s%s] %d/%d%s   ", b.what, strings.Repeat("#", full), strings.Repeat(".", width-full), done, total, left)
}

// End clears the bar.
func (b *ProgressBar) End() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.live && !b.drawn.IsZero() {
		fmt.Fprint(b.w, "\r"+strings.Repeat(" ", 100)+"\r")
	}
}
