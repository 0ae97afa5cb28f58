package models

import (
	"cmp"
	"fmt"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/internal/settings"
)

// Size returns one of the config's sizes by its dotted key, such as stream.dk. It returns an error
// if the config has no such size.
func (c Config) Size(key string) (int, error) {
	entries, err := settings.Entries(c)
	for _, e := range entries {
		if e.Key == key && e.Value.CanInt() {
			return int(e.Value.Int()), nil
		}
	}
	return 0, cmp.Or(err, errors.Errorf("model.%s: want a size that the model has, got no such setting", key))
}

// WithSize returns the config with another value of one of its sizes, named by a dotted key such as
// stream.dk. It returns an error if the config has no such size.
func (c Config) WithSize(key string, size int) (Config, error) {
	if _, err := c.Size(key); err != nil {
		return Config{}, err
	}
	c.Attention.Kind = c.Attention.Design() // a section is read with its kind
	_, err := settings.Reader{}.Read(&c, "", []byte("{}"), []string{fmt.Sprintf("%s=%d", key, size)})
	if c.Attention.isDefault() {
		c.Attention.Kind = nil
	}
	return c, err
}
