package models

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
)

// preset is the line of a preset. All numbers but Paper are computed in closed form.
type preset struct {
	Name   string `json:"name"`
	Stream string `json:"stream"`
	Size   string `json:"size"` // layers and widths, in words
	Vocab  int    `json:"vocab"`
	Seq    int    `json:"seq"` // tokens in a row; the FLOPs are counted for a full row

	Paper     *float64 `json:"paper"`      // parameters in millions as the RMT paper prints them, rounded; null: the paper has no such model
	PaperNote string   `json:"paper_note"` // what the paper's own count leaves out
	Exact     int      `json:"exact"`      // all parameters
	Embedding int      `json:"embedding"`  // those in embedding, positions and unembedding
	Rest      int      `json:"rest"`       // all others

	ForwardFLOPs int `json:"forward_flops"` // per token
	TrainFLOPs   int `json:"train_flops"`   // per token, forward and backward
	StreamSize   int `json:"stream_size"`   // entries of a token's residual stream

	ActivationBytes    int `json:"activation_bytes"`     // of a token, kept for the backward pass
	RowActivationBytes int `json:"row_activation_bytes"` // of a row of Seq tokens
}

func newPreset(p models.Preset, s models.Spec) (preset, error) {
	cost := s.Cost()
	line := preset{
		Name: p.Name, Stream: s.Stream.Name(), Size: size(s), Vocab: s.Vocab, Seq: s.Seq, PaperNote: p.PaperNote,
		Exact: cost.Parameters, Embedding: cost.Embedding, Rest: cost.Parameters - cost.Embedding,
		ForwardFLOPs: cost.ForwardFLOPs, TrainFLOPs: cost.TrainFLOPs(), StreamSize: cost.StreamSize,
		ActivationBytes: cost.ActivationBytes, RowActivationBytes: cost.ActivationBytes * s.Seq,
	}
	if p.Paper > 0 {
		line.Paper = &p.Paper
	}
	return line, nil
}

// size describes a model: its number of layers, its stream's settings, its attention heads and its
// feed-forward's settings, under their keys in a run config.
func size(s models.Spec) string {
	words := []string{fmt.Sprintf("layers=%d", s.Layers)}
	if s.Loops > 1 {
		words = append(words, fmt.Sprintf("loop_begin=%d loop_end=%d loops=%d", s.LoopBegin, s.LoopEnd, s.Loops))
	}
	words = append(words, models.Sizes(s.Stream)...)
	if s.Attention.Heads > 0 {
		words = append(words, fmt.Sprintf("heads=%d", s.Attention.Heads))
	}
	if s.Attention.KVHeads > 0 {
		words = append(words, fmt.Sprintf("kv_heads=%d", s.Attention.KVHeads))
	}
	if s.Attention.Kind != nil {
		words = append(append(words, "attention="+s.Attention.Kind.Name()), models.Sizes(s.Attention.Kind)...)
	}
	if s.FeedForward != nil {
		words = append(words, models.Sizes(s.FeedForward)...)
	}
	return strings.Join(words, " ")
}

// columns is the greatest width of the output.
const columns = 120

// legend explains the table.
const legend = `
printed      parameters in millions, as printed in the RMT paper (arXiv 2506.22696), 160 and 260 rounded to tens;
             every other number of this table is computed
computed     all parameters in millions: tables (embedding, positions and unembedding) + rest
forward      millions of FLOPs of matrix products a token, in sequences of seq tokens; train: forward and backward
stream       numbers in a token's residual stream
activations  memory kept for the backward pass, without recomputation: KB (1e3 bytes) of a token, MB (1e6 bytes) of a
             sequence of seq tokens
`

// sizesLegend explains the sizes.
const sizesLegend = `
By config key: layers, the keys of model.stream, of model.attention and of model.feedforward (train -keys explains
them); those that are 0 are left out. seq is the training length in tokens.
`

// table formats the presets for reading: numbers, sizes, and notes on the numbers that the paper
// prints.
func table(presets []preset) string {
	numbers := figure.Table{Align: "lrrrrrrrrr"}
	numbers.Row("preset", "printed", "computed", "tables", "rest", "forward", "train", "stream", "activations", "a sequence")
	var sizes, notes figure.Table
	sizes.Row("preset", "seq", "size")
	for _, p := range presets {
		paper := "-"
		if p.Paper != nil {
			paper = printed(*p.Paper)
		}
		numbers.Row(p.Name, paper, millions(p.Exact), millions(p.Embedding), millions(p.Rest),
			fmt.Sprintf("%.1f", float64(p.ForwardFLOPs)/1e6), fmt.Sprintf("%.1f", float64(p.TrainFLOPs)/1e6), fmt.Sprint(p.StreamSize),
			fmt.Sprintf("%.0f KB", float64(p.ActivationBytes)/1e3), fmt.Sprintf("%.0f MB", float64(p.RowActivationBytes)/1e6))
		sizes.Row(p.Name, fmt.Sprint(p.Seq), p.Size)
		if p.PaperNote != "" {
			notes.Row("", p.Name, p.PaperNote)
		}
	}
	return numbers.Within(columns).Text() + legend + "\n" + sizes.Within(columns).Text() + sizesLegend + "\nOf the printed numbers:\n" +
		notes.Within(columns).Text()
}

func millions(n int) string { return fmt.Sprintf("%.2f", float64(n)/1e6) }

// printed formats a count in millions with the digits that the paper prints.
func printed(paper float64) string { return strconv.FormatFloat(paper, 'f', -1, 64) }
