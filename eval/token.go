package eval

import (
	"encoding/json"
	"strconv"
)

// Token is one scored token.
type Token struct {
	Index int // in the stream; the first, which nothing predicts, is 0
	ID    int
	Text  string  // its bytes, often no whole character; "" for BOS
	Loss  float32 // -log p in nats
}

// String returns index, quoted text and loss, separated by tabs. BOS has the text "".
func (t Token) String() string {
	return strconv.Itoa(t.Index) + "\t" + strconv.Quote(t.Text) + "\t" + strconv.FormatFloat(float64(t.Loss), 'g', -1, 32)
}

// MarshalJSON writes {"index", "id", "token", "loss"}; token is quoted as in String, since
// JSON cannot hold part of a character.
func (t Token) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Index int     `json:"index"`
		ID    int     `json:"id"`
		Token string  `json:"token"`
		Loss  float32 `json:"loss"`
	}{t.Index, t.ID, strconv.Quote(t.Text), t.Loss})
}
