//go:build cuda

package main

import (
	"io"
	"strconv"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/experiment/roofline"
	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
)

// measure measures the products of a preset's step.
func measure(preset, batch, precision string, out io.Writer) error {
	p, err := models.Standard().Preset(preset)
	if err != nil {
		return err
	}
	c, err := p.Config.Resolve()
	if err != nil {
		return err
	}
	rows, err := strconv.Atoi(batch)
	if err != nil || rows < 1 {
		return errors.Errorf("ceilings: want a batch of >= 1 rows, got %q", batch)
	}
	return roofline.Ceilings(c, roofline.Options{Batch: rows, Precision: graph.Precision(precision)}, out)
}
