package data

import (
	"context"
	"sync"
)

// backlog limits the bytes of documents that have been read and not yet visited. The file that is
// being visited may always have one chunk in it, so that it never waits for files after it.
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

// next tells that the file after the current one is being visited.
func (b *backlog) next() {
	b.mu.Lock()
	b.turn++
	b.mu.Unlock()
	b.wake()
}

// wake lets all who wait look again.
func (b *backlog) wake() {
	b.mu.Lock()
	b.changed.Broadcast()
	b.mu.Unlock()
}
