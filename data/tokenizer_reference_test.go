package data

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReferenceTokenizer compares ids with ids from Hugging Face's GPT-2 tokenizer, which are
// stored with the other references.
func TestReferenceTokenizer(t *testing.T) {
	folder, own := os.Getenv("RESIDUA_REFERENCE"), false
	switch {
	case folder == "":
		folder, own = filepath.Join("..", "testdata", "reference"), true
	case !filepath.IsAbs(folder): // relative to the project's root
		folder = filepath.Join("..", folder)
	}
	text, err := os.ReadFile(filepath.Join(folder, "tokenizer", "gpt2.json"))
	if os.IsNotExist(err) && !own {
		t.Skipf("%s has no tokenizer/gpt2.json", folder)
	}
	require.NoError(t, err)
	var cases []struct {
		Text string
		IDs  []int32
	}
	require.NoError(t, json.Unmarshal(text, &cases))
	require.NotEmpty(t, cases)
	tokenizer := newTokenizer(t, "gpt2")
	for _, c := range cases {
		t.Run(shorten(c.Text), func(t *testing.T) {
			assert.Equal(t, c.IDs, tokenizer.Encode([]int32{}, c.Text))
			assert.Equal(t, c.Text, tokenizer.Decode(c.IDs))
		})
	}
}

func shorten(text string) string {
	if runes := []rune(text); len(runes) > 24 {
		return string(runes[:24])
	}
	return text
}
