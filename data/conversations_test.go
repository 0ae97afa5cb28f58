package data

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pkg/errors"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// conversations loads a file of conversations, without a validation split.
func conversations(t *testing.T, name, text string) (*Corpus, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return Load(t.Context(), Options{Source: DefaultConversations(), Paths: []string{path}, Split: "none"})
}

const threeConversations = `{"prompt": "ab", "response": "c"}
{"prompt": "", "response": "defghi"}
{"prompt": "j", "response": "kl", "more": 1}
`

// TestConversationsFillRows: each row has whole conversations and then BOS; targets are the
// response and its end.
func TestConversationsFillRows(t *testing.T) {
	for _, name := range []string{"a.jsonl", "a.json", "a.ndjson"} {
		c, err := conversations(t, name, threeConversations)
		require.NoError(t, err)
		assert.Equal(t, 3, c.Train.Documents)
		assert.EqualValues(t, len("cdefghikl"), c.Train.TextBytes, "of the responses")
		packed, err := c.Pack(9, false)
		require.NoError(t, err)
		const bos = 256
		assert.Equal(t, []int32{
			bos, 'a', 'b', 'c', bos, bos, bos, bos, bos,
			bos, 'd', 'e', 'f', 'g', 'h', 'i', bos, bos,
			bos, 'j', 'k', 'l', bos, bos, bos, bos, bos,
			bos}, packed.Train.Tokens.IDs())
		targets := make([]int32, packed.Train.Tokens.Len())
		packed.Train.Tokens.copyTargets(targets)
		assert.Equal(t, []int32{
			-1, -1, -1, 'c', bos, -1, -1, -1, -1,
			-1, 'd', 'e', 'f', 'g', 'h', 'i', bos, -1,
			-1, -1, 'k', 'l', bos, -1, -1, -1, -1,
			-1}, targets)
		assert.Empty(t, packed.Notes)
		two, err := c.Pack(14, false)
		require.NoError(t, err)
		assert.Equal(t, 2*14+1, two.Train.Tokens.Len(), "two conversations in the first row")
	}
}

// TestResponsesEndWithTheTokenizersEnd: a response ends with the token that ends texts, also where
// another one begins them.
func TestResponsesEndWithTheTokenizersEnd(t *testing.T) {
	tokenizer := addedTokenizer(t, "llama3", json.RawMessage(`{"id":65536,"content":"<s>"}`), json.RawMessage(`{"id":65537,"content":"</s>"}`))
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(tokenizer), "config.json"), []byte(`{"bos_token_id": 65536, "eos_token_id": 65537}`), 0o600))
	path := filepath.Join(t.TempDir(), "a.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(`{"prompt": "a", "response": "b"}`), 0o600))
	c, err := Load(t.Context(), Options{Source: DefaultConversations(), Paths: []string{path}, Split: "none", Tokenizer: tokenizer})
	require.NoError(t, err)
	ids := c.Train.Tokens.IDs()
	assert.EqualValues(t, []int32{65536, 65537}, []int32{ids[0], ids[len(ids)-1]})
	assert.Equal(t, []int32{65537, 65536}, EOS(c.Tokenizer), "a text that was generated ends with either")
	documents, err := TokenizerOf(Files{}, tokenizer)
	require.NoError(t, err)
	assert.Equal(t, []int32{65536, 65537}, EOS(documents), "BOS ends documents, which follow one another")
}

// TestBytesOfResponsesBeforeNormalization: bits per byte count the bytes of the responses' text.
func TestBytesOfResponsesBeforeNormalization(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(`{"prompt": "e\u0301", "response": "ne\u0301e"}`+"\n"+`{"prompt": "", "response": "e\u0301"}`), 0o600))
	c, err := Load(t.Context(), Options{Source: DefaultConversations(), Paths: []string{path}, Split: "none",
		Tokenizer: filepath.Join(tokenizerFolder("qwen"), "tokenizer.json")})
	require.NoError(t, err)
	assert.EqualValues(t, len("ne\u0301e"+"e\u0301"), c.Train.TextBytes)
	packed, err := c.Pack(16, false)
	require.NoError(t, err)
	assert.EqualValues(t, len("ne\u0301e"+"e\u0301"), TextBytes(c.Tokenizer, packed.Train.Tokens))
}

// TestLongConversationsAreLeftOutOrCut: never in a prompt.
func TestLongConversationsAreLeftOutOrCut(t *testing.T) {
	c, err := conversations(t, "a.jsonl", threeConversations+`{"prompt": "a long prompt", "response": "x"}`)
	require.NoError(t, err)
	packed, err := c.Pack(6, false)
	require.NoError(t, err)
	assert.Equal(t, 2*6+1, packed.Train.Tokens.Len())
	assert.Equal(t, []string{"data.path: 2 conversations of more than 6 tokens left out: raise model.seq, or set data.cut"}, packed.Notes)
	packed, err = c.Pack(6, true)
	require.NoError(t, err)
	assert.Equal(t, 3*6+1, packed.Train.Tokens.Len())
	assert.Equal(t, []int32{256, 'd', 'e', 'f', 'g', 'h'}, packed.Train.Tokens.Slice(6, 12).IDs())
	assert.Equal(t, []string{"data.path: 1 conversation of more than 6 tokens left out: raise model.seq, or set data.cut",
		"data.cut: 1 response of more than 6 tokens cut short"}, packed.Notes)
	_, err = c.Pack(1, true)
	assert.ErrorContains(t, err, "want a conversation of at most 1 tokens, got none in 4")
}

// TestWrongConversationsAreNamed by file and line.
func TestWrongConversationsAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		`{"prompt": "a", "response": ""}`:        `a.jsonl:2: field "response": want a response to learn, got an empty one`,
		`{"prompt": "a", "response": null}`:      `a.jsonl:2: field "response": want a response to learn, got an empty one`,
		`{"prompt": "a", "answer": "b"}`:         `a.jsonl:2: want the fields "prompt" and "response", got an object with the fields ["answer" "prompt"]`,
		`{"prompt": 3, "response": "b"}`:         `a.jsonl:2: field "prompt": want a string, got 3`,
		`{"prompt": "a\u0000", "response": "b"}`: `a.jsonl:2: want text, got a NUL at byte 1`,
		`["a"]`:                                  `a.jsonl:2: invalid JSON`,
	} {
		_, err := conversations(t, "a.jsonl", `{"prompt": "q", "response": "r"}`+"\n"+text)
		assert.ErrorContains(t, err, want)
	}
	_, err := Load(t.Context(), Options{Source: DefaultConversations(), Paths: []string{"x"}, Split: "tail"})
	assert.ErrorContains(t, err, "want hash, hash/N or none for source conversations")
}

// TestPackedRowsComeOnceAnEpoch, in an order that the seed decides, whatever the batch.
func TestPackedRowsComeOnceAnEpoch(t *testing.T) {
	c, err := conversations(t, "a.jsonl", threeConversations)
	require.NoError(t, err)
	packed, err := c.Pack(9, false)
	require.NoError(t, err)
	first := func(batch, rows int, seed uint64) (all []int32, counts []int) {
		b, err := NewBatcher(packed.Train.Tokens, batch, 9, seed)
		require.NoError(t, err)
		counts = b.Targets(rows / batch)
		inputs, targets := make([]int32, batch*9), make([]int32, batch*9)
		for range rows / batch {
			require.NoError(t, b.Next(inputs, targets))
			for row := range batch {
				all = append(all, inputs[row*9+1])
			}
		}
		return all, counts
	}
	one, counts := first(1, 300, 1)
	for epoch := range slices.Chunk(one, 3) {
		assert.ElementsMatch(t, []int32{'a', 'd', 'j'}, epoch)
	}
	three, sums := first(3, 300, 1)
	assert.Equal(t, one, three)
	assert.Equal(t, slices.Repeat([]int{2 + 7 + 3}, 100), sums)
	for i, n := range counts {
		assert.Equal(t, map[int32]int{'a': 2, 'd': 7, 'j': 3}[one[i]], n)
	}
	other, _ := first(1, 300, 2)
	assert.NotEqual(t, one, other)
}

// TestTurnsThatEndWithBOS: conversations in which BOS stands between turns are counted; one at the
// end of the last turn divides nothing.
func TestTurnsThatEndWithBOS(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	turns := func(n int) string {
		return `{"messages": [` + strings.Repeat(`{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}, `, n-1) +
			`{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}`
	}
	require.NoError(t, os.WriteFile(path, []byte(turns(1)+"\n"+turns(2)+"\n"+turns(3)), 0o644))
	for end, want := range map[string]int{"<|endoftext|>": 2, ";": 0} {
		c, err := Load(t.Context(), Options{Source: DefaultConversations(), Paths: []string{path}, Split: "none",
			Chat: func(_ context.Context, chats []Chat) (texts []string, err error) {
				for _, chat := range chats {
					text := strings.Repeat("qa"+end, strings.Count(string(chat.Messages), "assistant"))
					if chat.Generation {
						text += "q"
					}
					texts = append(texts, text)
				}
				return texts, nil
			}})
		require.NoError(t, err)
		packed, err := c.Pack(32, false)
		require.NoError(t, err)
		assert.Equal(t, want, packed.Divided, end)
	}
}

// TestMessagesAreRenderedByATemplate: targets are what it writes for the assistant, with the tokens
// that it ends a turn by; BOS comes once, from the template or else in front.
func TestMessagesAreRenderedByATemplate(t *testing.T) {
	load := func(text, begin string, chat bool) (*Corpus, error) {
		path := filepath.Join(t.TempDir(), "a.jsonl")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		o := Options{Source: DefaultConversations(), Paths: []string{path}, Split: "none"}
		if chat {
			one := func(c Chat) string {
				var messages []struct{ Role, Content string }
				require.NoError(t, json.Unmarshal(c.Messages, &messages))
				out := begin
				for i, m := range messages {
					if m.Content == "rewrite" && i < len(messages)-1 {
						m.Content = "other"
					}
					out += m.Role[:1] + ":" + m.Content + ";"
				}
				if c.Generation {
					out += "a:"
				}
				return out
			}
			o.Chat = func(_ context.Context, chats []Chat) (texts []string, err error) {
				for _, c := range chats {
					if strings.Contains(string(c.Messages), "fail") {
						return texts, errors.New("no such role")
					}
					texts = append(texts, one(c))
				}
				return texts, nil
			}
		}
		return Load(t.Context(), o)
	}
	const two = `{"messages": [{"role": "system", "content": "x"}, {"role": "user", "content": "q"}, {"role": "assistant", "content": "yes"}, {"role": "user", "content": "r"}, {"role": "assistant", "content": "no"}]}`
	for _, begin := range []string{"", "<|endoftext|>"} {
		c, err := load(two+"\n"+`{"prompt": "p", "response": "r"}`, begin, true)
		require.NoError(t, err)
		packed, err := c.Pack(32, false)
		require.NoError(t, err)
		ids := packed.Train.Tokens.IDs()
		require.EqualValues(t, 256, ids[0])
		var text, learned strings.Builder
		targets := make([]int32, len(ids))
		packed.Train.Tokens.copyTargets(targets)
		for i, id := range ids[1:] {
			if id < 256 {
				text.WriteByte(byte(id))
			}
			if targets[i+1] >= 0 && targets[i+1] < 256 {
				learned.WriteByte(byte(targets[i+1]))
			}
		}
		assert.Equal(t, "s:x;u:q;a:yes;u:r;a:no;pr", text.String())
		assert.Equal(t, "yes;no;r", learned.String())
	}
	for want, text := range map[string]string{
		"": two + "\n" + `{"messages": [{"role": "user", "content": "fail"}, {"role": "assistant", "content": "b"}]}`,
		"a.jsonl:1: field messages: want a list, got 3":                            `{"messages": 3}`,
		"want a message of the role assistant to learn, got none":                  `{"messages": [{"role": "user", "content": "q"}]}`,
		"want objects with role and content, got 1":                                `{"messages": [1]}`,
		"a.jsonl:1: field messages: want a template that continues a conversation": `{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "rewrite"}, {"role": "user", "content": "q"}, {"role": "assistant", "content": "b"}]}`,
	} {
		_, err := load(text, "", true)
		if strings.Contains(text, "fail") {
			want = "a.jsonl:2: no such role"
		}
		assert.ErrorContains(t, err, want)
	}
	_, err := load(two, "", false)
	assert.ErrorContains(t, err, "a.jsonl:1: field messages: want data.source.template with it")
}
