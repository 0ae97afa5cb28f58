package roofline

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
)

// TestRecordedFLOPsAreTheModels: what the ops of a step multiply is what the closed form says, in
// each precision, and products of cuBLAS alone make no more than their ops count.
func TestRecordedFLOPsAreTheModels(t *testing.T) {
	const batch = 2
	for _, p := range models.Standard().Presets() {
		if !strings.HasPrefix(p.Name, "quickstart") && !longtest.Enabled() {
			continue
		}
		c, err := p.Config.Resolve()
		require.NoError(t, err)
		for _, precision := range graph.Precisions() {
			ops, err := record(c, Options{GPU: GPU{Multiprocessors: 132}, Precision: precision, Batch: batch})
			require.NoError(t, err, "%s, %s", p.Name, precision)
			flops := 0
			for _, op := range ops {
				flops += op.FLOPs
				assert.NotEmpty(t, op.Work, "%s: %s", p.Name, op.OpType)
			}
			assert.InEpsilon(t, batch*c.Seq*c.Cost().TrainFLOPs(), flops, 0.02, "%s, %s", p.Name, precision)
		}
	}
}
