package app

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"

	"satchel/cmd/internal/config"
	"satchel/pipeline"
	"satchel/pipeline/isolation"
	"satchel/pipeline/pii"
	"satchel/pipeline/selection/defend"
	"satchel/pipeline/write"
	"satchel/worker/service"
	"satchel/worker/transport"
)

// Defend is how the engine treats what looks injected.
func (a *App) Defend() defend.Config {
	out := defend.Config{Injection: defend.InjectionMode(a.Injection), Unread: defend.UnreadMode(a.Unread), Confidence: a.Doubted}
	if out.Confidence == 0 {
		out.Confidence = -1 // to the defenses 0 is their default
	}
	return out
}

// openDetector returns the detector of personal data that the settings ask for.
func (a *App) openDetector() (*pii.Detector, error) {
	cfg := pii.Config{Regions: a.PIIRegion}
	for _, t := range a.PIITypes {
		cfg.Types = append(cfg.Types, pii.Type(t))
	}
	d, err := pii.New(cfg)
	if err != nil {
		return nil, &config.UsageError{Err: err}
	}
	return d, nil
}

// OpenSanitizer returns what meets the obligations of policy decisions.
func (a *App) OpenSanitizer() (*pii.Sanitizer, error) {
	d, err := a.openDetector()
	if err != nil {
		return nil, err
	}
	key, err := a.secretKey()
	if err != nil {
		return nil, err
	}
	names, err := pii.NewPseudonyms(key)
	if err != nil {
		return nil, config.Usagef("read the secret key: it needs 32 bytes")
	}
	return pii.NewSanitizer(d, names, nil), nil
}

// openIsolation gives the engine what meets obligations and makes handles.
func (a *App) openIsolation(n *Node, engine *pipeline.Config, o NodeOptions) (err error) {
	engine.Sanitizer = n.public
	engine.Handles, err = a.openSealer(o)
	return err
}

// openArtifacts returns what stores and opens artifacts.
func (a *App) openArtifacts(n *Node, engine *pipeline.Config, artifacts transport.Artifacts, o NodeOptions) (*service.Artifacts, error) {
	return service.NewArtifacts(service.ArtifactsConfig{Service: n.Worker.Service, Sealer: engine.Handles, Artifacts: artifacts, Sanitizer: engine.Sanitizer,
		OnFound: write.OnFound(a.OnWrite), IDs: newID(o.NewID)})
}

// openSealer returns what makes and reads the handles of artifacts.
func (a *App) openSealer(o NodeOptions) (*isolation.Sealer, error) {
	key, err := a.secretKey()
	if err != nil {
		return nil, err
	}
	sealer, err := isolation.NewSealer(isolation.SealerConfig{Key: key, TTL: time.Duration(a.HandleTTL) * time.Second, Clock: o.Clock, IDs: newID(o.NewID)})
	if err != nil {
		return nil, &config.UsageError{Err: err}
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

// secretKey returns the key that pseudonyms and artifact handles are made with: that of the
// file that is set, or of keys/secret.key where there is one, or else one derived from the key
// that signs the log, so that workers that share a log share this, too. Where there is neither
// it is for this call alone.
func (a *App) secretKey() ([]byte, error) {
	path := a.Secret
	if path == "" {
		path = a.Path("keys", "secret.key")
	}
	key, err := os.ReadFile(path)
	switch {
	case err == nil:
		return key, nil
	case !errors.Is(err, os.ErrNotExist) || a.Secret != "":
		return nil, config.Usagef("read the secret key: %v", err)
	}
	signing, err := os.ReadFile(a.Path("keys", "log.key"))
	switch {
	case errors.Is(err, os.ErrNotExist):
		signing = []byte(rand.Text())
	case err != nil:
		return nil, fmt.Errorf("read log key: %w", err)
	}
	key, err = hkdf.Key(sha256.New, signing, nil, "satchel: pseudonyms and handles", 32)
	if err != nil {
		return nil, fmt.Errorf("derive the secret key: %w", err)
	}
	return key, nil
}
