package qdrant

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	client "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"

	"satchel/pipeline/store/vector"
)

// The oldest server that guards an upsert by a filter.
const minMajor, minMinor = 1, 16

// vectorName names the points' vector.
const vectorName = "chunks"

// collectionName makes a name of a model: what is readable of it, and a hash of it all.
func collectionName(prefix, model string) string {
	const kept = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-."
	readable := strings.Map(func(r rune) rune {
		if strings.ContainsRune(kept, r) {
			return r
		}
		return '_'
	}, model)
	sum := sha256.Sum256([]byte(model))
	return prefix + "-" + readable[:min(len(readable), 80)] + "-" + hex.EncodeToString(sum[:4])
}

// prepareServer waits for the server to answer, then makes sure of all it needs. The wait is
// for an answer alone: a server with much to do may take its time to make a collection.
func (x *Index) prepareServer(ctx context.Context) error {
	if err := x.waitForServer(ctx); err != nil {
		return err
	}
	err := x.ensureCollection(ctx)
	if err == nil || errors.Is(err, ErrUnusable) {
		return err
	}
	switch findErrorCode(err) {
	case codes.Unauthenticated, codes.PermissionDenied:
		return x.explainUnusable(err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("open vector index: %w: the server at %s does not prepare collection %q: %s", ErrUnusable, x.host, x.name, messageOf(err))
}

// waitForServer waits until the server says which version it is.
func (x *Index) waitForServer(ctx context.Context) error {
	within, cancel := context.WithTimeout(ctx, x.cfg.ConnectWait)
	defer cancel()
	var last error // what an attempt that was cut off by the wait does not know
	for {
		health, err := x.client.HealthCheck(within)
		if err == nil {
			if !isRecentVersion(health.GetVersion()) {
				return fmt.Errorf("open vector index: %w: the server at %s is Qdrant %s, at least %d.%d is needed", ErrUnusable, x.host, health.GetVersion(), minMajor, minMinor)
			}
			return nil
		}
		if !canRetry(err) {
			return x.explainUnusable(err)
		}
		if last == nil || within.Err() == nil {
			last = err
		}
		if pauseUnlessDone(within, 250*time.Millisecond) != nil {
			return x.explainUnusable(errors.Join(ctx.Err(), last))
		}
	}
}

// ensureCollection checks rights, and creates what is missing.
func (x *Index) ensureCollection(ctx context.Context) error {
	var there bool
	var info *client.CollectionInfo
	steps := []func(ctx context.Context) error{
		func(ctx context.Context) (err error) {
			there, err = x.client.CollectionExists(ctx, x.name)
			return err
		},
		func(ctx context.Context) error {
			if there {
				return nil
			}
			if err := x.client.CreateCollection(ctx, x.describeCollection()); findErrorCode(err) != codes.AlreadyExists {
				return err
			}
			return nil // another process was faster, or this one's first try
		},
		func(ctx context.Context) (err error) {
			info, err = x.client.GetCollectionInfo(ctx, x.name)
			return err
		},
	}
	for _, step := range steps {
		if err := x.callForWrite(ctx, step); err != nil {
			return err
		}
	}
	if err := x.checkVectors(info); err != nil {
		return err
	}
	for _, i := range listIndexes() {
		if _, there := info.GetPayloadSchema()[i.field]; there {
			continue
		}
		err := x.callForWrite(ctx, func(ctx context.Context) error {
			_, err := x.client.CreateFieldIndex(ctx, &client.CreateFieldIndexCollection{CollectionName: x.name, Wait: client.PtrOf(true),
				FieldName: i.field, FieldType: i.kind.Enum(), FieldIndexParams: i.params})
			return err
		})
		if err != nil {
			return err
		}
	}
	// A key that may only read is found out here, not by the first memory.
	return x.removePoints(ctx, &client.Filter{Must: []*client.Condition{client.NewMatchKeyword(fieldTenant, "")}})
}

// describeCollection is what is created: vectors graphs are built for each tenant, none for all.
func (x *Index) describeCollection() *client.CreateCollection {
	c := &client.CreateCollection{
		CollectionName: x.name,
		HnswConfig:     &client.HnswConfigDiff{M: client.PtrOf(uint64(0)), PayloadM: client.PtrOf(uint64(16))},
		VectorsConfig: client.NewVectorsConfigMap(map[string]*client.VectorParams{vectorName: {
			Size: uint64(x.cfg.Dimensions), Distance: client.Distance_Dot,
			MultivectorConfig: &client.MultiVectorConfig{Comparator: client.MultiVectorComparator_MaxSim},
		}}),
		ReplicationFactor: client.PtrOf(uint32(x.cfg.Replicas)),
	}
	if x.cfg.Quantisation == Int8 {
		c.QuantizationConfig = client.NewQuantizationScalar(&client.ScalarQuantization{
			Type: client.QuantizationType_Int8, Quantile: client.PtrOf(float32(.99)), AlwaysRam: client.PtrOf(true)})
	}
	return c
}

// checkVectors refuses a collection that holds vectors of another kind.
func (x *Index) checkVectors(info *client.CollectionInfo) error {
	params, ok := info.GetConfig().GetParams().GetVectorsConfig().GetParamsMap().GetMap()[vectorName]
	if !ok || params.GetMultivectorConfig() == nil || params.GetDistance() != client.Distance_Dot {
		return fmt.Errorf("open vector index: %w: collection %q on %s was not made by Satchel; name another one", ErrUnusable, x.name, x.host)
	}
	if params.GetSize() != uint64(x.cfg.Dimensions) {
		return fmt.Errorf("open vector index: %w: collection %q on %s holds vectors of %d numbers, the embedding model makes %d: name another collection, or another model: %w",
			ErrUnusable, x.name, x.host, params.GetSize(), x.cfg.Dimensions, vector.ErrDimension)
	}
	return nil
}

// index is that of one payload field. Every field of a condition has one, as a server may
// refuse conditions on others.
type index struct {
	field  string
	kind   client.FieldType
	params *client.PayloadIndexParams
}

func listIndexes() []index {
	list := []index{{fieldTenant, client.FieldType_FieldTypeKeyword, client.NewPayloadIndexParamsKeyword(&client.KeywordIndexParams{IsTenant: client.PtrOf(true)})},
		{fieldKey, client.FieldType_FieldTypeUuid, nil}, {fieldAxis, client.FieldType_FieldTypeKeyword, nil}}
	for _, f := range []string{fieldAt, fieldDraw, fieldCheckpoint, "level", "pii", "credentials"} {
		list = append(list, index{f, client.FieldType_FieldTypeInteger, nil})
	}
	for _, f := range []string{"trust", "sensitivity"} {
		list = append(list, index{f, client.FieldType_FieldTypeFloat, nil})
	}
	for _, f := range []string{"kind", "type", "category", "session", "labels", "groups", "purposes", "signer"} {
		list = append(list, index{f, client.FieldType_FieldTypeKeyword, nil})
	}
	return list
}

// explainUnusable turns an error at the start into a sentence that says what to change.
func (x *Index) explainUnusable(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	says := ""
	switch findErrorCode(err) {
	case codes.Unauthenticated:
		says = "the server at " + x.host + " refuses the API key, or wants one"
	case codes.PermissionDenied:
		says = fmt.Sprintf("the API key has no right to create or write collection %q on %s", x.name, x.host)
	case codes.Unimplemented, codes.Unknown:
		says = "what answers at " + x.host + " is no Qdrant"
	default:
		says = "the server at " + x.host + " cannot be reached by gRPC (" + findErrorCode(err).String() + ")"
		if strings.HasSuffix(x.host, ":6333") {
			says += "; 6333 is the port of its REST interface, gRPC is usually on 6334"
		}
	}
	return fmt.Errorf("open vector index: %w: %s", ErrUnusable, says)
}

// isRecentVersion reports whether a version is new enough.
func isRecentVersion(version string) bool {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, err := strconv.Atoi(major)
	b, err2 := strconv.Atoi(minor)
	return err == nil && err2 == nil && (a > minMajor || a == minMajor && b >= minMinor)
}
