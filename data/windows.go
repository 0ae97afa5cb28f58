package data

import "github.com/pkg/errors"

// IgnoredTarget is the target of a padded position: no token, not scored.
const IgnoredTarget = -1

// Windows cuts a stream into consecutive windows for evaluation: window w has
// inputs tokens[w*seq : (w+1)*seq] and the same shifted by one as targets, so
// every token from the second to the last that fills a window is scored once.
// There are (len(tokens) - 1) / seq windows. To evaluate on the first n tokens
// of a stream, give those. Windows may be used by several goroutines.
type Windows struct {
	tokens     Tokens
	batch, seq int
}

// NewWindows returns the windows of a stream in batches of batch. It wants
// batch and seq of at least 1 and at least seq + 1 tokens.
func NewWindows(tokens Tokens, batch, seq int) (*Windows, error) {
	if err := checkWindowShape(tokens, batch, seq); err != nil {
		return nil, errors.Wrap(err, "data: windows")
	}
	return &Windows{tokens: tokens, batch: batch, seq: seq}, nil
}

// Len is the number of windows.
func (w *Windows) Len() int { return (w.tokens.Len() - 1) / w.seq }

// Batches is the number of batches, the last of which may be padded.
func (w *Windows) Batches() int { return (w.Len() + w.batch - 1) / w.batch }

// Batch fills inputs and targets, both [batch, seq] row-major, with the windows
// of batch i in [0, Batches()) and returns how many windows it has. Rows beyond
// those are padded: inputs 0, targets IgnoredTarget. It allocates nothing.
func (w *Windows) Batch(i int, inputs, targets []int32) (int, error) {
	if err := checkBatchLength(inputs, targets, w.batch, w.seq); err != nil {
		return 0, errors.Wrap(err, "data: windows")
	}
	if i < 0 || i >= w.Batches() {
		return 0, errors.Errorf("data: windows: want a batch in [0, %d), got %d", w.Batches(), i)
	}
	first := i * w.batch
	count := min(w.batch, w.Len()-first)
	for row := range count {
		start := (first + row) * w.seq
		copyWindow(inputs[row*w.seq:], targets[row*w.seq:], w.tokens.Slice(start, start+w.seq+1))
	}
	for at := count * w.seq; at < len(inputs); at++ {
		inputs[at], targets[at] = 0, IgnoredTarget
	}
	return count, nil
}
