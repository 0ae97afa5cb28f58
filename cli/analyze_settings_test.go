package cli

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/analysis/report"
	"github.com/residua-go/residua/cli/analyze"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/models"
)

// analyzeFlags are the flags of each command; all but theory have -checkpoint, -over and -threads
// before them, all -json and -out after them.
var analyzeFlags = map[string]string{
	"attribute":  "prompt ids bos token target against layer head top prompts",
	"lens":       "prompt ids bos token target tuned tuned-file data tuned-tokens tuned-steps",
	"heads":      "prompt ids bos layer head period rows seed",
	"circuits":   "prompt ids bos layer head full draws seed top",
	"wiring":     "prompt ids bos whole fdr from to",
	"basis":      "prompt ids bos controls seed",
	"directions": "prompt ids bos rows name count seed top",
	"probe":      "rows data prompts names offset labels method folds seed",
	"rotation":   "prompt ids bos seeds seed steps",
	"subspaces":  "",
	"ablate":     "prompt ids bos token target against rows with restore blocks names at top prompts",
	"patch":      "prompt ids bos corrupt corrupt-ids method points to at names token target against top prompts",
	"paths":      "prompt ids bos rows heads prompts",
	"memory":     "prompt ids bos seeds seed",
	"mixing":     "prompt ids bos seed",
	"changes":    "from seed",
	"steer":      "prompt ids bos toward away name at scale relative tokens temperature seed",
	"export":     "prompt ids bos rows data prompts names safetensors npy shard-mb",
	"theory":     "config seed",
	"features":   "rows data prompts sae name top examples",
}

// TestAnalyzeFlagsAreTheOptions: every flag is a field of a struct, with a help of its own; no name
// stands twice.
func TestAnalyzeFlagsAreTheOptions(t *testing.T) {
	for _, c := range analyze.Suite(models.Standard()).Commands {
		var names []string
		for _, s := range c.Settings.(commandline.Several) {
			flags, err := settings.NewFlags(s)
			require.NoError(t, err, c.Name)
			for _, f := range flags {
				assert.NotContains(t, names, f.Name, c.Name)
				names = append(names, f.Name)
				assert.NotEmpty(t, f.Help, "%s -%s", c.Name, f.Name)
			}
		}
		want := analyzeFlags[c.Name] + " json out"
		switch {
		case slices.Contains([]string{"attribute", "lens", "heads", "basis", "memory", "ablate", "mixing"}, c.Name): // can be followed over training
			want = "checkpoint base over threads " + want
		case c.Name != "theory":
			want = "checkpoint base threads " + want
		}
		assert.Equal(t, strings.Fields(want), names, c.Name)
	}
}

// TestAnalyzeHelpHasTheDefaults: the default prompt, and the numbers that options are without
// flags.
func TestAnalyzeHelpHasTheDefaults(t *testing.T) {
	for name, want := range map[string][]string{
		"attribute": {"without, " + strconv.Quote(report.DefaultPrompt), "(default 20)"},
		"lens":      {"(default 8192)", "(default 200)", report.TunedFile},
		"wiring":    {"(default 0.05)", "A prompt matters only in streams that mix what was written."},
		"ablate":    {"(default zero)"},
	} {
		help := analyzeWorks(t, name, "-h")
		for _, text := range want {
			assert.Contains(t, help, text, name)
		}
	}
	assert.Contains(t, analyzeWorks(t, "lens", "-h"), "("+report.PageFile+")")
}
