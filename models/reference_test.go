package models_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// Tolerances for max |difference| / max |reference| of a tensor.
const (
	tolerance64       = 1e-9
	tolerance32       = 2e-5
	toleranceSteps    = 1e-4 // losses and gradient norms of training steps
	toleranceWeights  = 1e-3 // weights after them
	toleranceSchedule = 1e-6
	gradientFloor     = 0.1 // the smallest denominator for a gradient, as a share of the model's largest gradient entry
)

// referenceDir returns the folder with the references: RESIDUA_REFERENCE, or the project's own. A
// relative path is relative to the project's root, where go test ./... is called.
func referenceDir() string {
	dir := os.Getenv("RESIDUA_REFERENCE")
	switch {
	case dir == "":
		return filepath.Join("..", "testdata", "reference")
	case filepath.IsAbs(dir):
		return dir
	}
	return filepath.Join("..", dir)
}

// expected is a reference's expected.json.
type expected struct {
	Kind         string          `json:"kind"`
	Config       json.RawMessage `json:"config"`
	Vocab        int             `json:"vocab"`
	Batch        int             `json:"batch"`
	Seq          int             `json:"seq"`
	BOS          int             `json:"bos"`
	Loss         float64         `json:"loss"`
	LossWithZ    float64         `json:"loss_with_z"`
	CrossEntropy float64         `json:"cross_entropy"`
	ZLoss        float64         `json:"z_loss"`
	Training     *training       `json:"training"`
}

// training is the reference's record of its training steps.
type training struct {
	Steps []struct {
		Schedule     float64 `json:"schedule"`
		LossWithZ    float64 `json:"loss_with_z"`
		CrossEntropy float64 `json:"cross_entropy"`
		GradNorm     float64 `json:"grad_norm"`
	} `json:"steps"`
	PeakLR      float64 `json:"peak_lr"`
	Warmup      int     `json:"warmup_steps"`
	Total       int     `json:"total_steps"`
	B1          float64 `json:"b1"`
	B2          float64 `json:"b2"`
	Eps         float64 `json:"eps"`
	Clip        float64 `json:"clip"`
	WeightDecay float64 `json:"weight_decay"`
}

// reference is a folder or file of a reference, opened.
type reference struct {
	dir       string
	expected  expected
	config    models.Config
	auxiliary models.Auxiliary // the losses that it adds to the cross-entropy
	weights   []link           // where its weights and gradients are in ours
	watched   []link           // where its intermediate values are in our hooks
	rows      int              // of the batch, as the config says; 0: it does not
	device    graph.Options    // Device and Precision of our computation; zero: the CPU
}

// TestReference compares models with numbers that other people's code computed, for every folder it
// finds.
func TestReference(t *testing.T) {
	folders, huggingFace := referenceFolders(t)
	require.NotEmpty(t, append(folders, huggingFace...), "folders with expected.json and weights, or a Hugging Face config.json, in %s", referenceDir())
	for _, dir := range folders {
		t.Run(strings.TrimSuffix(filepath.Base(dir), fileSuffix), func(t *testing.T) { testFolder(t, dir) })
	}
	for _, dir := range huggingFace {
		t.Run(filepath.Base(dir), func(t *testing.T) { testHuggingFace(t, dir) })
	}
}

// referenceFolders lists the references of models: files, and folders with expected.json and
// weights; and Hugging Face's.
func referenceFolders(t *testing.T) (folders, huggingFace []string) {
	has := func(dir, name string) bool {
		_, err := os.Stat(filepath.Join(dir, name))
		return err == nil
	}
	dirs := []string{referenceDir()} // which may be a reference itself
	entries, err := os.ReadDir(referenceDir())
	require.NoError(t, err)
	for _, e := range entries {
		path := filepath.Join(referenceDir(), e.Name())
		if filepath.Ext(path) == fileSuffix {
			folders = append(folders, path)
			continue
		}
		dirs = append(dirs, path)
	}
	for _, dir := range dirs {
		switch {
		case has(dir, "expected.json"):
			if has(dir, "weights.safetensors") {
				folders = append(folders, dir)
			}
		case has(dir, "config.json") || has(dir, "meta.json"):
			huggingFace = append(huggingFace, dir)
		}
	}
	return folders, huggingFace
}

// TestEveryDesignHasAReference: there are reference numbers for each stream and feed-forward of the
// zoo, and for every way in which a folder can be read.
func TestEveryDesignHasAReference(t *testing.T) {
	if os.Getenv("RESIDUA_REFERENCE") != "" {
		t.Skip("other references than the project's")
	}
	folders, _ := referenceFolders(t)
	designs, kinds := map[string]bool{}, map[string]bool{}
	for _, dir := range folders {
		r := openReference(t, dir)
		c := modeltest.Resolve(t, r.config)
		kinds[r.expected.Kind], designs[c.Stream.Name()] = true, true
		if c.FeedForward != nil {
			designs[c.FeedForward.Name()] = true
		}
	}
	for _, d := range models.Standard().Streams() {
		assert.True(t, designs[d.Name()], "stream %s: want testdata/reference/%s.safetensors", d.Name(), d.Name())
	}
	for _, d := range models.Standard().FeedForwards() {
		assert.True(t, designs[d.Name()], "feed-forward %s: want a folder in testdata/reference", d.Name())
	}
	for kind := range readers() {
		assert.True(t, kinds[kind], "no reference of kind %s", kind)
	}
}

func testFolder(t *testing.T, dir string) {
	r := openReference(t, dir)
	official, trained := r.official(), r.expected.Training != nil && !r.official()
	worst32 := math.NaN() // not known yet
	t.Run("float32", func(t *testing.T) {
		worst32 = r.checkForward(t, tensor.Float32, tolerance32)
		if official {
			r.checkIntermediates(t)
			r.checkTraining(t)
		}
		if trained {
			r.checkMuon(t, tensor.Float32)
		}
	})
	if !official {
		t.Run("float64", func(t *testing.T) {
			r.checkForward(t, tensor.Float64, tolerance64)
			if trained {
				r.checkMuon(t, tensor.Float64)
			}
		})
	}
	for _, d := range devices() {
		t.Run(d.name, func(t *testing.T) {
			if math.IsNaN(worst32) && !d.exact { // this test is run alone
				r.device = graph.Options{}
				worst32 = r.checkForward(t, tensor.Float32, tolerance32)
			}
			r.device = d.options
			r.checkForward(t, tensor.Float32, d.bound(worst32))
			if official && d.exact {
				r.checkIntermediates(t)
				r.checkTraining(t)
			}
			if trained && d.exact {
				r.checkMuon(t, tensor.Float32)
			}
		})
	}
}

// official tells whether a folder comes from the RMT authors' code.
func (r *reference) official() bool { return strings.HasPrefix(r.expected.Kind, "official-") }

// referenceDevice is a device other than the CPU on which a build compares references.
type referenceDevice struct {
	name      string
	options   graph.Options
	tolerance float64
	unit      float64 // the rounding error, in float32 rounding errors
	exact     bool    // as exact as the CPU in float32
}

// bound returns the tolerance for a reference whose worst error in float32 is known. Rounding
// errors grow with the unit. If the model is so ill-conditioned that half of its float32 error
// times the unit exceeds the tolerance, the bound is half of what the bound on float32 errors
// gives; if only the whole does, as for conv-documents, it is twice the tolerance. The
// model's own error would be a poor bound: it is a single sample, and differs between processors
// (hyper-dynamic: 1.1e-5 with AVX2, 1.3e-5 with AVX-512, 1.7e-5 in portable Go).
func (d referenceDevice) bound(worst32 float64) float64 {
	switch amplified := worst32 * d.unit; {
	case d.exact || amplified <= d.tolerance:
		return d.tolerance
	case amplified/2 <= d.tolerance:
		return 2 * d.tolerance
	}
	return tolerance32 * d.unit / 2
}

// openReference reads what is expected, and lets the reader for its kind read the rest.
func openReference(t *testing.T, dir string) *reference {
	r := &reference{dir: dir}
	require.NoError(t, json.Unmarshal(expectedText(t, dir), &r.expected))
	read := readers()[r.expected.Kind]
	if read == nil && slices.Contains(models.Standard().StreamNames(), r.expected.Kind) {
		read = readDesign
	}
	require.NotNil(t, read, "%s: want a kind that is a stream's name or in readers, got %q", dir, r.expected.Kind)
	read(t, r)
	return r
}
