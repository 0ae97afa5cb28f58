package analyze

import (
	"flag"

	"github.com/residua-go/residua/analysis"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
)

func subspaces(zoo models.Zoo) cli.Command {
	return command(zoo, cli.Command{
		Name:    analysis.AnalysisSubspaces,
		Summary: "what sites read and write: spectra, overlaps, bandwidth, heads and neurons that erase",
		Example: []string{
			"go run ./cmd/analyze subspaces -checkpoint runs/quickstart",
			"go run ./cmd/analyze subspaces -checkpoint runs/quickstart -out /tmp/subspaces",
		},
		Notes: []string{
			"It looks at weights alone. A model of GPT-2 small's size takes two minutes.",
		},
	}, &subspacesCall{})
}

type subspacesCall struct{}

func (c *subspacesCall) flags(*flag.FlagSet) {}

func (c *subspacesCall) report(s *subject) (*report, error) {
	r := reportOn(s, "Subspaces of the stream", nil)
	spaces, err := analysis.FindSubspaces(s.Store, s.Spec)
	if err != nil {
		return nil, err
	}
	r.add("subspaces", "What is read and written", "The directions that each site reads and writes, and how far what one site writes lies in what a later one reads.", spaces)
	bandwidth, err := analysis.CountBandwidth(s.Spec)
	if err != nil {
		return nil, err
	}
	r.add("bandwidth", "Bandwidth", "Many more dimensions communicate through the stream than it has.", bandwidth)
	erasure, err := analysis.MeasureErasure(s.Store, s.Spec)
	if err != nil {
		return nil, err
	}
	r.add("erasure", "Memory management", "A head or a neuron whose written direction is opposite to the one it reads takes out of the stream what it finds there.", erasure)
	return r, nil
}
