package sourcecheck

import (
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/residua-go/residua/"

// allowed lists, for each package of the module, which others it may import, directly or
// not. A new package adds its line.
var allowed = map[string][]string{
	"graph/kernel": {},
	"graph/cuda":   {"graph/cuda/internal/source", "checkpoint"}, // checkpoint only with the tag cuda, which this test does not set
	"graph":        {"graph/kernel", "graph/cuda"},

	"internal":              {},
	"graph/ops":             {},
	"graph/ops/attention":   {"graph", "graph/kernel", "graph/cuda"},
	"graph/ops/delta":       {"graph", "graph/kernel", "graph/cuda"},
	"graph/ops/elementwise": {"graph", "graph/kernel", "graph/cuda"},
	"graph/ops/embedding":   {"graph", "graph/kernel", "graph/cuda"},
	"graph/ops/linear":      {"graph", "graph/kernel", "graph/cuda", "graph/ops/elementwise"},
	"graph/ops/loss":        {"graph", "graph/kernel", "graph/cuda", "graph/ops/linear", "graph/ops/elementwise"},
	"graph/ops/mix":         {"graph", "graph/kernel", "graph/cuda", "graph/ops/norm"},
	"graph/ops/moe":         {"graph", "graph/kernel", "graph/cuda", "graph/ops/linear", "graph/ops/elementwise", "graph/ops/shape"},
	"graph/ops/norm":        {"graph", "graph/kernel", "graph/cuda"},
	"graph/ops/readwrite":   {"graph", "graph/kernel", "graph/cuda", "graph/ops/norm"},
	"graph/ops/shape":       {"graph", "graph/kernel", "graph/cuda"},

	"layers":              {"graph", "graph/kernel", "graph/cuda"},
	"stream/linear":       {},
	"stream":              {"stream/linear", "layers", "graph", "graph/kernel", "graph/cuda"},
	"models":              {"stream", "stream/linear", "layers", "graph", "graph/kernel", "graph/cuda"},
	"data":                {"checkpoint"},
	"data/parquet":        {"data", "checkpoint"},
	"data/formats":        {"data", "data/parquet", "checkpoint"},
	"checkpoint":          {},
	"trainer/distributed": {},
	"figure":              {},
	"zoo":                 {},
	"optim":               {"graph", "graph/kernel", "graph/cuda"},
	"trainer/learner":     {"trainer/distributed", "models", "stream", "stream/linear", "layers", "graph", "graph/kernel", "graph/cuda", "optim"},
	"configs":             {},
	"runconfig":           {"generate/chat", "configs", "models", "stream", "stream/linear", "layers", "graph", "graph/kernel", "graph/cuda", "data", "checkpoint", "optim"},
	"generate":            {"models", "stream", "stream/linear", "layers", "graph", "graph/kernel", "graph/cuda", "data", "checkpoint"},
	"generate/chat":       {"data", "checkpoint"},
	"serve":               {"generate", "models", "stream", "stream/linear", "layers", "graph", "graph/kernel", "graph/cuda", "data", "checkpoint"},
	"eval":                {"models", "stream", "stream/linear", "layers", "graph", "graph/kernel", "graph/cuda", "data", "checkpoint"},
	"eval/tasks":          {"eval", "models", "stream", "stream/linear", "layers", "graph", "graph/kernel", "graph/cuda", "data", "checkpoint"},
	"pretrained":          {"eval", "generate", "runconfig", "generate/chat", "configs", "models", "stream", "stream/linear", "layers", "graph", "graph/kernel", "graph/cuda", "data", "optim", "checkpoint"},
	"trainer":             {"models/mixing", "models/cache", "models/check", "trainer/distributed", "trainer/learner", "pretrained", "eval", "generate", "runconfig", "generate/chat", "configs", "models", "stream", "stream/linear", "layers", "graph", "graph/kernel", "graph/cuda", "data", "optim", "checkpoint", "figure"},

	"trainer/distributed/mpi": {"trainer/distributed"},

	"analysis/page":     {"figure"},
	"analysis/blocks":   {"models/cache", "models/check", "figure", "models", "stream", "stream/linear", "layers", "graph", "graph/kernel", "graph/cuda"},
	"models/check":      {},
	"models/cache":      {"models/check", "models", "stream", "stream/linear", "layers", "graph", "graph/kernel", "graph/cuda"},
	"models/mixing":     {"models/cache", "models/check", "figure", "models", "stream", "stream/linear", "layers", "graph", "graph/kernel", "graph/cuda"},
	"analysis/numerics": {},
	"analysis/memory":   {"models/mixing", "analysis", "analysis/numerics", "trainer/distributed", "trainer/learner", "models/cache", "models/check", "figure", "models", "stream", "stream/linear", "layers", "graph", "graph/kernel", "graph/cuda", "optim"},
	"analysis":          {"models/mixing", "analysis/numerics", "trainer/distributed", "trainer/learner", "models/cache", "models/check", "figure", "models", "stream", "stream/linear", "layers", "graph", "graph/kernel", "graph/cuda", "optim"},
	"cli/bench":         commandImports("experiment/bench"),
	"cli/prepare":       commandImports("data/formats"),
	"cli/train":         commandImports("trainer/distributed/mpi"),
	"cli/eval":          commandImports("eval/tasks"),
	"cli/generate":      commandImports("generate/chat"),
	"cli/convert":       commandImports(),
	"cli/models":        commandImports(),
	"cli/serve":         commandImports("generate/chat", "serve", "serve/explore", "analysis", "analysis/memory", "analysis/numerics", "analysis/page", "analysis/corpus", "analysis/probe", "analysis/sae", "analysis/report", "analysis/theory"),
	"cli/analyze":       commandImports("analysis", "analysis/memory", "analysis/numerics", "models/cache", "models/check", "models/mixing", "analysis/page", "analysis/corpus", "analysis/probe", "analysis/sae", "analysis/report", "analysis/theory"),
	"cli/create":        commandImports(),
	"cli/compare":       commandImports("experiment", "experiment/bench", "analysis/page"),
	"cli/experiment":    commandImports("experiment", "experiment/bench", "analysis/page"),
	"cli/tour":          commandImports("data/formats", "experiment", "experiment/bench", "cli/report", "analysis", "analysis/memory", "analysis/numerics", "analysis/page", "analysis/corpus", "analysis/probe", "analysis/sae", "analysis/report", "analysis/theory"),
	"cli/report":        commandImports("experiment", "experiment/bench", "analysis/page"),
	"cli":               commandImports("generate/chat", "trainer/distributed/mpi", "data/formats", "cli/prepare", "cli/experiment", "eval/tasks", "experiment/bench", "cli/bench", "experiment", "cli/compare", "cli/report", "cli/tour", "analysis", "analysis/memory", "analysis/numerics", "models/cache", "models/check", "models/mixing", "analysis/page", "analysis/corpus", "analysis/probe", "analysis/sae", "analysis/report", "analysis/theory", "cli/train", "cli/eval", "cli/generate", "cli/convert", "cli/create", "cli/models", "serve", "serve/explore", "cli/serve", "cli/analyze"),

	"experiment":          experimentImports("experiment/bench"),
	"experiment/bench":    {"trainer/distributed", "trainer/learner", "pretrained", "eval", "runconfig", "generate/chat", "configs", "generate", "models", "stream", "stream/linear", "layers", "graph", "graph/kernel", "graph/cuda", "data", "checkpoint", "optim", "figure"},
	"experiment/gpucheck": experimentImports("experiment/bench"),

	"serve/explore": {"analysis", "analysis/memory", "analysis/numerics", "models/cache", "models/check", "analysis/page", "analysis/corpus", "analysis/probe", "analysis/sae", "analysis/report", "analysis/blocks", "models/mixing", "analysis/theory", "trainer/distributed", "trainer/learner", "pretrained", "eval", "generate", "runconfig", "generate/chat", "configs", "models", "stream", "stream/linear", "layers", "graph", "graph/kernel", "graph/cuda", "data", "optim", "checkpoint", "figure"},

	"analysis/theory": {"analysis/numerics", "models/check", "figure", "models", "stream", "stream/linear", "layers", "graph", "graph/kernel", "graph/cuda"},
	"analysis/corpus": {"models/cache", "models/check", "models", "stream", "stream/linear", "layers", "graph", "graph/kernel", "graph/cuda"},
	"analysis/probe":  {"analysis/numerics", "models/check"},
	"analysis/sae":    {"models/check", "checkpoint", "optim", "graph", "graph/kernel", "graph/cuda"},
	"analysis/report": {"analysis/corpus", "analysis/probe", "analysis/sae", "analysis/blocks", "pretrained", "eval", "runconfig", "generate/chat", "configs", "generate", "analysis", "analysis/memory", "analysis/numerics", "models/cache", "models/check", "models/mixing", "analysis/page", "analysis/theory", "trainer/distributed", "trainer/learner", "figure", "checkpoint", "models", "stream", "stream/linear", "layers", "graph", "graph/kernel", "graph/cuda", "data", "optim"},
}

// commandImports returns what every command may import, followed by others.
func commandImports(others ...string) []string {
	return append(others, "internal/commandline", "trainer", "analysis/blocks", "models/mixing", "models/cache", "models/check", "trainer/distributed", "trainer/learner", "pretrained", "eval", "generate", "runconfig", "generate/chat", "configs", "models", "stream", "stream/linear", "layers", "graph", "graph/kernel", "graph/cuda", "data", "optim", "checkpoint", "figure")
}

// experimentImports returns what an experiment may import, followed by others.
func experimentImports(others ...string) []string {
	return append(others, "trainer", "models/mixing", "models/cache", "models/check", "analysis/page", "trainer/distributed", "trainer/learner", "pretrained", "eval", "generate", "runconfig", "generate/chat", "configs", "models", "stream", "stream/linear", "layers", "graph", "graph/kernel", "graph/cuda", "data", "optim", "checkpoint", "figure")
}

// free lists prefixes of packages that may import anything.
var free = []string{"cmd", "examples/", "notebooks/", "internal/", "graph/kernel/internal/", "graph/cuda/internal/", "graph/cuda/emulator", "graph/optest", "models/modeltest"}

// leaves lists packages that import nothing else of ours, or only each other, which all may import.
var leaves = []string{"internal/settings", "zoo", "internal/statusline", "internal/jsonbody", "internal/spelling", "internal/yamltag",
	"internal/build", "internal/memory", "internal/regular", "internal/clone", "internal/badsetting", "internal/stats", "internal/tfevents"}

func TestImportOrder(t *testing.T) {
	atRoot(t)
	list := exec.Command("go", "list", "-deps", "-json=ImportPath,Deps", "./...")
	out, err := list.Output()
	require.NoError(t, err)
	seen := 0
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Deps       []string
		}
		err := decoder.Decode(&p)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		name, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours || isFree(name) {
			continue
		}
		may, known := allowed[name]
		require.True(t, known, "package %s has no line in this test", name)
		for _, dep := range p.Deps {
			if dep, ours := strings.CutPrefix(dep, module); ours {
				if strings.HasPrefix(dep, "graph/ops/") && !strings.HasPrefix(name, "graph/") && slices.Contains(may, "graph") {
					continue // packages that build graphs may use all ops
				}
				if slices.Contains(leaves, dep) {
					continue
				}
				require.Contains(t, may, dep, "%s imports %s", name, dep)
			}
		}
		seen++
	}
	require.Equal(t, len(allowed), seen, "every package of the table exists")
}

func isFree(name string) bool {
	for _, prefix := range free {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
