package sourcecheck

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/cli/generate"
	"github.com/residua-go/residua/experiment/bench"
	"github.com/residua-go/residua/internal/commandline"
	"github.com/residua-go/residua/internal/commandline/clitest"
	"github.com/residua-go/residua/internal/stats"
	"github.com/residua-go/residua/models"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

// TestGoIsThatOfExamples: each block of Go occurs, word for word, in an example that is built.
func TestGoIsThatOfExamples(t *testing.T) {
	atRoot(t)
	var examples strings.Builder
	require.NoError(t, filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") && (strings.HasPrefix(filepath.Base(path), "example") || strings.HasPrefix(filepath.ToSlash(path), "examples/")) {
			code := read(t, path)
			examples.WriteString(code + strings.ReplaceAll(code, "\n\t", "\n"))
		}
		return err
	}))
	blocks := 0
	for _, page := range []string{"README.md", "docs/embed.md"} {
		for _, b := range clitest.Blocks(t, page) {
			if b.Language == "go" {
				blocks++
				assert.Contains(t, examples.String(), "\n"+b.Text, page)
			}
		}
	}
	assert.GreaterOrEqual(t, blocks, 6)
}

// TestFiveMinutes: the README is short. TestLinks checks its links.
func TestFiveMinutes(t *testing.T) {
	atRoot(t)
	assert.LessOrEqual(t, strings.Count(read(t, "README.md"), "\n"), 110)
}

// TestTheSample: the README shows what its command writes.
func TestTheSample(t *testing.T) {
	atRoot(t)
	page := read(t, "README.md")
	command := regexp.MustCompile("\\(`residua generate (.*)`\\)").FindStringSubmatch(page)
	require.NotNil(t, command)
	got := clitest.Call(generate.Command(models.Standard(), strings.NewReader("")), clitest.Words(command[1])...)
	require.Equal(t, commandline.ExitOK, got.Code, got.Stderr)
	assert.Contains(t, page, "\n```\n"+got.Stdout+"```\n")
}

// TestStreamsAreCounted: the number of streams besides the RMT that the README gives, in tens, is
// right.
func TestStreamsAreCounted(t *testing.T) {
	atRoot(t)
	others := len(models.Standard().Streams()) - 1
	tens := map[int]string{2: "twenty", 3: "thirty", 4: "forty"}
	assert.Contains(t, unwrapped(t, "README.md"), " and some "+tens[others/10]+" other streams")
}

// unwrapped returns a page's text with single spaces.
func unwrapped(t *testing.T, page string) string {
	return strings.Join(strings.Fields(read(t, page)), " ")
}

// TestQuickstart: what docs/experiments.md says of quickstart is in its log, without the seeds that
// chose the rate.
func TestQuickstart(t *testing.T) {
	atRoot(t)
	const rate = 5.6e-3
	losses := map[string]map[int]float64{"rmt": {}, "transformer": {}}
	flops := map[string]float64{}
	for line := range strings.Lines(read(t, "studies/quickstart/log.jsonl")) {
		var run struct {
			Series string
			Seed   int
			LR     float64
			Loss   float64 `json:"val_loss"`
			FLOPs  float64 `json:"train_flops"`
		}
		require.NoError(t, json.Unmarshal([]byte(line), &run))
		flops[run.Series] = run.FLOPs
		if run.LR == rate && run.Seed > 0 {
			losses[run.Series][run.Seed] = run.Loss
		}
	}
	var plain, matrix, differences []float64
	for seed := 1; seed <= 3; seed++ {
		a, b := losses["transformer"][seed], losses["rmt"][seed]
		require.NotZero(t, a*b)
		plain, matrix, differences = append(plain, a), append(matrix, b), append(differences, b-a)
	}
	d, base := stats.Mean(differences), stats.Mean(plain)
	page := unwrapped(t, "docs/experiments.md")
	assert.Contains(t, page, fmt.Sprintf("the RMT's loss is %.3f and the transformer's %.3f, lower by", stats.Mean(matrix).Mean, base.Mean))
	assert.Contains(t, page, fmt.Sprintf("%.3f ± %.3f nats (%.1f%% ± %.1f%%;", -d.Mean, d.Error, -100*d.Mean/base.Mean, 100*d.Error/base.Mean))
	assert.Contains(t, page, fmt.Sprintf("for %.0f%% of the FLOPs", 100*flops["rmt"]/flops["transformer"]))
}

// chosenLosses returns the losses of each series of a study, by seed, at the rate that seed 0
// chose; all of a series without seed 0. A series at a point of a sweep is a series of its own,
// such as "rmt 700000".
func chosenLosses(t *testing.T, study string) map[string]map[int]float64 {
	type run struct {
		Series string
		Point  string
		Seed   int
		LR     float64
		Loss   float64 `json:"val_loss"`
	}
	var runs []run
	chosen := map[string]run{}
	for line := range strings.Lines(read(t, "studies/"+study+"/log.jsonl")) {
		var r run
		require.NoError(t, json.Unmarshal([]byte(line), &r))
		r.Series = strings.TrimSpace(r.Series + " " + r.Point)
		runs = append(runs, r)
		if best, ok := chosen[r.Series]; r.Seed == 0 && (!ok || r.Loss < best.Loss) {
			chosen[r.Series] = r
		}
	}
	losses := map[string]map[int]float64{}
	for _, r := range runs {
		if best, ok := chosen[r.Series]; r.Seed == 0 || ok && r.LR != best.LR {
			continue
		}
		if losses[r.Series] == nil {
			losses[r.Series] = map[int]float64{}
		}
		losses[r.Series][r.Seed] = r.Loss
	}
	return losses
}

// TestTheCards: what the README, docs/experiments.md and docs/log.md say of the cards is in their
// log, and what the README says of models twice as wide is in the zoo's.
func TestTheCards(t *testing.T) {
	atRoot(t)
	losses := chosenLosses(t, "cards")
	below := func(series, baseline string, seeds int) stats.Estimate {
		var all []float64
		for seed := 1; seed <= seeds; seed++ {
			a, b := losses[series][seed], losses[baseline][seed]
			require.NotZero(t, a*b, "%s, %s: seed %d", series, baseline, seed)
			all = append(all, b-a)
		}
		return stats.Mean(all)
	}
	page := unwrapped(t, "docs/experiments.md")
	const plain = "quickstart-transformer"
	var eight []string // the series with eight seeds, the best first
	for series, of := range losses {
		if series != plain && len(of) == 8 {
			eight = append(eight, series)
		}
	}
	slices.SortFunc(eight, func(a, b string) int { return cmp.Compare(below(b, plain, 8).Mean, below(a, plain, 8).Mean) })
	require.Len(t, eight, 7)
	require.Equal(t, "quickstart", eight[1])
	rmt, delta, third := below(eight[1], plain, 8), below(eight[0], plain, 8), below(eight[2], plain, 8)
	rmtMuon, deltaMuon := below(eight[1]+"-muon", plain+"-muon", 3), below(eight[0]+"-muon", plain+"-muon", 3)
	assert.Contains(t, page, fmt.Sprintf("The RMT's loss is %s nats a byte below the transformer's, Deep Delta's %s; of five other designs with eight seeds none gains more than %.3f.", estimate(rmt), estimate(delta), third.Mean))
	assert.Contains(t, page, fmt.Sprintf("With Muon the RMT and Deep Delta gain %.2f and %.2f (three seeds)", rmtMuon.Mean, deltaMuon.Mean))
	assert.Contains(t, unwrapped(t, "README.md"), fmt.Sprintf("its loss is %.2f [nats](docs/glossary.md) a byte lower with AdamW, %.2f lower with Muon)", rmt.Mean, rmtMuon.Mean))
	longer := chosenLosses(t, "zoo")
	assert.Greater(t, longer["rmt"][1], longer["transformer"][1], "the lead is gone after eight million bytes")
	assert.Contains(t, page, fmt.Sprintf("After eight million bytes it is not lower: %.3f and %.3f (", longer["rmt"][1], longer["transformer"][1]))
	modern, modernMuon := below("quickstart-rmt-modern", "quickstart-modern", 3), below("quickstart-rmt-modern-muon", "quickstart-modern-muon", 3)
	assert.Less(t, modern.Mean, 2*modern.Error, "the RMT gains nothing on the modern block")
	assert.Negative(t, modernMuon.Mean, "nor by Muon")
	assert.Contains(t, unwrapped(t, "docs/log.md"), fmt.Sprintf("by %.3f ± %.3f nats with AdamW, and with Muon it ends %.3f ± %.3f above it", -modern.Mean, modern.Error, -modernMuon.Mean, modernMuon.Error))
}

// TestTheAdvantageDoesNotLast: what README.md, docs/experiments.md and docs/log.md say of longer
// training is in the logs and the reports of parts 8A, 8B and 8D.
func TestTheAdvantageDoesNotLast(t *testing.T) {
	atRoot(t)
	short, long, longer := chosenLosses(t, "lasting-muon-16"), chosenLosses(t, "lasting-muon-32"), chosenLosses(t, "lasting-muon-35")
	above := func(rmt, transformer map[int]float64, seeds int) stats.Estimate {
		var all []float64
		for seed := 1; seed <= seeds; seed++ {
			require.NotZero(t, rmt[seed]*transformer[seed])
			all = append(all, rmt[seed]-transformer[seed])
		}
		return stats.Mean(all)
	}
	same, more, even := above(long["rmt"], long["transformer"], 5), above(long["rmt"], longer["transformer"], 5), above(short["rmt"], short["transformer"], 3)
	assert.Less(t, math.Abs(even.Mean), even.Error, "even after eleven million bytes")
	for seed := 1; seed <= 5; seed++ {
		assert.Greater(t, long["rmt"][seed], long["transformer"][seed])
		assert.Greater(t, long["rmt"][seed], longer["transformer"][seed])
	}
	ratios := ratiosOf(t, "lasting-muon-35", "rmt")
	require.Len(t, ratios, 4)
	assert.Contains(t, unwrapped(t, "docs/experiments.md"), fmt.Sprintf("needs %s times the RMT's bytes after 0.7 million, %s times after 2.8, %s after 11.2 and %s after 22.4 million, "+
		"where the RMT ends %s nats above the transformer, and %s above one that read a tenth more, in five seeds of five",
		ratios[0][1], ratios[1][1], ratios[2][1], ratios[3][1], estimate(same), estimate(more)))
	adam, middle, last := chosenLosses(t, "lasting-adamw"), chosenLosses(t, "lasting-adamw-16"), chosenLosses(t, "lasting-adamw-32")
	first, second := above(adam["transformer 700000"], adam["rmt 700000"], 3), above(adam["transformer 2800000"], adam["rmt 2800000"], 3)
	third, fourth := above(middle["transformer"], middle["rmt"], 3), above(last["transformer"], last["rmt"], 3)
	assert.Contains(t, unwrapped(t, "README.md"), fmt.Sprintf("after 22 million bytes the RMT is %.3f ahead with AdamW and %.3f behind with Muon", fourth.Mean, same.Mean))
	fading := ratiosOf(t, "lasting-adamw-16", "rmt")
	require.Len(t, fading, 3)
	own := ratiosOf(t, "lasting-adamw-16", "transformer")
	require.Len(t, own, 3)
	assert.Contains(t, unwrapped(t, "docs/experiments.md"), fmt.Sprintf("needs %s times the RMT's bytes after 0.7 million, %s after 2.8 and %s after 11.2 million, and %s times for the loss "+
		"that it has itself after 22.4 million, where the RMT ends %s nats below it", fading[0][1], fading[1][1], fading[2][1], own[2][1], estimate(fourth)))
	log := unwrapped(t, "docs/log.md")
	assert.Contains(t, log, fmt.Sprintf("after one unit, lower by %s,", estimate(first)))
	assert.Contains(t, log, fmt.Sprintf("after four, lower by %s,", estimate(second)))
	assert.Contains(t, log, fmt.Sprintf("after 16, lower by %s, and", estimate(third)))
	assert.Contains(t, log, fmt.Sprintf("after 32, lower by %s;", estimate(fourth)))
	assert.Contains(t, log, fmt.Sprintf("at the transformer's mean, %s (%s)", own[2][1], own[2][2]))
	for i, length := range []string{"one unit", "four", "16"} {
		assert.Contains(t, log, fmt.Sprintf("%s after %s (%s)", fading[i][1], length, fading[i][2]))
	}
	assert.Contains(t, log, fmt.Sprintf("falls from %s after four units to %s and %s,", own[0][1], own[1][1], own[2][1]))
	one, eight := chosenLosses(t, "lasting-modern"), chosenLosses(t, "lasting-modern-8")
	behind, ahead := estimate(above(one["rmt-modern"], one["modern"], 3)), estimate(above(eight["modern"], eight["rmt-modern"], 3))
	assert.Contains(t, unwrapped(t, "docs/experiments.md"), "the RMT ends "+behind+" nats above the transformer after 0.7 million bytes and "+ahead+" below it after 5.6 million")
	assert.Contains(t, log, behind+" above it, and ")
	assert.Contains(t, log, ahead+" below it, in each of the three seeds")
	modern := ratiosOf(t, "lasting-modern-8", "modern")
	require.Len(t, modern, 2)
	assert.Contains(t, log, fmt.Sprintf("rise from %s to %s ", modern[0][1], modern[1][1]))
	for i, length := range []string{"one unit", "four", "16", "32"} {
		assert.Contains(t, log, fmt.Sprintf("%s after %s (%s)", ratios[i][1], length, ratios[i][2]))
	}
	assert.Contains(t, log, fmt.Sprintf("it is above in all five, by %s (p = 1)", estimate(more)))
}

// ratiosOf returns R and its range wherever a report of kind lengths reads it at a mean of the
// series and finds it between two lengths, the shortest length first.
func ratiosOf(t *testing.T, study, series string) [][]string {
	row := regexp.MustCompile(`(?m)^\| ` + series + ` \| \S+ \| \d\S+ ± \S+ \| (\d\.\d\d) \| (\d\S+ to \d\S+) \|$`)
	return row.FindAllStringSubmatch(read(t, "studies/"+study+"/report.md"), -1)
}

// TestALargerStream: what docs/experiments.md and docs/log.md say of the RMT's keys and its stream
// is in the logs of the studies of the stream alone.
func TestALargerStream(t *testing.T) {
	atRoot(t)
	var keys, rest []string
	for _, width := range []string{"64", "128"} {
		losses := chosenLosses(t, "stream-alone-"+width)
		below := func(series, baseline string) string {
			var all []float64
			for seed := 1; seed <= 8; seed++ {
				require.NotZero(t, losses[series][seed]*losses[baseline][seed])
				all = append(all, losses[baseline][seed]-losses[series][seed])
				if series == "rmt-32" {
					assert.Positive(t, all[seed-1], "in each of eight seeds")
				}
			}
			return estimate(stats.Mean(all))
		}
		keys, rest = append(keys, below("rmt-32", "rmt-8")), append(rest, below("rmt-8", "vector"))
	}
	assert.Contains(t, unwrapped(t, "docs/experiments.md"), "32 keys end "+keys[0]+" and "+keys[1]+" nats below 8")
	assert.Contains(t, unwrapped(t, "docs/experiments.md"), "the RMT already ends "+rest[0]+" and "+rest[1]+" nats lower")
	assert.Contains(t, unwrapped(t, "docs/log.md"), "ends "+keys[0]+" nats below the one with 8 at width 64, and "+keys[1]+" at width 128")
	assert.Contains(t, unwrapped(t, "docs/log.md"), "it already ends "+rest[0]+" and "+rest[1]+" nats below")
}

// TestDepth: the table of docs/experiments.md has the losses and differences of the report.
func TestDepth(t *testing.T) {
	atRoot(t)
	page, report := read(t, "docs/experiments.md"), read(t, "studies/depth/report.md")
	number := func(row string) string {
		found := regexp.MustCompile(`(?m)^\| ` + row + ` \|.*? ([+-]?\d\.\d+ ± \d\.\d+) `).FindStringSubmatch(report)
		require.NotNil(t, found, row)
		return found[1]
	}
	series := regexp.MustCompile(`(?m)^\| (\S+) 16 \| 3 \|`).FindAllStringSubmatch(report, -1)
	require.Len(t, series, 5)
	for _, s := range series {
		row := fmt.Sprintf(" | %s | %s | %s |\n", number(s[1]+" 4"), number(s[1]+" 16"), number(s[1]+` 16 \| 3`))
		assert.Regexp(t, regexp.QuoteMeta(row), page)
	}
}

// TestScaling: the tables of docs/experiments.md have the losses and exponents of the report, and
// its text the share of the FLOPs.
func TestScaling(t *testing.T) {
	atRoot(t)
	page, report := read(t, "docs/experiments.md"), read(t, "studies/scaling-bytes/report.md")
	sizes := regexp.MustCompile(`(?m)^\| \S+ size\d \| \S+ \| (\S+) \| \S+ \| (\S+) \| (\S+) \| \S+ \| 3 \| (\S+ ± \S+) \|`).FindAllStringSubmatch(report, -1)
	require.Len(t, sizes, 8)
	for i := range 4 {
		row := append(sizes[i][1:5:5], sizes[4+i][1:]...) // both series side by side
		assert.Contains(t, page, "\n| "+strings.Join(row, " | ")+" |\n")
	}
	laws := regexp.MustCompile(`(?m)^\| \S+ \| (?:non-embedding )?(parameters|training FLOPs) \| (\d\S+) \| (\S.*?) \| \S+ \| (\S+) \| (\S+) \| (\S.*) \|$`).FindAllStringSubmatch(report, -1)
	require.Len(t, laws, 8)
	for i := 0; i < 8; i += 2 {
		first, second := laws[i], laws[i+1]
		assert.Contains(t, page, fmt.Sprintf("\n| %s | %s | %s | %s | %s | %s | %s |\n", first[1], first[2], first[3], first[4], second[4], second[5], second[6]))
	}
	share := regexp.MustCompile(`(?m)^\| \S+ \| training FLOPs \| 0\.(\d\d) \| (\S+ to \S+) \|$`).FindStringSubmatch(report)
	require.NotNil(t, share)
	assert.Contains(t, unwrapped(t, "docs/experiments.md"), fmt.Sprintf("0.%s (%s) of the FLOPs", share[1], share[2]))
}

// TestCapacity: the table of docs/experiments.md has the thresholds of the report.
func TestCapacity(t *testing.T) {
	atRoot(t)
	page, report := read(t, "docs/experiments.md"), read(t, "studies/capacity/report.md")
	rows := regexp.MustCompile(`(?m)^\| \S+ \| 3 \| (\S+) \| (.*) \| (\S+) \| (.*) \|$`).FindAllStringSubmatch(report, -1)
	require.Len(t, rows, 9)
	for i, r := range rows {
		row := fmt.Sprintf(" | %s | %s | %s | %s | ", r[1], r[2], r[3], r[4])
		if i == 0 {
			row = fmt.Sprintf(" | %s | %s | 1 | | ", r[1], r[2])
		}
		assert.Contains(t, page, row)
	}
}

func estimate(e stats.Estimate) string { return fmt.Sprintf("%.3f ± %.3f", e.Mean, e.Error) }

// TestTrainingSpeeds: the table of docs/speed.md has the speeds of the files next to it.
func TestTrainingSpeeds(t *testing.T) {
	atRoot(t)
	page := read(t, "docs/speed.md")
	files, err := filepath.Glob("experiment/bench/results/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		report, err := bench.ReadReport(file)
		require.NoError(t, err)
		for _, r := range report.PyTorch {
			i := slices.IndexFunc(r.Baselines, func(b bench.BaselineResult) bool { return b.Mode == bench.Compiled })
			require.GreaterOrEqual(t, i, 0, "%s: %s", file, r.Name)
			of := fmt.Sprintf("| %.0f | %.2f | %.2f |", r.Residua.TokensPS, r.Baselines[i].Speedup, r.Baselines[i].Memory)
			if r.Residua.Steps > 1 { // a single step was taken for the memory, without a quiet peak
				of += fmt.Sprintf(" %.0f%% |", 100*r.Residua.GFLOPS/report.Machine.PeakGFLOPS)
			}
			if jax := r.Baselines[len(r.Baselines)-1]; jax.Mode == "jax" {
				eager := r.Baselines[0]
				of += fmt.Sprintf(" %.2f | %.2f | %.2f | %.2f |", eager.Speedup, eager.Memory, jax.Speedup, jax.Memory)
			}
			assert.Regexp(t, "(?m)^.*`"+r.Name+"`.*"+regexp.QuoteMeta(of), page, file)
		}
	}
}

// TestSpeed: the first table of docs/speed.md, a row for each kind of processor, and the README's
// two speeds are in files that bench wrote.
func TestSpeed(t *testing.T) {
	atRoot(t)
	page := read(t, "docs/speed.md")
	var compiled []string
	for _, row := range []struct{ processor, training, precision, generation, weights string }{
		{"AMD with AVX512_BF16", "bfloat16-134m", "bf16", "generation", "F32"},
		{"Intel with AMX", "bfloat16-amx-134m", "bf16", "generation-amx", "BF16"},
		{"AMD with AVX2", "float32-avx2", "float32", "", ""},
	} {
		training, err := bench.ReadReport("experiment/bench/results/" + row.training + ".json")
		require.NoError(t, err)
		var speeds []string
		for _, m := range training.PyTorch[:2] {
			i := slices.IndexFunc(m.Baselines, func(b bench.BaselineResult) bool { return b.Mode == bench.Compiled })
			if m.Name == "rmt-134m" {
				compiled = append(compiled, fmt.Sprintf("%.2f", m.Baselines[i].Speedup))
			}
			speeds = append(speeds, fmt.Sprintf("`%s` %.0f, %.2f", m.Name, m.Residua.TokensPS, m.Baselines[i].Speedup))
		}
		want := fmt.Sprintf("| %s | %s: %s |", row.processor, row.precision, strings.Join(speeds, "; "))
		if row.generation != "" {
			want += generationSpeeds(t, "experiment/bench/results/"+row.generation+".json", row.weights)
		}
		assert.Contains(t, page, want)
	}
	require.Len(t, compiled, 2)
	assert.Contains(t, unwrapped(t, "README.md"), fmt.Sprintf("bfloat16 %s (AMD) and %s (Intel) times as fast as by PyTorch's `torch.compile`", compiled[0], compiled[1]))
}

// generationSpeeds returns that table's cells for reading a prompt with some weights and for
// decoding with int8.
func generationSpeeds(t *testing.T, file, weights string) string {
	report, err := bench.ReadReport(file)
	require.NoError(t, err)
	var reads, decodes string
	for _, g := range report.Generation {
		for _, peer := range g.Peers {
			switch {
			case peer.Weights == weights && peer.Name == "llama.cpp":
				reads = fmt.Sprintf(" %s: %.0f, %.2f times %s |", cmp.Or(string(g.Weights), "float32"), g.Residua.PrefillTokensPS, peer.PrefillSpeedup, peer.Name)
			case peer.Weights == "Q8_0":
				decodes = fmt.Sprintf(" %.1f, %.2f times %s |", g.Residua.TokensPS, peer.DecodeSpeedup, peer.Name)
			}
		}
	}
	return reads + decodes
}
