package runconfig

import (
	"github.com/residua-go/residua/internal/settings"
	"github.com/residua-go/residua/models"
)

// Keys lists every key that a run config may hold, with the designs in the zoo.
func Keys(zoo models.Zoo) ([]settings.Key, error) {
	run := Defaults()
	run.Model = run.Model.WithDefaults()
	return settings.Keys(readerOf(zoo).Kinds, run)
}
