package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/residua-go/residua/figure"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// Gains is a command: it lists the gains of a trained model's sublayers.
type Gains struct {
	Checkpoint string `yaml:"checkpoint" arg:"CHECKPOINT" help:"the model, as train or convert wrote it"`
	Digits     int    `yaml:"digits" min:"1" max:"9" default:"3" help:"show <N> digits after the point"`
}

// Name returns the command's name.
func (Gains) Name() string { return "gains" }

// Help returns the command's summary and an example.
func (Gains) Help() (summary, example string) {
	return "how far training has moved the gains of each sublayer", "gains runs/layerscale"
}

// Run prints a row for each parameter of gains.
func (g Gains) Run(_ context.Context, zoo models.Zoo, stdout, _ io.Writer) error {
	m, err := pretrained.Open(g.Checkpoint, zoo)
	if err != nil {
		return err
	}
	defer m.Close()
	t := figure.NewTable("", "lrr", "gains", "least", "greatest")
	for _, p := range m.Store.Params() {
		if strings.HasSuffix(p.Name, ".gain") {
			least, greatest := math.Inf(1), math.Inf(-1)
			for _, v := range p.Value.Float32s() {
				least, greatest = min(least, float64(v)), max(greatest, float64(v))
			}
			t.Row(p.Name, fmt.Sprintf("%.*f", g.Digits, least), fmt.Sprintf("%.*f", g.Digits, greatest))
		}
	}
	_, err = io.WriteString(stdout, t.Text())
	return err
}
