package experiment

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/experimenttest"
	"github.com/residua-go/residua/internal/fuzztest"
	"github.com/residua-go/residua/models"
)

// FuzzLog: an experiment's log is read to its last whole line, and what is kept of it is read as
// the same.
func FuzzLog(f *testing.F) {
	base := filepath.Join(f.TempDir(), "base.yaml")
	require.NoError(f, os.WriteFile(base, []byte("model: {"+experimenttest.Vector+"}\ndata: {source: goroot}\ntrain: {batch: 2, steps: 4, lr: 1e-2, eval_tokens: 64}\n"), 0o600))
	c, err := parse(Kinds(models.Standard()), "x.yaml", []byte("base: "+base+"\n"+twoRates), nil)
	require.NoError(f, err)
	out := f.TempDir()
	p, err := c.Plan(f.Context(), models.Standard(), out)
	require.NoError(f, err)
	todo, err := p.todo()
	require.NoError(f, err)
	line := `{"run":"` + todo[0].Name + `","series":"` + todo[0].cell.series + `","seed":0,"settings":[],"config":"` + todo[0].identity + `","val_loss":1.5}`
	f.Add([]byte(line + "\n"))
	f.Add([]byte(line + "\n" + line[:40]))
	f.Add([]byte(line + "\n" + line + "\n"))
	f.Add([]byte("\n{\"run\": \"other\"}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(out, logFile), text, 0o600))
		var whole []byte
		var err error
		fuzztest.Bounded(t, len(text), func() { whole, err = p.readLog() })
		fuzztest.OneLine(t, err)
		if err != nil {
			return
		}
		require.LessOrEqual(t, strings.Count(string(whole), "\n"), strings.Count(string(text), "\n")+1)
		require.Equal(t, strings.Count(string(whole), "\n"), len(p.log), "a line for each run")
		log := p.log
		require.NoError(t, os.WriteFile(filepath.Join(out, logFile), whole, 0o600))
		again, err := p.readLog()
		require.NoError(t, err)
		require.Equal(t, string(whole), string(again))
		require.Equal(t, len(log), len(p.log))
	})
}
