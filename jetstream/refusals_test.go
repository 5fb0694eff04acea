package jetstream

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestRefusalsOfOneThatGoesOnComeLate: a principal that asks again for each refusal hears of the
// first ones at once and then of few a second, however many it has under way; another hears of its
// own at once. Nothing waits beyond the deadline of its caller or the end of the service.
func TestRefusalsOfOneThatGoesOnComeLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r refusals
		sent, ending := map[string]int{}, false
		var refuse func(payer string)
		refuse = func(payer string) {
			j := &job{request: Call{Tenant: "acme", Payer: payer}, deadline: time.Now().Add(30 * time.Second)}
			again := func() {
				r.mu.Lock()
				sent[payer]++
				r.mu.Unlock()
				if !ending {
					refuse(payer)
				}
			}
			if !r.holdRefusal(j, time.Now(), again) {
				again()
			}
		}
		for range 800 {
			go refuse("flood")
		}
		const seconds = 60
		time.Sleep(seconds * time.Second)
		synctest.Wait()
		r.mu.Lock()
		if n := sent["flood"]; n < refusalsAtOnce+19*seconds || n > refusalsAtOnce+40*seconds {
			t.Errorf("%d refusals in %d s", n, seconds)
		}
		before := sent["flood"]
		r.mu.Unlock()
		refuseOnce := &job{request: Call{Tenant: "acme", Payer: "agent"}, deadline: time.Now().Add(time.Second)}
		if r.holdRefusal(refuseOnce, time.Now(), func() {}) {
			t.Error("the first refusal of another is held")
		}
		ending = true
		r.closeRefusals()
		if n := sent["flood"] - before; n != 800 {
			t.Errorf("%d of 800 refusals are sent at the end", n)
		}
		if r.holdRefusal(refuseOnce, time.Now(), func() {}) || r.held != 0 {
			t.Errorf("%d are held after the end", r.held)
		}
	})
}

// TestRefusalsAreBounded: beyond what may be held, a refusal is not sent.
func TestRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var r refusals
		sent := make(chan bool, 2*maxPrincipalHeld)
		for range cap(sent) {
			j := &job{request: Call{Tenant: "acme", Payer: "flood"}, deadline: time.Now().Add(time.Second)}
			if !r.holdRefusal(j, time.Now(), func() { sent <- true }) {
				sent <- true
			}
		}
		time.Sleep(2 * time.Minute)
		r.wait.Wait()
		if len(sent) != refusalsAtOnce+maxPrincipalHeld || r.held != 0 {
			t.Errorf("%d are sent", len(sent))
		}
		if r.holdRefusal(&job{request: Call{Tenant: "acme", Payer: "flood"}}, time.Now(), func() {}) {
			t.Error("what went on before is not forgotten")
		}
	})
}

// TestQueueRestsWhoHasManyWaiting: beside another that has few waiting, a principal that has many has a
// worker for an eighth of the time. Alone, and beside others like it, it has all of it.
func TestQueueRestsWhoHasManyWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(41)
		q.most, q.rest = 1, true
		served, ended := map[string]int{}, make(chan struct{})
		go func() {
			defer close(ended)
			for j, ok := q.takeRequest(); ok; j, ok = q.takeRequest() {
				time.Sleep(10 * time.Millisecond)
				q.releaseWorker(j)
				served[j.request.Payer]++
			}
		}()
		ask := func(payer string) {
			q.enqueueJob(askedBy("acme", payer, "", time.Now()))
		}
		beside := func(other string, each, seconds int) (flood int) {
			before := served["flood"]
			for i := range 100 * seconds {
				for range 5 {
					ask("flood")
				}
				if i%each == 0 {
					ask(other)
				}
				time.Sleep(10 * time.Millisecond)
				synctest.Wait()
			}
			return served["flood"] - before
		}
		if n := beside("flood", 1, 2); n < 190 {
			t.Errorf("%d of 200 served alone", n)
		}
		if n := beside("agent", 20, 8); n < 80 || n > 110 {
			t.Errorf("%d served beside another, want about an eighth of 800", n)
		}
		if served["agent"] != 40 {
			t.Errorf("%d of 40 served of the other", served["agent"])
		}
		beside("second", 1, 11) // until neither is light
		before := served["second"]
		if n := beside("second", 1, 4) + served["second"] - before; n < 390 {
			t.Errorf("%d of 400 served of two that have many waiting", n)
		}
		q.closeQueue()
		<-ended
		if len(q.lines) != 0 {
			t.Errorf("%d lines are left", len(q.lines))
		}
	})
}
