package models_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorgonia.org/tensor"

	"github.com/residua-go/residua/graph"
	"github.com/residua-go/residua/layers"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/models/modeltest"
	"github.com/residua-go/residua/stream"
)

// What a setting can change.
const (
	seenParameters = "parameters" // names and shapes
	seenInitial    = "initial"    // values before training
	seenRates      = "rates"      // muP's divisors of the learning rate
	seenLogits     = "logits"
	seenLoss       = "loss"
	seenGradients  = "gradients"
	seenTraining   = "training" // logits with dropout active
)

// subject holds everything that determines what a training step computes.
type subject struct {
	models.Config
	models.Auxiliary
}

// effect says that changing one setting changes some of what observe returns and keeps the rest.
type effect struct {
	key            string // as settingsOf lists it
	base           models.Config
	change         func(c *subject)
	changes, keeps []string
}

func shapeEffects() []effect {
	m, v := matrixBase(), vectorBase()
	every := []string{seenParameters, seenLogits}
	return []effect{
		{"preset", m, func(c *subject) { c.Preset = "quickstart" }, nil, everything()}, // for the record
		{"stream", m, func(c *subject) { c.Config = v }, every, nil},
		{"feedforward", v, func(c *subject) { experts(3, 2)(&c.Config) }, every, nil},
		{"layers", m, func(c *subject) { c.Layers++ }, every, nil},
		{"stream.vector.d_model", v, onField("D", 30), every, nil},
		{"stream.vector.layerscale", v, onField("LayerScale", true), every, nil},
		{"stream.vector.x0", v, onField("X0", "nanochat"), every, nil},
		{"attention.head_dim", v, func(c *subject) { c.Attention.HeadDim = 7 }, every, nil},
		{"attention.heads", v, func(c *subject) { c.Attention.Heads = 5 }, []string{seenLogits, seenGradients}, []string{seenParameters, seenInitial}},
		{"attention.kv_heads", v, func(c *subject) { c.Attention.KVHeads = 1 }, every, nil},
		{"attention.kv_heads", m, func(c *subject) { c.Attention.KVHeads = 1 }, every, nil},
		{"attention.qk_norm", v, func(c *subject) { c.Attention.QKNorm = true }, every, nil},
		{"attention.qk_norm", m, func(c *subject) { c.Attention.QKNorm = true }, every, nil},
		{"attention.value_embeddings", v, func(c *subject) { c.Attention.ValueEmbeddings = 3 }, every, nil},
		{"attention.value_residual", v, func(c *subject) { c.Attention.ValueResidual = models.ValuesLearned }, every, nil},
		{"attention.value_residual", m, func(c *subject) { c.Attention.ValueResidual = models.ValuesFixed }, []string{seenLogits}, []string{seenParameters}},
		{"stream.matrix.dk", m, onField("Dk", 6), every, nil},
		{"stream.matrix.dv", m, onField("Dv", 7), every, nil},
		{"stream.matrix.rank", m, onField("Rank", 4), every, nil},
		{"feedforward.gelu.hidden", m, inFeedForward("Hidden", 12), every, nil},
		{"vocab", m, func(c *subject) { c.Vocab++ }, every, nil},
		{"seq", m, func(c *subject) { c.Seq++ }, []string{seenParameters}, []string{seenLogits}},
		{"bias", m, func(c *subject) { c.Bias = true }, every, nil},
		{"bias", v, func(c *subject) { c.Bias = true }, every, nil},
		{"norms", v, func(c *subject) { c.Norms = stream.NormsBoth }, every, nil},
		{"attention.bias", v, func(c *subject) { c.Attention.Bias = stream.HeadBiasesQKV }, every, nil},
		{"feedforward_bias", v, func(c *subject) { c.FFBias = true }, every, nil},
		{"feedforward_bias", m, func(c *subject) { c.FFBias = true }, every, nil},
		{"attention.qk_norm_over", tinyVector(func(c *models.Config) { c.Attention.QKNorm = true }), func(c *subject) { c.Attention.QKNormOver = "row" }, every, nil},
		{"tie_embeddings", m, func(c *subject) { c.TieEmbeddings = true }, every, nil},
		{"tie_embeddings", v, func(c *subject) { c.TieEmbeddings = true }, every, nil},
		{"attention.positions", m, func(c *subject) { c.Attention.Positions = models.PositionsNone }, every, nil},
		{"attention.positions", v, func(c *subject) { c.Attention.Positions = models.PositionsNone }, every, nil},
	}
}

func functionEffects() []effect {
	m, v := matrixBase(), vectorBase()
	none := matrixBase()
	none.Attention.Positions = models.PositionsNone
	function, same := []string{seenLogits, seenLoss, seenGradients}, []string{seenParameters, seenInitial, seenRates}
	return []effect{
		{"norm", m, func(c *subject) { c.Norm = models.NormRMS }, function, same},
		{"norm", v, func(c *subject) { c.Norm = models.NormRMS }, function, same},
		{"norm_eps", m, func(c *subject) { c.NormEps = 1e-2 }, function, same},
		{"norm_eps", v, func(c *subject) { c.NormEps = 1e-2 }, function, same},
		{"attention.positions", none, func(c *subject) { c.Attention.Positions = models.PositionsALiBi }, function, same},
		{"attention.positions", none, func(c *subject) { c.Attention.Positions = models.PositionsRoPE }, function, same},
		{"attention.rope_base", withRope(), func(c *subject) { c.Attention.RopeBase = 100 }, function, same},
		{"attention.rope_scaling.type", withRope(), func(c *subject) { c.Attention.RopeScaling = layers.RopeScaling{Type: layers.RopeLinear, Factor: 2} }, function, same},
		scaledRope("factor", layers.RopeLinear, func(r *layers.RopeScaling) { r.Factor = 3 }),
		scaledRope("original_seq", layers.RopeLlama3, func(r *layers.RopeScaling) { r.OriginalSeq = 4000 }),
		scaledRope("low_freq_factor", layers.RopeLlama3, func(r *layers.RopeScaling) { r.LowFreqFactor = 0.1 }),
		scaledRope("high_freq_factor", layers.RopeLlama3, func(r *layers.RopeScaling) { r.HighFreqFactor = 20 }),
		scaledRope("beta_fast", layers.RopeYaRN, func(r *layers.RopeScaling) { r.BetaFast = 2 }),
		scaledRope("beta_slow", layers.RopeYaRN, func(r *layers.RopeScaling) { r.BetaSlow = 0.05 }),
		scaledRope("attention_factor", layers.RopeYaRN, func(r *layers.RopeScaling) { r.AttentionFactor = 2 }),
		{"attention.inverse_layer_scaling", m, func(c *subject) { c.Attention.InverseLayerScaling = true }, function, same},
		{"attention.inverse_layer_scaling", v, func(c *subject) { c.Attention.InverseLayerScaling = true }, function, same},
		{"gelu", m, func(c *subject) { c.Gelu = models.GeluExact }, function, same},
		{"gelu", v, func(c *subject) { c.Gelu = models.GeluExact }, function, same},
		{"dropout", m, func(c *subject) { c.Dropout = 0.1 }, []string{seenTraining}, append(same, function...)},
		{"dropout", v, func(c *subject) { c.Dropout = 0.1 }, []string{seenTraining}, append(same, function...)},
		{"embedding_scale", v, func(c *subject) { c.EmbeddingScale = 2 }, function, same},
		{"embedding_scale", m, func(c *subject) { c.EmbeddingScale = 2 }, function, same},
		{"residual_scale", v, func(c *subject) { c.ResidualScale = 0.5 }, function, same},
		{"residual_scale", m, func(c *subject) { c.ResidualScale = 0.5 }, function, same},
		{"logit_scale", v, func(c *subject) { c.LogitScale = 0.5 }, function, same},
		{"parallel", v, func(c *subject) { c.Parallel = true }, function, same},
		{"parallel", m, func(c *subject) { c.Parallel = true }, function, same},
		{"attention.scale", v, func(c *subject) { c.Attention.Scale = 2 }, function, same},
		{"attention.softcap", m, func(c *subject) { c.Attention.Softcap = 0.01 }, function, same},
		{"attention.softcap", v, func(c *subject) { c.Attention.Softcap = 0.01 }, function, same},
		{"attention.rope_part", withRope(), func(c *subject) { c.Attention.RopePart = 0.5 }, function, same},
		{"attention.no_rope", withRope(), func(c *subject) { c.Attention.NoRope = []int{1} }, function, same},
		{"logit_softcap", m, func(c *subject) { c.LogitSoftcap = 0.01 }, function, same},
		{"logit_softcap", v, func(c *subject) { c.LogitSoftcap = 0.01 }, function, same},
		{"mask_documents", m, func(c *subject) { c.MaskDocuments = true }, function, same},
		{"mask_documents", v, func(c *subject) { c.MaskDocuments = true }, function, same},
		{"loops", v, func(c *subject) { c.Loops = 2 }, append(function, seenInitial), []string{seenParameters, seenRates}},
		{"loop_begin", tinyVector(looped(2, 0, 2, 2)), func(c *subject) { c.LoopBegin = 1 }, append(function, seenInitial), []string{seenParameters, seenRates}},
		{"loop_end", tinyVector(looped(2, 0, 2, 2)), func(c *subject) { c.LoopEnd = 1 }, append(function, seenInitial), []string{seenParameters, seenRates}},
		{"attention.kind", m, func(c *subject) { c.Attention.Kind = layers.SlidingAttention{Window: 2} }, function, same},
		{"attention.kind", v, func(c *subject) { c.Attention.Kind = layers.SlidingAttention{Window: 2} }, function, same},
		slides("window", layers.SlidingAttention{Window: 4, Sinks: 1}),
		slides("sinks", layers.SlidingAttention{Window: 2, Sinks: 2}),
		{"attention.kind.sliding.window_rope_base", slidingRope(0), func(c *subject) { c.Attention.Kind = layers.SlidingAttention{Window: 3, RopeBase: 100} }, function, same},
		{"attention.rope_scaling.short_factors", longRope(64), func(c *subject) { c.Attention.RopeScaling.ShortFactors = []float64{1, 2, 4} }, function, same},
		{"attention.rope_scaling.long_factors", longRope(4), func(c *subject) { c.Attention.RopeScaling.LongFactors = []float64{1, 2, 4} }, function, same},
		slides("layers", layers.SlidingAttention{Window: 2, Sinks: 1, Layers: []int{1}}),
		{"bos", withDocuments(), func(c *subject) { c.BOS = 4 }, function, same},
		{"separator", withDocuments(), func(c *subject) { c.Separator = 4 }, function, same},
		{"ZLoss", m, func(c *subject) { c.ZLoss = 1e-3 }, []string{seenLoss, seenGradients}, append(same, seenLogits, seenTraining)},
		{"ZLoss", v, func(c *subject) { c.ZLoss = 1e-3 }, []string{seenLoss, seenGradients}, append(same, seenLogits, seenTraining)},
	}
}

// slides returns the effect of changing a sliding window.
func slides(key string, to layers.SlidingAttention) effect {
	base := vectorBase()
	base.Attention.Kind = layers.SlidingAttention{Window: 2, Sinks: 1}
	return effect{"attention.kind.sliding." + key, base, func(c *subject) { c.Attention.Kind = to },
		[]string{seenLogits, seenLoss, seenGradients}, []string{seenParameters, seenInitial, seenRates}}
}

// scaledRope returns the effect of changing scaled positions.
func scaledRope(key, kind string, change func(*layers.RopeScaling)) effect {
	base := withRope()
	base.Attention.RopeScaling = layers.RopeScaling{Type: kind, Factor: 2}
	if kind != layers.RopeLinear {
		base.Attention.RopeScaling.OriginalSeq = 1000
	}
	return effect{"attention.rope_scaling." + key, base, func(c *subject) { change(&c.Attention.RopeScaling) },
		[]string{seenLogits, seenLoss, seenGradients}, []string{seenParameters, seenInitial, seenRates}}
}

func startEffects() []effect {
	m, v := matrixBase(), vectorBase()
	start, same := []string{seenInitial}, []string{seenParameters, seenRates, seenLogits, seenLoss, seenGradients}
	return []effect{
		{"init", m, func(c *subject) { c.Init = models.InitLeCun }, start, same},
		{"init", v, func(c *subject) { c.Init = models.InitLeCun }, start, same},
		{"init", m, func(c *subject) { c.Init = models.InitLeCunAll }, start, same},
		{"init", v, func(c *subject) { c.Init = models.InitLeCunAll }, start, same},
		{"init_std", m, func(c *subject) { c.InitStd = 0.03 }, start, same},
		{"init_std", v, func(c *subject) { c.InitStd = 0.03 }, start, same},
		{"embedding_std", m, func(c *subject) { c.EmbeddingStd = 0.03 }, start, same},
		{"embedding_std", v, func(c *subject) { c.EmbeddingStd = 0.03 }, start, same},
	}
}

func mupEffects() []effect {
	m, v := matrixBase(), vectorBase()
	scaled := func(d layers.FeedForwardDesign) models.Config {
		return tinyVector(all(withFeedForward(d), func(c *models.Config) { c.MuP = &models.MuP{} }))
	}
	moe := tinyVector(experts(3, 2))
	moe.MuP = &models.MuP{}
	mup := func(f func(p *models.MuP)) func(c *subject) {
		return func(c *subject) {
			p := *c.MuP
			f(&p)
			c.MuP = &p
		}
	}
	keys := func(base stream.MatrixConfig) func(c *subject) {
		return mup(func(p *models.MuP) { p.Base.Stream = base })
	}
	ofExperts := func(base models.Config) func(c *subject) {
		return mup(func(p *models.MuP) { p.Base.FeedForward = base.FeedForward })
	}
	input, output := mup(func(p *models.MuP) { p.InputMultiplier = 2 }), mup(func(p *models.MuP) { p.OutputMultiplier = 2 })
	attention, hidden := mup(func(p *models.MuP) { p.AttnMultiplier = 2 }), mup(func(p *models.MuP) { p.Base.FeedForward = gelu(2) })
	function, same := []string{seenLogits, seenLoss, seenGradients}, []string{seenParameters, seenInitial}
	both, rates := append([]string{seenRates}, function...), []string{seenRates}
	return []effect{
		{"mup", tinyMatrix(plainly), func(c *subject) { c.MuP = &models.MuP{AttnMultiplier: 2} }, function, append(same, seenRates)},
		{"mup.base.stream.vector.d_model", v, mup(func(p *models.MuP) { p.Base.Stream = vectorOf(5) }), both, same},
		{"mup.base.stream.vector.layerscale", v, mup(func(p *models.MuP) { p.Base.Stream = stream.VectorConfig{LayerScale: true} }), nil, everything()}, // an option is not a size
		{"mup.base.stream.vector.x0", v, mup(func(p *models.MuP) { p.Base.Stream = stream.VectorConfig{X0: "neutral"} }), nil, everything()},
		{"mup.base.stream.vector.embedding_norm", v, mup(func(p *models.MuP) { p.Base.Stream = stream.VectorConfig{EmbeddingNorm: true} }), nil, everything()},
		{"mup.base.stream.vector.smear", v, mup(func(p *models.MuP) { p.Base.Stream = stream.VectorConfig{Smear: 2} }), nil, everything()},
		{"mup.base.stream.vector.backout", v, mup(func(p *models.MuP) { p.Base.Stream = stream.VectorConfig{Backout: true} }), nil, everything()},
		{"mup.base.attention.heads", v, mup(func(p *models.MuP) { p.Base.Attention.Heads = 1 }), rates, append(same, function...)},
		{"mup.base.attention.head_dim", v, mup(func(p *models.MuP) { p.Base.Attention.HeadDim = 2 }), both, same},
		{"mup.base.feedforward.gelu.hidden", v, hidden, rates, append(same, function...)},
		{"mup.base.feedforward.gelu.hidden", m, hidden, rates, append(same, function...)},
		{"mup.base.feedforward.swiglu.hidden", scaled(layers.SwiGLUConfig{Hidden: 8}), mup(func(p *models.MuP) { p.Base.FeedForward = layers.SwiGLUConfig{Hidden: 4} }), rates, append(same, function...)},
		{"mup.base.feedforward.swiglu.gate", scaled(layers.SwiGLUConfig{Hidden: 8}), mup(func(p *models.MuP) { p.Base.FeedForward = layers.SwiGLUConfig{Gate: layers.GateGELU} }), nil, everything()},
		{"mup.base.feedforward.relu.hidden", scaled(layers.ReLUConfig{Hidden: 8}), mup(func(p *models.MuP) { p.Base.FeedForward = layers.ReLUConfig{Hidden: 4} }), rates, append(same, function...)},
		{"mup.base.feedforward.relu2.hidden", scaled(layers.ReLU2Config{Hidden: 8}), mup(func(p *models.MuP) { p.Base.FeedForward = layers.ReLU2Config{Hidden: 4} }), rates, append(same, function...)},
		{"mup.base.feedforward.moe.hidden", moe, ofExperts(tinyMatrix(experts(0, 0))), rates, append(same, function...)},
		{"mup.base.feedforward.moe.experts", moe, ofExperts(tinyVector(experts(8, 0))), nil, everything()}, // the number of a base's experts is not a width
		{"mup.base.feedforward.moe.top_k", moe, ofExperts(tinyVector(experts(0, 1))), nil, everything()},
		{"mup.base.feedforward.moe.raw_gates", moe, mup(func(p *models.MuP) { p.Base.FeedForward = layers.MoEConfig{RawGates: true} }), nil, everything()},
		{"mup.base.stream.matrix.dk", m, keys(stream.MatrixConfig{Dk: 2}), rates, append(same, function...)},
		{"mup.base.stream.matrix.dv", m, keys(stream.MatrixConfig{Dv: 2}), both, same},
		{"mup.base.stream.matrix.rank", m, keys(stream.MatrixConfig{Rank: 2}), both, same},
		{"mup.input_multiplier", m, input, function, append(same, seenRates)},
		{"mup.input_multiplier", v, input, function, append(same, seenRates)},
		{"mup.output_multiplier", m, output, function, append(same, seenRates)},
		{"mup.output_multiplier", v, output, function, append(same, seenRates)},
		{"mup.attn_multiplier", m, attention, function, append(same, seenRates)},
		{"mup.attn_multiplier", v, attention, function, append(same, seenRates)},
	}
}

// TestEverySettingHasAnEffect: no setting is silently ignored. A new setting of the config, of a
// feed-forward or of the auxiliary losses without a row here fails the test; a new setting of a
// stream without a row is tried on the stream's small preset.
func TestEverySettingHasAnEffect(t *testing.T) {
	tested, before := map[string]bool{}, observation{}
	for _, effects := range [][]effect{shapeEffects(), functionEffects(), startEffects(), mupEffects(), zooEffects(t), writesEffects(t)} {
		for _, e := range effects {
			tested[e.key] = true
			t.Run(e.key+"/"+e.base.Stream.Name(), func(t *testing.T) { e.check(t, &before) })
		}
	}
	for _, p := range modeltest.Small(models.Standard()) {
		prefix := "stream." + p.Config.Stream.Name() + "."
		for _, key := range keysOf(prefix, reflect.TypeOf(p.Config.Stream), models.Standard(), false) {
			if !tested[key] {
				tested[key] = true
				t.Run(key, func(t *testing.T) { checkAnyEffect(t, p.Config, strings.TrimPrefix(key, prefix)) })
			}
		}
	}
	for _, key := range keysOf("", reflect.TypeFor[subject](), models.Standard(), false) {
		assert.True(t, tested[key], "setting %s has no row: say what it changes", key)
		delete(tested, key)
	}
	assert.Empty(t, tested, "rows of settings that do not exist")
}

// checkAnyEffect checks that another value of a setting of the stream changes something.
func checkAnyEffect(t *testing.T, c models.Config, key string) {
	changed := c
	design := reflect.New(reflect.TypeOf(c.Stream)).Elem()
	design.Set(reflect.ValueOf(layers.WithDefaults(c.Stream)))
	for _, f := range reflect.VisibleFields(design.Type()) {
		if f.Tag.Get("yaml") != key {
			continue
		}
		switch v := design.FieldByIndex(f.Index); v.Kind() {
		case reflect.Int:
			v.SetInt(2*v.Int() + 5*(1-min(1, v.Int()))) // 5 where the default is 0
		case reflect.Bool:
			v.SetBool(!v.Bool())
		case reflect.Float64:
			v.SetFloat(v.Float()/2 + 0.125)
		default:
			t.Fatalf("%s: want a row for a setting of type %s", key, v.Type())
		}
	}
	changed.Stream = design.Interface().(stream.Design)
	require.NotEqual(t, c.Stream, changed.Stream)
	was, is := observe(t, subject{Config: c}), observe(t, subject{Config: changed})
	assert.False(t, reflect.DeepEqual(was, is), "nothing changes")
}

// observation remembers what observe returned for the last config, because rows with the same base
// follow each other.
type observation struct {
	config models.Config
	seen   map[string]any
}

// of observes a config, unless it is the last one.
func (o *observation) of(t *testing.T, c models.Config) map[string]any {
	if o.seen == nil || !reflect.DeepEqual(o.config, c) {
		o.config, o.seen = c, observe(t, subject{Config: c})
	}
	return o.seen
}

func (e effect) check(t *testing.T, base *observation) {
	before := subject{Config: e.base}
	changed := before
	e.change(&changed)
	require.NotEqual(t, valuesOf("", reflect.ValueOf(before))[e.key], valuesOf("", reflect.ValueOf(changed))[e.key], "the row changes another setting")
	was, is := base.of(t, e.base), observe(t, changed)
	for _, what := range e.changes {
		assert.NotEqual(t, was[what], is[what], "%s should change", what)
	}
	for _, what := range e.keeps {
		assert.Equal(t, was[what], is[what], "%s should not change", what)
	}
}

// everything lists the keys of what observe returns.
func everything() []string {
	return []string{seenParameters, seenInitial, seenRates, seenLogits, seenLoss, seenGradients, seenTraining}
}

// observe returns everything that a config can change, by name, for one row of tokens in which each
// id that a test takes for BOS has its own place.
func observe(t *testing.T, s subject) map[string]any {
	c := modeltest.Resolve(t, s.Config)
	store := modeltest.NewStore(t, c, tensor.Float64, 1)
	seen := map[string]any{seenInitial: modeltest.Values(store)}
	shapes, divisors := map[string][]int{}, map[string]float64{}
	for _, p := range store.Params() {
		shapes[p.Name], divisors[p.Name] = p.Shape, p.WidthRatio
	}
	seen[seenParameters], seen[seenRates] = shapes, divisors
	modeltest.Perturb(t, store)
	b := modeltest.Batch{Rows: 1, Seq: 8, Inputs: []int32{3, 5, 0, 7, 1, 9, 4, 2}, Targets: []int32{5, 0, 7, 1, 9, 4, 2, 6}}
	r := modeltest.Compile(t, c, store, modeltest.Setup{Rows: 1, Seq: 8, Gradients: true, Auxiliary: s.Auxiliary}).On(t, b, graph.RunOptions{})
	seen[seenLogits], seen[seenLoss], seen[seenGradients] = r.Logits, r.Loss, modeltest.Gradients(store)
	seen[seenTraining] = modeltest.Compile(t, c, store, modeltest.Setup{Rows: 1, Seq: 8, Training: true}).On(t, b, graph.RunOptions{}).Logits
	return seen
}
