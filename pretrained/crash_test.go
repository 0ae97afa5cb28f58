package pretrained_test

import (
	"maps"
	"testing"

	"github.com/pkg/errors"
	"github.com/stretchr/testify/require"

	"github.com/residua-go/residua/checkpoint"
	"github.com/residua-go/residua/internal/crash"
	"github.com/residua-go/residua/internal/longtest"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
)

// TestRobustnessOfExports: an export that is interrupted at any step of its disk leaves what was
// there before or all of the new, and the same call then writes what one without interruption does.
func TestRobustnessOfExports(t *testing.T) {
	points := 4
	if longtest.Exhaustive() { // the campaign of make robustness has others
		points = 40
	}
	for format, config := range map[string]models.Config{"residua": ours()["llama"], "huggingface": ours()["llama"], "gguf": ours()["llama"], "rmt": residuals()["rmt as its authors train it"]} {
		tokenizer := "bytes"
		if format == "rmt" {
			tokenizer = ""
		}
		model, former := made(t, config, tokenizer), made(t, config, tokenizer)
		former.Store.Params()[0].Value.Float32s()[0]++
		write := func(m *pretrained.Model, path string, disk checkpoint.Disk) error {
			_, err := m.Export(format, path, pretrained.ExportOptions{Replace: true, Disk: disk})
			return err
		}
		for name, begin := range map[string]func(string){"convert to " + format: nil, "convert to " + format + ", replaced": func(path string) { require.NoError(t, write(former, path, checkpoint.Disk{})) }} {
			t.Run(name, func(t *testing.T) {
				wholes := []map[string]string{{}}
				for _, m := range []*pretrained.Model{former, model} {
					path := t.TempDir() + "/whole"
					require.NoError(t, write(m, path, checkpoint.Disk{}))
					wholes = append(wholes, crash.Contents(t, path))
				}
				require.NotEqual(t, wholes[1], wholes[2])
				crash.Test(t, crash.Work{
					Name: name, Begin: begin,
					Do:   func(path string, disk checkpoint.Disk) error { return write(model, path, disk) },
					Left: func(path string) map[string]string { return crash.Contents(t, path) },
					Check: func(path string) error {
						got := crash.Contents(t, path)
						for _, whole := range wholes {
							if maps.Equal(whole, got) {
								return nil
							}
						}
						return errors.Errorf("want what was there before, or the new, got %d files", len(got))
					},
				}, points)
			})
		}
	}
}
