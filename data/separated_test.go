package data

import (
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const endOfStory = "<|end|>"

// separatedFiles returns options that read text files with documents ended by endOfStory.
func separatedFiles(t *testing.T, files map[string]string) Options {
	o := filesIn(writeFiles(t, files))
	o.Source = Files{Separator: endOfStory}
	return o
}

func TestSeparatedDocuments(t *testing.T) {
	long := strings.Repeat("y <|en", 1<<19)
	o := separatedFiles(t, map[string]string{
		"a.txt":   "One.\nTwo.\n<|end|>\r\nThree.<|end|>\n<|end|>" + long + "<|end|>last",
		"a2.txt":  "first story.\n<|end|>\nthe second, longer than the separator, has none at its end",
		"b.txt":   "<|end|>",
		"c.jsonl": `{"text":"a <|end|> b"}`,
	})
	c := load(t, o)
	assert.Equal(t, []string{"One.\nTwo.", "Three.", long, "last", "first story.", "the second, longer than the separator, has none at its end", "a <|end|> b"}, texts(c.Tokenizer, c.Train))
}

// Documents are found wherever what is read at a time ends.
func TestSeparatorInPieces(t *testing.T) {
	const text = "a<|end|>b<|en<|end|><|end|>a long document<|end"
	cut := cutAt(endOfStory)
	var got []string
	var rest []byte
	in := iotest.OneByteReader(strings.NewReader(text))
	for piece := make([]byte, 1); ; {
		n, err := in.Read(piece)
		rest = append(rest, piece[:n]...)
		for {
			advance, token, failed := cut(rest, err != nil)
			require.NoError(t, failed)
			if advance == 0 {
				break
			}
			got, rest = append(got, string(token)), rest[advance:]
		}
		if err != nil {
			break
		}
	}
	assert.Equal(t, []string{"a", "b<|en", "", "a long document<|end"}, got)
}

func TestSeparatedDocumentTooLong(t *testing.T) {
	o := separatedFiles(t, map[string]string{"a.txt": "short<|end|>" + strings.Repeat("y", 2000)})
	o.longest = 1000
	_, err := Load(t.Context(), o)
	require.ErrorContains(t, err, "a.txt: document 2: want documents of at most 1000 bytes")
}
