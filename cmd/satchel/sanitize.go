package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/google/uuid"

	"satchel/pipeline"
	"satchel/pipeline/isolation/artifact"
	"satchel/pipeline/pii"
	"satchel/pipeline/write"
	"satchel/worker"
)

// openDetector returns the detector of personal data that the settings ask for.
func (a *app) openDetector() (*pii.Detector, error) {
	cfg := pii.Config{Regions: a.PIIRegion}
	for _, t := range a.PIITypes {
		cfg.Types = append(cfg.Types, pii.Type(t))
	}
	d, err := pii.New(cfg)
	if err != nil {
		return nil, &usageError{err}
	}
	return d, nil
}

// openSanitizer returns what meets the obligations of policy decisions. With keep a
// secret key that is missing is made and kept; without, it is made for this call.
func (a *app) openSanitizer(random io.Reader, keep bool) (*pii.Sanitizer, error) {
	d, err := a.openDetector()
	if err != nil {
		return nil, err
	}
	key, err := a.secretKey(random, keep)
	if err != nil {
		return nil, err
	}
	names, err := pii.NewPseudonyms(key)
	if err != nil {
		return nil, usagef("read the secret key: it needs 32 bytes")
	}
	return pii.NewSanitizer(d, names, nil), nil
}

// openIsolation gives the engine what meets obligations and makes handles.
func (a *app) openIsolation(engine *pipeline.Config, o nodeOptions) (err error) {
	if engine.Sanitizer, err = a.openSanitizer(o.rand, true); err != nil {
		return err
	}
	engine.Handles, err = a.openSealer(o)
	return err
}

// openDesk returns what stores and opens artifacts.
func (a *app) openDesk(n *node, engine *pipeline.Config, artifacts worker.Artifacts, o nodeOptions) (*worker.Desk, error) {
	return worker.NewDesk(worker.DeskConfig{Service: n.worker.Service, Sealer: engine.Handles, Artifacts: artifacts, Sanitizer: engine.Sanitizer,
		OnFound: write.OnFound(a.OnWrite), IDs: newID(o.newID)})
}

// openSealer returns what makes and reads the handles of artifacts.
func (a *app) openSealer(o nodeOptions) (*artifact.Sealer, error) {
	key, err := a.secretKey(o.rand, true)
	if err != nil {
		return nil, err
	}
	sealer, err := artifact.New(artifact.Config{Key: key, TTL: time.Duration(a.HandleTTL) * time.Second, Clock: o.clock, IDs: newID(o.newID)})
	if err != nil {
		return nil, &usageError{err}
	}
	return sealer, nil
}

// newID is what makes ids: own, or else a UUIDv7.
func newID(own func() string) func() string {
	if own != nil {
		return own
	}
	return func() string { return uuid.Must(uuid.NewV7()).String() }
}

// secretKey reads the key that pseudonyms and artifact handles are made with.
func (a *app) secretKey(random io.Reader, keep bool) ([]byte, error) {
	path := a.Secret
	if path == "" {
		path = a.path("keys", "secret.key")
	}
	key, err := os.ReadFile(path)
	switch {
	case err == nil:
		return key, nil
	case !errors.Is(err, os.ErrNotExist) || a.Secret != "":
		return nil, usagef("read the secret key: %v", err)
	}
	if random == nil {
		random = rand.Reader
	}
	key = make([]byte, 32)
	if _, err := io.ReadFull(random, key); err != nil {
		return nil, fmt.Errorf("make the secret key: %w", err)
	}
	if !keep {
		return key, nil
	}
	if err := os.MkdirAll(a.path("keys"), 0o700); err != nil {
		return nil, fmt.Errorf("make the secret key: %w", err)
	}
	whole := path + ".new"
	if err := os.WriteFile(whole, key, 0o600); err != nil {
		return nil, fmt.Errorf("write the secret key: %w", err)
	}
	if err := os.Rename(whole, path); err != nil {
		return nil, fmt.Errorf("write the secret key: %w", err)
	}
	return os.ReadFile(path)
}
