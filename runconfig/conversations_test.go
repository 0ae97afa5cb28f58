package runconfig_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
)

// TestConversationsMaskDocuments unless the config says otherwise; data.cut is about them alone,
// and GPUs refuse them.
func TestConversationsMaskDocuments(t *testing.T) {
	load := func(sets ...string) (*runconfig.Run, error) {
		run, _, err := runconfig.Load(models.Standard(), "../configs/pilot.yaml", append([]string{"data.path=[x.jsonl]"}, sets...))
		return run, err
	}
	run, err := load("data.source=conversations", "data.cut=true")
	require.NoError(t, err)
	assert.Equal(t, []bool{true, true, true}, []bool{run.Data.Cut, run.Data.MaskDocuments, run.Spec().MaskDocuments})
	run, err = load("data.source=conversations", "data.mask_documents=false")
	require.NoError(t, err)
	assert.False(t, run.Data.MaskDocuments)
	for want, sets := range map[string][]string{
		"data.cut: want data.source conversations, got files":             {"data.source=files", "data.cut=true"},
		"data.source: want device.kind cpu for conversations, whose targ": {"data.source=conversations", "device.kind=cuda"},
	} {
		_, err := load(sets...)
		assert.ErrorContains(t, err, want)
	}
}
