package models

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/optim"
)

// link is the network between ranks: a message of n bytes takes alpha + n / beta.
type link struct {
	Alpha float64 `json:"alpha"` // seconds
	Beta  float64 `json:"beta"`  // bytes a second, each way
}

// linkNames describe typical links: 10 Gbit/s Ethernet with TCP, 100 Gbit/s Ethernet or InfiniBand
// with RDMA, and the shared memory of a machine, which all of its ranks share.
var linkNames = map[string]string{
	"10gbe":  "alpha=30us,beta=1.1GB/s",
	"100gbe": "alpha=3us,beta=11GB/s",
	"shm":    "alpha=1us,beta=4GB/s",
}

// parseLink reads -scaling: a name, or alpha=TIME,beta=RATE.
func parseLink(text string) (link, error) {
	if named, ok := linkNames[text]; ok {
		text = named
	}
	var l link
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(part, "=")
		d, notTime := time.ParseDuration(value)
		digits, isRate := strings.CutSuffix(value, "GB/s")
		rate, notNumber := strconv.ParseFloat(digits, 64)
		switch {
		case key == "alpha" && notTime == nil && d >= 0:
			l.Alpha = d.Seconds()
		case key == "beta" && isRate && notNumber == nil && rate > 0:
			l.Beta = rate * 1e9
		default:
			return link{}, errors.Errorf("want 10gbe, 100gbe, shm or alpha=TIME,beta=RATE such as alpha=2us,beta=12GB/s, got %q", text)
		}
	}
	if l.Beta == 0 {
		return link{}, errors.Errorf("want alpha=TIME,beta=RATE, got no beta in %q", text)
	}
	return l, nil
}

// scaled is the predicted speed of a number of ranks, each of which takes one micro-batch of a
// step.
type scaled struct {
	Ranks      int     `json:"ranks"`
	Bytes      float64 `json:"bytes"`      // that a rank sends in a step, and receives
	Messages   int     `json:"messages"`   // that a rank sends in a step
	Exchange   float64 `json:"exchange"`   // seconds of all exchanges of a step
	TokensPS   float64 `json:"tokens_ps"`  // of all ranks, if exchanges begin after the backward pass
	Efficiency float64 `json:"efficiency"` // of that, over ranks times the speed of one
	Overlapped float64 `json:"overlapped"` // efficiency if gradients are summed during the backward pass
}

// backward is the share of a micro-batch's time in its backward pass: 2 of 3 products.
const backward = 2.0 / 3

// scale predicts a step: each rank sends (N-1)/N of all gradients to the ranks that own them
// (ReduceScatter), then its part of the weights to all others (AllGather), in buckets, float32.
func scale(parameters, tokens, ranks int, step float64, l link) scaled {
	n := float64(ranks)
	buckets := (parameters + optim.DefaultBucket - 1) / optim.DefaultBucket
	s := scaled{Ranks: ranks, Bytes: 2 * 4 * float64(parameters) * (n - 1) / n, Messages: 2 * buckets * (ranks - 1)}
	s.Exchange = float64(s.Messages)*l.Alpha + s.Bytes/l.Beta
	whole := step + s.Exchange
	overlap := min(s.Exchange/2*float64(buckets-1)/float64(buckets), step*backward) // the last bucket comes after it
	s.TokensPS, s.Efficiency, s.Overlapped = n*float64(tokens)/whole, step/whole, step/(whole-overlap)
	return s
}

// runScaling carries out -scaling.
func (c *call) runScaling(out commandline.Output) error {
	l, err := parseLink(c.Scaling)
	if err != nil {
		return commandline.Usagef("-scaling: %v", err)
	}
	if c.Step <= 0 {
		return commandline.Usagef("-step: want the measured time of a micro-batch, such as 1.5s, got %v", c.Step)
	}
	if c.Preset == "" {
		return commandline.Usagef("-scaling: want -preset NAME, whose micro-batch takes -step")
	}
	presets, err := c.presets()
	if err != nil {
		return err
	}
	return show(c, out, presets, func(_ models.Preset, s models.Spec) ([]scaled, error) {
		tokens := c.Batch * s.Seq
		if c.Seq != 0 {
			tokens = c.Batch * c.Seq
		}
		var lines []scaled
		for ranks := 1; ranks <= 1024; ranks *= 2 {
			lines = append(lines, scale(s.Cost().Parameters, tokens, ranks, c.Step.Seconds(), l))
		}
		return lines, nil
	}, scalingTable)
}

func scalingTable(presets [][]scaled) string {
	t := figure.Table{Align: "rrrrrrr"}
	t.Row("ranks", "MB sent", "messages", "exchange", "tokens/s", "efficiency", "overlapped")
	for _, s := range presets[0] {
		t.Row(strconv.Itoa(s.Ranks), fmt.Sprintf("%.1f", s.Bytes/1e6), strconv.Itoa(s.Messages), fmt.Sprintf("%.1f ms", 1e3*s.Exchange),
			fmt.Sprintf("%.0f", s.TokensPS), fmt.Sprintf("%.1f%%", 100*s.Efficiency), fmt.Sprintf("%.1f%%", 100*s.Overlapped))
	}
	return t.Text() + `
A prediction, not a measurement, of steps in which each rank takes one micro-batch: what a rank sends in a step, and
the time that takes over the link, without the additions. efficiency: the share of the time in which ranks compute if
exchanges begin after the backward pass; overlapped: if gradients are summed during it, as train does.
`
}
