package data

import "github.com/pkg/errors"

// ignoredTarget is the target at a padded position; it is not scored.
const ignoredTarget = -1

// Windows splits a stream into consecutive windows for evaluation: window w has the inputs
// tokens[w*seq : (w+1)*seq] and the same shifted by one as targets, so every token is scored once
// from the second to the last that fills a window. There are (len(tokens) - 1) / seq windows. To
// evaluate on the first n tokens of a stream, pass only those. Windows are safe for concurrent use.
type Windows struct {
	tokens     Tokens
	batch, seq int
}

// NewWindows returns the windows of a stream in batches of batch. batch and seq must be at least 1,
// and there must be at least seq + 1 tokens.
func NewWindows(tokens Tokens, batch, seq int) (*Windows, error) {
	if err := checkWindowShape(tokens, batch, seq); err != nil {
		return nil, errors.Wrap(err, "data: windows")
	}
	return &Windows{tokens: tokens, batch: batch, seq: seq}, nil
}

// Len returns the number of windows.
func (w *Windows) Len() int { return (w.tokens.Len() - 1) / w.seq }

// Batches returns the number of batches; the last one may be padded.
func (w *Windows) Batches() int { return (w.Len() + w.batch - 1) / w.batch }

// Batch fills inputs and targets, both [batch, seq] row-major, with the windows of batch i in [0,
// Batches()) and returns the number of windows in it. Further rows are padded with inputs 0 and
// targets ignoredTarget. It does not allocate.
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
		inputs[at], targets[at] = 0, ignoredTarget
	}
	return count, nil
}
