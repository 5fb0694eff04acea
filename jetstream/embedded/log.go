package embedded

import (
	"fmt"
	"log/slog"
	"sync"
)

// serverLog hands the server's log to slog and remembers why it refused to start.
type serverLog struct {
	log   *slog.Logger
	mu    sync.Mutex
	fatal string
}

func (l *serverLog) readFatalCause() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}

// Noticef logs at debug level: the server is chatty.
func (l *serverLog) Noticef(format string, v ...any) { l.log.Debug(formatLogText(format, v)) }

// Warnf logs a warning.
func (l *serverLog) Warnf(format string, v ...any) { l.log.Warn(formatLogText(format, v)) }

// Errorf logs an error.
func (l *serverLog) Errorf(format string, v ...any) { l.log.Error(formatLogText(format, v)) }

// Fatalf remembers the first refusal; Start returns it.
func (l *serverLog) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatal == "" {
		l.fatal = fmt.Sprintf(format, v...)
	}
}

// Debugf is not used: the server's debug log is off.
func (l *serverLog) Debugf(string, ...any) {}

// Tracef is not used: the server's trace would hold content.
func (l *serverLog) Tracef(string, ...any) {}

func formatLogText(format string, v []any) string { return "nats-server: " + fmt.Sprintf(format, v...) }
