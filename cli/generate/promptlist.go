package generate

import (
	"context"
	"io"
	"os"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/data"
	"github.com/residua-go/residua/internal/commandline"
)

// readList returns the prompts of -prompts.
func (p *prompt) readList(ctx context.Context) ([]source, error) {
	list := *p.List
	text, err := readText(ctx, "-prompts: "+list, func() (io.ReadCloser, error) { return os.Open(list) }, nil)
	if err != nil {
		return nil, err
	}
	texts, err := data.Prompts(list, text)
	if err != nil {
		return nil, commandline.Usage(errors.WithMessage(err, "-prompts"))
	}
	var all []source
	for _, text := range texts {
		all = append(all, source{text: text})
	}
	return all, nil
}
