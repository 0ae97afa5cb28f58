package tasks

import (
	"strings"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/eval"
)

// encode returns a pair's token ids. Whitespace at the context's end belongs to the continuation. Both are encoded together, and
// the continuation is what follows as many tokens as the context alone has; without a context it follows BOS.
func (p Pair) encode(t data.Tokenizer, bos bool) eval.Request {
	context := strings.TrimRightFunc(p.Context, isSpace)
	continuation := p.Context[len(context):] + p.Continuation
	var r eval.Request
	if bos || context == "" {
		r.Context = []int32{t.BOS()}
	}
	alone, whole := t.Encode(nil, context), t.Encode(nil, context+continuation)
	r.Context = append(r.Context, alone...)
	r.Continuation = whole[min(len(alone), len(whole)):]
	return r
}

// windows are the requests that score a whole page: its tokens after BOS, as many at a time as the model sees, each window but the
// first reaching back over tokens already scored.
func windows(tokens []int32, bos int32, window int) []eval.Request {
	stream := append([]int32{bos}, tokens...)
	var requests []eval.Request
	for from := 1; from < len(stream); from += window {
		to := min(from+window, len(stream))
		requests = append(requests, eval.Request{Context: stream[max(0, to-1-window):from], Continuation: stream[from:to]})
	}
	return requests
}
