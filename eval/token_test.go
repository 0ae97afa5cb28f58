package eval_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/eval"
)

func TestTokenForms(t *testing.T) {
	token := eval.Token{Index: 3, ID: 226, Text: "\xe2", Loss: 0.25}
	assert.Equal(t, "3\t\"\\xe2\"\t0.25", token.String())
	text, err := json.Marshal(token)
	require.NoError(t, err)
	assert.Equal(t, `{"index":3,"id":226,"token":"\"\\xe2\"","loss":0.25}`, string(text))
}
