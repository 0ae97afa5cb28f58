package train

import (
	"context"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/pkg/errors"

	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/runconfig"
)

// keyOf says which keys of a config a flag that train does not have may mean, such as device.kind
// for -device and train.lr for -lr; "" if there is none.
func keyOf(zoo models.Zoo, flag string) string {
	keys, err := runconfig.Keys(zoo)
	if err != nil {
		return ""
	}
	name := strings.ReplaceAll(flag, "-", "_")
	var found []string
	for _, k := range keys {
		switch k.Name {
		case name, name + ".kind", "train." + name, "device." + name, "data." + name, "model." + name:
			found = append(found, fmt.Sprintf("-set %s=VALUE", k.Name))
		}
	}
	if found == nil {
		return ""
	}
	return fmt.Sprintf("a run's settings are keys of its config: want %s (train -keys lists them all)", strings.Join(found, " or "))
}

// notAnExperiment returns a better error if a file that could not be read as a run config is an
// experiment; otherwise it returns err.
func notAnExperiment(ctx context.Context, file string, err error) error {
	_, text, failed := runconfig.Read(ctx, file)
	var keys struct {
		Experiment any `yaml:"experiment"`
	}
	if failed != nil || yaml.Unmarshal(text, &keys) != nil || keys.Experiment == nil {
		return err
	}
	return errors.Errorf("-config: want a run config, got %s, which is an experiment of several runs: start it by experiment %[1]s", file)
}
