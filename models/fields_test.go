package models_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
)

// What a config field can change.
const (
	seenParameters = "parameters" // names and shapes
	seenInitial    = "initial"    // values before training
	seenRates      = "rates"      // muP's divisors of the learning rate
	seenLogits     = "logits"
	seenLoss       = "loss"
	seenGradients  = "gradients"
	seenTraining   = "training" // logits with dropout active
)

// fieldEffect says that a change of one field changes some of these and keeps others.
type fieldEffect struct {
	field          string // of Config, "MuP.X" for one of MuP
	base           models.Config
	change         func(c *models.Config)
	changes, keeps []string
}

// matrixBase and vectorBase have every field set that others need.
func matrixBase() models.Config {
	return tinyMatrix(func(c *models.Config) { c.MuP = &models.MuP{} })
}

func vectorBase() models.Config {
	return tinyVector(func(c *models.Config) { c.MuP = &models.MuP{} })
}

// withDocuments and withRope are bases in which a further field matters.
func withDocuments() models.Config {
	c := matrixBase()
	c.MaskDocuments, c.BOS = true, 1
	return c
}

func withRope() models.Config {
	c := matrixBase()
	c.Positions = models.PositionsRoPE
	return c
}

func shapeEffects() []fieldEffect {
	m, v := matrixBase(), vectorBase()
	all := []string{seenParameters, seenLogits}
	return []fieldEffect{
		{"Preset", models.Config{Preset: "quickstart", Layers: 1, Vocab: 13}, func(c *models.Config) { c.Preset = "quickstart-transformer" }, all, nil},
		{"Stream", models.Config{Preset: "quickstart", Layers: 1, Vocab: 13}, func(c *models.Config) { *c = v }, all, nil},
		{"Layers", m, func(c *models.Config) { c.Layers++ }, all, nil},
		{"DModel", v, func(c *models.Config) { c.DModel *= 2 }, all, nil},
		{"HeadSize", v, func(c *models.Config) { c.HeadSize = 7 }, all, nil},
		{"Heads", v, func(c *models.Config) { c.Heads = 5 }, []string{seenLogits, seenGradients}, []string{seenParameters, seenInitial}},
		{"Dk", m, func(c *models.Config) { c.Dk++ }, all, nil},
		{"Dv", m, func(c *models.Config) { c.Dv++ }, all, nil},
		{"Rank", m, func(c *models.Config) { c.Rank++ }, all, nil},
		{"FF", m, func(c *models.Config) { c.FF++ }, all, nil},
		{"Vocab", m, func(c *models.Config) { c.Vocab++ }, all, nil},
		{"Seq", m, func(c *models.Config) { c.Seq++ }, []string{seenParameters}, []string{seenLogits}},
		{"Bias", m, func(c *models.Config) { c.Bias = true }, all, nil},
		{"Bias", v, func(c *models.Config) { c.Bias = true }, all, nil},
		{"TieEmbeddings", m, func(c *models.Config) { c.TieEmbeddings = true }, all, nil},
		{"TieEmbeddings", v, func(c *models.Config) { c.TieEmbeddings = true }, all, nil},
		{"Positions", m, func(c *models.Config) { c.Positions = models.PositionsNone }, all, nil},
		{"Positions", v, func(c *models.Config) { c.Positions = models.PositionsNone }, all, nil},
	}
}

func functionEffects() []fieldEffect {
	m, v := matrixBase(), vectorBase()
	none := matrixBase()
	none.Positions = models.PositionsNone
	function, same := []string{seenLogits, seenLoss, seenGradients}, []string{seenParameters, seenInitial, seenRates}
	return []fieldEffect{
		{"Norm", m, func(c *models.Config) { c.Norm = models.NormRMS }, function, same},
		{"Norm", v, func(c *models.Config) { c.Norm = models.NormRMS }, function, same},
		{"NormEps", m, func(c *models.Config) { c.NormEps = 1e-2 }, function, same},
		{"NormEps", v, func(c *models.Config) { c.NormEps = 1e-2 }, function, same},
		{"Positions", none, func(c *models.Config) { c.Positions = models.PositionsALiBi }, function, same},
		{"Positions", none, func(c *models.Config) { c.Positions = models.PositionsRoPE }, function, same},
		{"RopeBase", withRope(), func(c *models.Config) { c.RopeBase = 100 }, function, same},
		{"InverseLayerScaling", m, func(c *models.Config) { c.InverseLayerScaling = true }, function, same},
		{"InverseLayerScaling", v, func(c *models.Config) { c.InverseLayerScaling = true }, function, same},
		{"Gelu", m, func(c *models.Config) { c.Gelu = models.GeluExact }, function, same},
		{"Gelu", v, func(c *models.Config) { c.Gelu = models.GeluExact }, function, same},
		{"Dropout", m, func(c *models.Config) { c.Dropout = 0.1 }, []string{seenTraining}, append(same, function...)},
		{"Dropout", v, func(c *models.Config) { c.Dropout = 0.1 }, []string{seenTraining}, append(same, function...)},
		{"MaskDocuments", m, func(c *models.Config) { c.MaskDocuments = true }, function, same},
		{"MaskDocuments", v, func(c *models.Config) { c.MaskDocuments = true }, function, same},
		{"BOS", withDocuments(), func(c *models.Config) { c.BOS = 4 }, function, same},
		{"ZLoss", m, func(c *models.Config) { c.ZLoss = 1e-3 }, []string{seenLoss, seenGradients}, append(same, seenLogits, seenTraining)},
		{"ZLoss", v, func(c *models.Config) { c.ZLoss = 1e-3 }, []string{seenLoss, seenGradients}, append(same, seenLogits, seenTraining)},
	}
}

func startEffects() []fieldEffect {
	m, v := matrixBase(), vectorBase()
	start, same := []string{seenInitial}, []string{seenParameters, seenRates, seenLogits, seenLoss, seenGradients}
	return []fieldEffect{
		{"Init", m, func(c *models.Config) { c.Init = models.InitLeCun }, start, same},
		{"Init", v, func(c *models.Config) { c.Init = models.InitLeCun }, start, same},
		{"InitStd", m, func(c *models.Config) { c.InitStd = 0.03 }, start, same},
		{"InitStd", v, func(c *models.Config) { c.InitStd = 0.03 }, start, same},
		{"EmbeddingStd", m, func(c *models.Config) { c.EmbeddingStd = 0.03 }, start, same},
		{"EmbeddingStd", v, func(c *models.Config) { c.EmbeddingStd = 0.03 }, start, same},
	}
}

func mupEffects() []fieldEffect {
	m, v := matrixBase(), vectorBase()
	mup := func(f func(p *models.MuP)) func(c *models.Config) {
		return func(c *models.Config) {
			p := *c.MuP
			f(&p)
			c.MuP = &p
		}
	}
	function, same := []string{seenLogits, seenLoss, seenGradients}, []string{seenParameters, seenInitial}
	both := append([]string{seenRates}, function...)
	return []fieldEffect{
		{"MuP", tinyMatrix(func(*models.Config) {}), func(c *models.Config) { c.MuP = &models.MuP{AttnMultiplier: 2} }, function, append(same, seenRates)},
		{"MuP.BaseDModel", v, mup(func(p *models.MuP) { p.BaseDModel = 5 }), both, same},
		{"MuP.BaseHeads", v, mup(func(p *models.MuP) { p.BaseHeads = 1 }), []string{seenRates}, append(same, function...)},
		{"MuP.BaseHeadDim", v, mup(func(p *models.MuP) { p.BaseHeadDim = 2 }), both, same},
		{"MuP.BaseFF", v, mup(func(p *models.MuP) { p.BaseFF = 2 }), []string{seenRates}, append(same, function...)},
		{"MuP.BaseFF", m, mup(func(p *models.MuP) { p.BaseFF = 2 }), []string{seenRates}, append(same, function...)},
		{"MuP.BaseDk", m, mup(func(p *models.MuP) { p.BaseDk = 2 }), []string{seenRates}, append(same, function...)},
		{"MuP.BaseDv", m, mup(func(p *models.MuP) { p.BaseDv = 2 }), both, same},
		{"MuP.BaseRank", m, mup(func(p *models.MuP) { p.BaseRank = 2 }), both, same},
		{"MuP.InputMultiplier", m, mup(func(p *models.MuP) { p.InputMultiplier = 2 }), function, append(same, seenRates)},
		{"MuP.InputMultiplier", v, mup(func(p *models.MuP) { p.InputMultiplier = 2 }), function, append(same, seenRates)},
		{"MuP.OutputMultiplier", m, mup(func(p *models.MuP) { p.OutputMultiplier = 2 }), function, append(same, seenRates)},
		{"MuP.OutputMultiplier", v, mup(func(p *models.MuP) { p.OutputMultiplier = 2 }), function, append(same, seenRates)},
		{"MuP.AttnMultiplier", m, mup(func(p *models.MuP) { p.AttnMultiplier = 2 }), function, append(same, seenRates)},
		{"MuP.AttnMultiplier", v, mup(func(p *models.MuP) { p.AttnMultiplier = 2 }), function, append(same, seenRates)},
	}
}

// TestEveryFieldHasAnEffect: no option is silently ignored. A new field of Config or MuP
// without a row here fails.
func TestEveryFieldHasAnEffect(t *testing.T) {
	tested, before := map[string]bool{}, observation{}
	for _, effects := range [][]fieldEffect{shapeEffects(), functionEffects(), startEffects(), mupEffects(), zooEffects()} {
		for _, e := range effects {
			tested[e.field] = true
			t.Run(e.field+"/"+e.base.Resolve().Stream, func(t *testing.T) { e.check(t, &before) })
		}
	}
	for _, name := range fieldNames() {
		assert.True(t, tested[name], "field %s has no row: say what it changes", name)
		delete(tested, name)
	}
	assert.Empty(t, tested, "rows of fields that do not exist")
}

func fieldNames() []string {
	var names []string
	for i := range reflect.TypeFor[models.Config]().NumField() {
		names = append(names, reflect.TypeFor[models.Config]().Field(i).Name)
	}
	for i := range reflect.TypeFor[models.MuP]().NumField() {
		names = append(names, "MuP."+reflect.TypeFor[models.MuP]().Field(i).Name)
	}
	return names
}

// observation is what a config was last seen to do; rows of one base follow each other.
type observation struct {
	config models.Config
	seen   map[string]any
}

// of observes a config, if it is another than the last.
func (o *observation) of(t *testing.T, c models.Config) map[string]any {
	if o.seen == nil || !reflect.DeepEqual(o.config, c) {
		o.config, o.seen = c, observe(t, c)
	}
	return o.seen
}

func (e fieldEffect) check(t *testing.T, base *observation) {
	changed := e.base
	e.change(&changed)
	name, inMuP := strings.CutPrefix(e.field, "MuP.")
	if inMuP {
		require.NotEqual(t, field(*e.base.MuP, name), field(*changed.MuP, name), "the row changes another field")
	} else {
		require.NotEqual(t, field(e.base, name), field(changed, name), "the row changes another field")
	}
	before, after := base.of(t, e.base), observe(t, changed)
	for _, what := range e.changes {
		assert.NotEqual(t, before[what], after[what], "%s should change", what)
	}
	for _, what := range e.keeps {
		assert.Equal(t, before[what], after[what], "%s should not change", what)
	}
}

func field(config any, name string) any { return reflect.ValueOf(config).FieldByName(name).Interface() }

// observe returns all that a config can change, by name, for one row in which each id that
// a row of the table takes for BOS stands at another place.
func observe(t *testing.T, c models.Config) map[string]any {
	store := modeltest.NewStore(t, c, tensor.Float64, 1)
	seen := map[string]any{seenInitial: modeltest.Values(store)}
	shapes, divisors := map[string][]int{}, map[string]float64{}
	for _, p := range store.Params() {
		shapes[p.Name], divisors[p.Name] = p.Shape, p.WidthRatio
	}
	seen[seenParameters], seen[seenRates] = shapes, divisors
	modeltest.Perturb(t, store)
	b := modeltest.Batch{Rows: 1, Seq: 8, Inputs: []int32{3, 5, 0, 7, 1, 9, 4, 2}, Targets: []int32{5, 0, 7, 1, 9, 4, 2, 6}}
	r := modeltest.Compile(t, c, store, modeltest.Setup{Rows: 1, Seq: 8, Gradients: true}).On(t, b, graph.RunOptions{})
	seen[seenLogits], seen[seenLoss], seen[seenGradients] = r.Logits, r.Loss, modeltest.Gradients(store)
	seen[seenTraining] = modeltest.Compile(t, c, store, modeltest.Setup{Rows: 1, Seq: 8, Training: true}).On(t, b, graph.RunOptions{}).Logits
	return seen
}
