package data

import (
	"context"
	"sync"
)

// backlog limits the bytes of documents that have been read but not yet visited. The file that
// is being visited may always add a chunk if it has none in the backlog, so that it never
// waits for the files after it.
type backlog struct {
	mu         sync.Mutex
	changed    sync.Cond
	most, held int64
	turn       int // index of the file that is being visited
}

func newBacklog(most int64, turn int) *backlog {
	b := &backlog{most: most, turn: turn}
	b.changed.L = &b.mu
	return b
}

// add waits until there is room for n bytes of a file.
func (b *backlog) add(ctx context.Context, j *fileJob, n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.held+n > b.most && (j.index != b.turn || j.held > 0) {
		if err := ctx.Err(); err != nil {
			return err
		}
		b.changed.Wait()
	}
	b.held += n
	j.held += n
	return ctx.Err()
}

// remove makes room again.
func (b *backlog) remove(j *fileJob, n int64) {
	b.mu.Lock()
	b.held -= n
	j.held -= n
	b.mu.Unlock()
	b.wake()
}

// next records that the visits have moved on to the next file.
func (b *backlog) next() {
	b.mu.Lock()
	b.turn++
	b.mu.Unlock()
	b.wake()
}

// wake makes all waiting calls of add check again.
func (b *backlog) wake() {
	b.mu.Lock()
	b.changed.Broadcast()
	b.mu.Unlock()
}
