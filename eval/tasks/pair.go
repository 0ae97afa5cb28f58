package tasks

import (
	"strings"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/eval"
)

// encode returns a pair's token ids. Whitespace at the end of the context moves to the
// continuation. Context and continuation are encoded together; the continuation starts after as
// many tokens as the context has when encoded alone. Without a context it follows BOS.
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

// windows returns the requests that score a whole page: its tokens after BOS, split into pieces as
// long as the model's window. The last window reaches back over tokens that have been scored
// already, to be full.
func windows(tokens []int32, bos int32, window int) []eval.Request {
	stream := append([]int32{bos}, tokens...)
	var requests []eval.Request
	for from := 1; from < len(stream); from += window {
		to := min(from+window, len(stream))
		requests = append(requests, eval.Request{Context: stream[max(0, to-1-window):from], Continuation: stream[from:to]})
	}
	return requests
}
