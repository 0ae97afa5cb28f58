package eval

import (
	"encoding/json"
	"strconv"
)

// Token is one scored token.
type Token struct {
	Index int // index in the stream; the first token has index 0, and nothing predicts it
	ID    int
	Text  string  // bytes of the token, possibly only part of a character; "" for BOS
	Loss  float32 // -log p in nats
}

// String returns index, quoted text and loss, separated by tabs. BOS has the text "".
func (t Token) String() string {
	return strconv.Itoa(t.Index) + "\t" + strconv.Quote(t.Text) + "\t" + strconv.FormatFloat(float64(t.Loss), 'g', -1, 32)
}

// MarshalJSON writes {"index", "id", "token", "loss"}. The token is quoted as in String, since JSON
// cannot hold part of a character; a loss that is not finite becomes null.
func (t Token) MarshalJSON() ([]byte, error) {
	loss := &t.Loss
	if !Number(t.Loss).Finite() {
		loss = nil
	}
	return json.Marshal(struct {
		Index int      `json:"index"`
		ID    int      `json:"id"`
		Token string   `json:"token"`
		Loss  *float32 `json:"loss"`
	}{t.Index, t.ID, strconv.Quote(t.Text), loss})
}
