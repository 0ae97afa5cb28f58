package experiment

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/internal/regular"
	"github.com/residua-go/residua/models"
)

// edit replaces a text in a file.
func edit(t *testing.T, file, before, after string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), before)
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(text), before, after)), 0o644))
}

// left are the runs of a plan that its log lacks.
func left(t *testing.T, p *Plan) []*Planned {
	t.Helper()
	_, err := p.readLog()
	require.NoError(t, err)
	todo, err := p.todo()
	require.NoError(t, err)
	return todo
}

const twoSeries = "series: [{name: a}, {name: b, set: [train.lr=1e-3]}]\nexperiment: {kind: variants}"

// TestTheBaseIsKept: an experiment goes on with the base that it began with, and says where that
// differs from the base's file; it does not take another base.
func TestTheBaseIsKept(t *testing.T) {
	c, out := parsed(t, twoSeries), t.TempDir()
	p := settled(t, c, out)
	trained(t, p, Options{})
	edit(t, c.Base, "\ntrain", " # a comment\n\ntrain")
	p = settled(t, c, out)
	assert.Empty(t, left(t, p))
	assert.Empty(t, p.Notes)

	edit(t, c.Base, "lr: 1e-2", "lr: 2e-2")
	p = settled(t, c, out)
	assert.Empty(t, left(t, p))
	require.Len(t, p.Notes, 1)
	assert.Contains(t, p.Notes[0], c.Base+" has changed since the experiment began, which goes on with "+filepath.Join(out, "base.yaml"))
	_, notes := trained(t, p, Options{})
	assert.Empty(t, notes)

	other := *c
	other.Base = "quickstart"
	_, err := other.Plan(t.Context(), models.Standard(), out)
	assert.ErrorContains(t, err, "x.yaml:1: base: want the config that "+filepath.Join(out, "base.yaml")+" begins with")
	other.Base = filepath.Join(out, "base.yaml")
	assert.Empty(t, left(t, settled(t, &other, out)), "the copy itself may be named, too")
	require.NoError(t, os.Remove(c.Base))
	assert.Empty(t, left(t, settled(t, c, out)))

	require.NoError(t, os.Remove(other.Base))
	_, err = c.Plan(t.Context(), models.Standard(), out)
	assert.ErrorContains(t, err, "base: config: want a YAML file")
	_, err = other.Plan(t.Context(), models.Standard(), out)
	assert.ErrorContains(t, err, "base: config: want a YAML file")
}

// TestTheBaseMayBeginWithAByteOrderMark, as editors on Windows write it: the copy is read, too.
func TestTheBaseMayBeginWithAByteOrderMark(t *testing.T) {
	c, out := parsed(t, twoSeries), t.TempDir()
	edit(t, c.Base, "model: {", regular.ByteOrderMark+"model: {")
	p := settled(t, c, out)
	require.NoError(t, p.keepBase())
	assert.Len(t, left(t, settled(t, c, out)), len(left(t, p)))
}

// TestIdentity: a run is what its config comes to, however that is written.
func TestIdentity(t *testing.T) {
	identity := func(c *Config) string { return runs(t, settled(t, c, t.TempDir()))[0].identity }
	c := parsed(t, twoSeries)
	want := identity(c)
	assert.Regexp(t, "^1:[0-9a-f]{32}$", want)
	set := c.Set
	for _, same := range [][]string{{"train.lr=0.01"}, {"train.lr=5", "train.lr=1e-2"}, {"train.min_lr=1e-3"}, {"train.beta2=0.95"}, {"name=other"}} {
		c.Set = append(set[:len(set):len(set)], same...)
		assert.Equal(t, want, identity(c), "%v", same)
	}
	for _, other := range []string{"train.lr=0.011", "train.min_lr=1e-4", "train.beta2=0.951", "model.norm_eps=1e-5", "data.split=tail/6"} {
		c.Set = append(set[:len(set):len(set)], other)
		assert.NotEqual(t, want, identity(c), other)
	}
}

// TestLogsOfEarlierPrograms: their lines have a digest of the base's text and the settings. They
// are gone on with under the base that they were made with, by new lines; no line of theirs is
// changed.
func TestLogsOfEarlierPrograms(t *testing.T) {
	c, out := parsed(t, twoSeries), t.TempDir()
	p := settled(t, c, out)
	log, _ := trained(t, p, Options{})
	former := log["a-seed0"]
	former.Config, former.Corpus, former.Rate, former.Curve = runs(t, settled(t, c, t.TempDir()))[0].former, "", 0, nil
	assert.Len(t, former.Config, 16)
	line, err := json.Marshal(former)
	require.NoError(t, err)
	file := filepath.Join(out, "log.jsonl")
	require.NoError(t, os.WriteFile(file, append(line, '\n'), 0o644))
	require.NoError(t, os.RemoveAll(filepath.Join(out, "runs")))
	require.NoError(t, os.Remove(filepath.Join(out, "base.yaml")))

	got, notes := trained(t, settled(t, c, out), Options{})
	assert.NotContains(t, notes, "a-seed0")
	assert.Equal(t, log["b-seed0"].Loss, got["b-seed0"].Loss)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(string(text), string(line)+"\n"))

	edit(t, c.Base, "lr: 1e-2", "lr: 2e-2")
	assert.Empty(t, left(t, settled(t, c, out)), "the base was kept")
	require.NoError(t, os.Remove(filepath.Join(out, "base.yaml")))
	_, err = settled(t, c, out).Report()
	assert.ErrorContains(t, err, "of another base or with settings in another order")
}
