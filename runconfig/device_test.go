package runconfig_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
)

const deviceYAML = "model: {preset: quickstart}\ntrain: {steps: 1, lr: 1e-3}\n"

// TestDevice: each device has its own precisions and its default.
func TestDevice(t *testing.T) {
	for _, c := range []struct {
		sets []string
		want runconfig.Device
	}{
		{nil, runconfig.Device{Kind: "cpu", Precision: "fp32", Ranks: 1, RankTimeout: 60}},
		{[]string{"device.kind=cuda"}, runconfig.Device{Kind: "cuda", Precision: "tf32", Ranks: 1, RankTimeout: 60}},
		{[]string{"device.kind=cuda", "device.precision=bf16"}, runconfig.Device{Kind: "cuda", Precision: "bf16", Ranks: 1, RankTimeout: 60}},
		{[]string{"device.kind=cuda", "device.index=3"}, runconfig.Device{Kind: "cuda", Index: 3, Precision: "tf32", Ranks: 1, RankTimeout: 60}},
	} {
		run, _, err := runconfig.Parse(models.Standard(), "a.yaml", []byte(deviceYAML), c.sets)
		require.NoError(t, err)
		require.Equal(t, c.want, run.Device)
		o := run.Device.Options(nil)
		index, gpu := o.Device.GPU()
		require.Equal(t, c.want.Kind == "cuda", gpu)
		require.Equal(t, c.want.Index, index)
		require.Equal(t, graph.Precision(c.want.Precision), o.Precision)
	}
	for _, c := range []struct {
		sets []string
		want string
	}{
		{[]string{"device.kind=tpu"}, "device.kind"},
		{[]string{"device.precision=tf32"}, "device.precision"},
		{[]string{"device.index=1"}, "device.index"},
		{[]string{"device.ranks=2"}, "device.ranks"},
		{[]string{"device.ranks=0"}, "device.ranks"},
		{[]string{"device.rank_timeout=0"}, "device.rank_timeout"},
		{[]string{"device.kind=cuda", "device.index=-1"}, "device.index"},
		{[]string{"device.kind=cuda", "device.precision=fp8"}, "device.precision"},
	} {
		_, _, err := runconfig.Parse(models.Standard(), "a.yaml", []byte(deviceYAML), c.sets)
		var e *settings.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, c.want, e.Key)
	}
}

// TestRanksDivideAccumulate checks that the error names both keys and a number that fits.
func TestRanksDivideAccumulate(t *testing.T) {
	run, _, err := runconfig.Parse(models.Standard(), "a.yaml", []byte(deviceYAML), []string{"device.ranks=4", "train.accumulate=8", "device.rank_timeout=3"})
	require.NoError(t, err)
	require.Equal(t, runconfig.Device{Kind: "cpu", Precision: "fp32", Ranks: 4, RankTimeout: 3}, run.Device)
	_, _, err = runconfig.Parse(models.Standard(), "a.yaml", []byte(deviceYAML), []string{"device.ranks=4", "train.accumulate=6"})
	require.ErrorContains(t, err, "device.ranks: want a divisor of train.accumulate")
	require.ErrorContains(t, err, "got 4 and 6: set train.accumulate=8")
}
