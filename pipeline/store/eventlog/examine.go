package eventlog

import (
	"context"
	"errors"
	"sync"
	"time"
)

// indexChecker is a Reader of a database that does not find out itself when one of its
// indexes is damaged. CheckIndexes returns a *VerifyError for the first of at most limit
// positions above after to whose row the indexes do not lead, or whose source and id
// another row has, too.
type indexChecker interface {
	CheckIndexes(tenant string, after int64, limit int) error
}

func checkIndexes(r Reader, tenant string, after int64, limit int) error {
	if c, ok := r.(indexChecker); ok {
		return c.CheckIndexes(tenant, after, limit)
	}
	return nil
}

// damages are the tenants whose log was found damaged. Safe for concurrent use.
type damages struct {
	mu sync.RWMutex
	by map[string]error // "": the tenants themselves, so that every log is
}

// Damaged returns what Examine found in a tenant's log, nil before it has found anything.
func (l *Log) Damaged(tenant string) error {
	l.damaged.mu.RLock()
	defer l.damaged.mu.RUnlock()
	if err := l.damaged.by[""]; err != nil {
		return err
	}
	return l.damaged.by[tenant]
}

func (d *damages) noteDamage(tenant string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.by == nil {
		d.by = map[string]error{}
	}
	d.by[tenant] = err
}

// Examine asks of every entry there is whether the database's indexes lead to it. Leaf and
// commitment tell a row that was changed whenever it is read; a damaged index says of an
// entry that there is none, so that it would be logged again. What is damaged is closed:
// from then on appending to that tenant's log, erasing from it and looking an entry up by
// source and id, subject or shown item return what was found, as Damaged does. A damaged
// list of tenants closes all logs. Examine returns the first finding, which is ErrCorrupt,
// after it has looked at all tenants.
//
// It reads as many entries a step as Verify does and then pauses as long as that took, so
// that others read and write meanwhile. Of a database that checks its own indexes it
// examines nothing.
func (l *Log) Examine(ctx context.Context) error {
	tenants, err := l.Tenants(ctx)
	if errors.Is(err, ErrCorrupt) {
		l.damaged.noteDamage("", err)
	}
	if err != nil {
		return err
	}
	var first error
	for _, tenant := range tenants {
		switch err := l.examineTenant(ctx, tenant); {
		case errors.Is(err, ErrCorrupt):
			l.damaged.noteDamage(tenant, err)
			if first == nil {
				first = err
			}
		case err != nil:
			return errors.Join(first, err)
		}
	}
	return first
}

func (l *Log) examineTenant(ctx context.Context, tenant string) error {
	head, err := view(ctx, l.driver, func(r Reader) (Head, error) { return headOf(r, tenant) })
	if err != nil {
		return err
	}
	pause := time.NewTimer(0)
	defer pause.Stop()
	for after := int64(0); after < head.Size; after += verifyStep {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-pause.C:
		}
		began := time.Now()
		checks := false
		err := l.driver.View(ctx, func(r Reader) error {
			_, checks = r.(indexChecker)
			return checkIndexes(r, tenant, after, verifyStep)
		})
		if err != nil || !checks {
			return err
		}
		pause.Reset(time.Since(began))
	}
	return nil
}
