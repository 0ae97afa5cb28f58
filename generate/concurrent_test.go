package generate_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// generated is everything that a request returns.
type generated struct {
	pieces []generate.Piece
	result generate.Result
}

func get(t *testing.T, g *generate.Generator, r generate.Request) generated {
	var all generated
	result, err := g.Generate(context.Background(), r, func(p generate.Piece) error {
		all.pieces = append(all.pieces, p)
		return nil
	})
	assert.NoError(t, err)
	all.result = timeless(result)
	return all
}

// mixedRequests returns requests that differ in prompt, length, sampling and what they ask for.
func mixedRequests(vocab, n int) []generate.Request {
	draw := rand.New(rand.NewPCG(3, 4))
	requests := make([]generate.Request, n)
	for i := range requests {
		r := generate.Request{Tokens: 1 + draw.IntN(25), Seed: uint64(i), LogProbs: i % 3, Slide: true}
		r.Echo, r.PromptLogProbs = r.LogProbs > 0, r.LogProbs > 0 && i%2 == 0
		if i%4 > 0 {
			r.Temperature = 1
		}
		if i%5 == 0 {
			r.Tokens = 0
		}
		for range 1 + draw.IntN(40) {
			r.IDs = append(r.IDs, int32(draw.IntN(vocab)))
		}
		requests[i] = r
	}
	return requests
}

// TestOthersChangeNothing: for every design of the zoo, a request gets the same tokens, and the
// same log probabilities to the last bit, alone and among other requests.
func TestOthersChangeNothing(t *testing.T) {
	for _, p := range modeltest.Small(models.Standard()) {
		t.Run(p.Name, func(t *testing.T) {
			spec := modeltest.Resolve(t, p.Config)
			store := modeltest.PerturbedStore(t, spec, tensor.Float32)
			requests := mixedRequests(spec.Vocab, 12)
			alone, err := generate.New(store, spec, nil, generate.Options{Threads: 1, Rows: 1})
			require.NoError(t, err)
			defer alone.Close()
			g, err := generate.New(store, spec, nil, generate.Options{Threads: 1, Rows: 5})
			require.NoError(t, err)
			defer g.Close()
			want, got := make([]generated, len(requests)), make([]generated, len(requests))
			var all sync.WaitGroup
			for i, r := range requests {
				want[i] = get(t, alone, r)
				all.Go(func() { got[i] = get(t, g, r) })
			}
			all.Wait()
			for i := range requests {
				require.Equal(t, want[i], got[i], "request %d", i)
			}
		})
	}
}

// TestPromptsAreReadAsAWhole: the log probabilities of long prompts, read many tokens at a time by
// programs of several sizes, equal those of a program without a cache.
func TestPromptsAreReadAsAWhole(t *testing.T) {
	c := tinyVector(models.PositionsRoPE)
	c.Seq = 400
	store, spec := wildStore(t, c), resolved(t, c)
	for _, p := range store.Params() { // logits of a size that float32 tells apart
		for i, values := 0, p.Value.Float32s(); i < len(values); i++ {
			values[i] *= 0.3
		}
	}
	g, err := generate.New(store, spec, nil, generate.Options{Threads: 2})
	require.NoError(t, err)
	defer g.Close()
	for _, n := range []int{1, 2, 16, 17, 30, 64, 129, 256, 257, 299, 400} {
		ids := mixedIDs(n)
		got := get(t, g, generate.Request{IDs: ids, Echo: true, LogProbs: 1, PromptLogProbs: true})
		require.Len(t, got.pieces, 1)
		want := logProbs(t, store, spec, ids)
		for i, token := range got.pieces[0].Tokens {
			require.Equal(t, ids[i], token.ID)
			require.InDelta(t, want[i], token.LogProb, 1e-5*math.Max(1, math.Abs(want[i])), "token %d of %d", i, n)
		}
	}
}

func mixedIDs(n int) []int32 {
	draw, ids := rand.New(rand.NewPCG(5, uint64(n))), make([]int32, n)
	for i := range ids {
		ids[i] = int32(draw.IntN(257))
	}
	return ids
}

// logProbs returns the log probability of each token, 0 for the first, from a program without a
// cache.
func logProbs(t *testing.T, store *graph.Store, spec models.Spec, ids []int32) []float64 {
	p, err := models.Compile(spec, 1, len(ids), models.Outputs{TokenLosses: true}, graph.ProgramOptions{Options: graph.Options{Store: store, Threads: 1}})
	require.NoError(t, err)
	defer p.Close()
	copy(p.Tokens, ids)
	copy(p.Targets, ids[1:])
	require.NoError(t, p.Run(graph.RunOptions{}))
	losses, err := graph.Value(p.TokenLosses)
	require.NoError(t, err)
	all := []float64{0}
	for _, loss := range graph.Float64s(losses)[:len(ids)-1] {
		all = append(all, -loss)
	}
	return all
}

// slowGenerator returns a Generator that takes a moment for each token, so that requests overlap.
func slowGenerator(t *testing.T, o generate.Options) *generate.Generator {
	c := tiny(models.PositionsALiBi)
	g, err := generate.New(freshStore(t, c), resolved(t, c), nil, o)
	require.NoError(t, err)
	return g
}

// endless returns a request that runs for a very long time.
func endless() generate.Request { return generate.Request{IDs: []int32{1}, Tokens: 1 << 30} }

// begin starts a request and returns once it is running; the channel gets its error when it has
// ended.
func begin(ctx context.Context, g *generate.Generator) chan error {
	ended, first := make(chan error, 1), make(chan struct{})
	var once sync.Once
	go func() {
		_, err := g.Generate(ctx, endless(), func(generate.Piece) error {
			once.Do(func() { close(first) })
			return nil
		})
		ended <- err
	}()
	<-first
	return ended
}

// TestFullQueueIsBusy: when the queue is full, another request is refused at once; requests that
// leave the queue make room.
func TestFullQueueIsBusy(t *testing.T) {
	g := slowGenerator(t, generate.Options{Threads: 1, Rows: 1, Queue: 2})
	defer g.Close()
	ctx, cancel := context.WithCancel(context.Background())
	running := begin(ctx, g)
	waitingContext, leave := context.WithCancel(context.Background())
	waiting := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := g.Generate(waitingContext, endless(), nil)
			waiting <- err
		}()
	}
	require.Eventually(t, func() bool { return g.Accepted() == 3 }, 10*time.Second, time.Millisecond)
	_, err := g.Generate(context.Background(), endless(), nil)
	require.Equal(t, generate.ErrBusy, err)
	leave()
	assert.ErrorIs(t, <-waiting, context.Canceled)
	assert.ErrorIs(t, <-waiting, context.Canceled)
	cancel()
	assert.ErrorIs(t, <-running, context.Canceled)
	result, err := g.Generate(context.Background(), generate.Request{IDs: []int32{1}, Tokens: 3}, nil)
	require.NoError(t, err)
	assert.Equal(t, 3, result.Tokens)
}

// TestASlowReaderHoldsUpNobody: a reader whose emit does not return, or who has gone, delays no
// other request.
func TestASlowReaderHoldsUpNobody(t *testing.T) {
	g := slowGenerator(t, generate.Options{Threads: 1, Rows: 2})
	defer g.Close()
	stuck, release := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	var once sync.Once
	go func() {
		_, err := g.Generate(context.Background(), generate.Request{IDs: []int32{2}, Tokens: 20}, func(generate.Piece) error {
			once.Do(func() { close(stuck) })
			<-release
			return nil
		})
		ended <- err
	}()
	<-stuck
	var all sync.WaitGroup
	for i := range 6 { // more than the rows
		all.Go(func() {
			result, err := g.Generate(context.Background(), generate.Request{IDs: []int32{3}, Tokens: 10 + i}, nil)
			assert.NoError(t, err)
			assert.Equal(t, 10+i, result.Tokens)
		})
	}
	all.Wait()
	close(release)
	require.NoError(t, <-ended)
	full := fmt.Errorf("disk full")
	_, err := g.Generate(context.Background(), endless(), func(generate.Piece) error { return full })
	assert.Equal(t, full, err)
}

// TestCloseLetsRequestsEnd: running and waiting requests end; new ones are refused.
func TestCloseLetsRequestsEnd(t *testing.T) {
	g := slowGenerator(t, generate.Options{Threads: 1, Rows: 1})
	ctx, cancel := context.WithCancel(context.Background())
	running := begin(ctx, g)
	waiting := make(chan generate.Result, 1)
	go func() {
		result, err := g.Generate(context.Background(), generate.Request{IDs: []int32{4}, Tokens: 7}, nil)
		assert.NoError(t, err)
		waiting <- result
	}()
	require.Eventually(t, func() bool { return g.Accepted() == 2 }, 10*time.Second, time.Millisecond)
	closed := make(chan struct{})
	go func() {
		g.Close()
		close(closed)
	}()
	require.Eventually(t, func() bool {
		short, end := context.WithTimeout(context.Background(), time.Millisecond)
		defer end()
		_, err := g.Generate(short, endless(), nil)
		return err == generate.ErrClosed
	}, 10*time.Second, time.Millisecond)
	cancel()
	assert.ErrorIs(t, <-running, context.Canceled)
	assert.Equal(t, 7, (<-waiting).Tokens)
	<-closed
	g.Close() // a second time
}

// TestManyClients starts many requests, some of which are abandoned in the middle of their texts.
func TestManyClients(t *testing.T) {
	g := slowGenerator(t, generate.Options{Threads: 2, Rows: 3})
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			n := 0
			result, err := g.Generate(ctx, generate.Request{IDs: mixedIDs(1 + i%40), Slide: true, Tokens: 12}, func(generate.Piece) error {
				if n++; i%3 == 0 && n == 5 {
					cancel()
				}
				return nil
			})
			if i%3 == 0 {
				assert.ErrorIs(t, err, context.Canceled)
				return
			}
			assert.NoError(t, err)
			assert.Equal(t, 12, result.Tokens)
		})
	}
	all.Wait()
	g.Close()
}

// TestDivergedAmongOthers: a request with logits that are not finite ends with an error; the others
// continue.
func TestDivergedAmongOthers(t *testing.T) {
	c := tiny(models.PositionsALiBi)
	store := wildStore(t, c)
	store.Params()[0].Value.Float32s()[7*resolved(t, c).Width()] = float32(inf()) // the embedding of token 7
	g := newGenerator(t, store, c, generate.Options{Rows: 2})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			_, err := g.Generate(context.Background(), generate.Request{IDs: []int32{1, 2, int32(3 + 4*(i%2)), 4}, Tokens: 5, LogitBias: map[int32]float64{7: -1e6}}, nil)
			if i%2 == 1 {
				assert.ErrorIs(t, err, models.ErrDiverged)
			} else {
				assert.NoError(t, err)
			}
		})
	}
	all.Wait()
}

// TestRowsAreRefused: more rows than fit in memory are refused, and so is more than one row with
// hooks.
func TestRowsAreRefused(t *testing.T) {
	c := tiny(models.PositionsALiBi)
	store := freshStore(t, c)
	for key, o := range map[string]generate.Options{
		"rows":  {Rows: min(1<<40, math.MaxInt)},
		"queue": {Queue: -1},
	} {
		_, err := generate.New(store, resolved(t, c), nil, o)
		setting(key)(t, err)
	}
	_, err := generate.New(store, resolved(t, c), nil, generate.Options{Rows: 2, Hooks: graph.Hooks{"x": func(string, *tensor.Dense) error { return nil }}})
	setting("rows")(t, err)
	_, err = generate.New(store, resolved(t, c), nil, generate.Options{Rows: -1})
	setting("rows")(t, err)
}
