// Package serve is the command that answers HTTP requests with a trained model.
package serve

import (
	"context"
	"flag"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pkg/errors"

	"github.com/residua-go/residua/explore"
	"github.com/residua-go/residua/generate"
	"github.com/residua-go/residua/internal/cli"
	"github.com/residua-go/residua/models"
	"github.com/residua-go/residua/pretrained"
	"github.com/residua-go/residua/serve"
)

// tokenVariable is the environment's, for a token that a list of processes does not show.
const tokenVariable = "RESIDUA_TOKEN"

// Command serves models of the designs in a zoo.
func Command(zoo models.Zoo) cli.Command {
	c := call{model: cli.Model{Zoo: zoo}}
	return cli.Command{
		Name:    "serve",
		Summary: "answer HTTP requests with a trained model, by OpenAI's API for completions",
		Example: []string{
			"train -config quickstart    # makes runs/quickstart",
			"serve -checkpoint runs/quickstart",
			"serve -checkpoint runs/quickstart -checkpoint runs/quickstart-transformer    # a request's \"model\" chooses",
			"serve -checkpoint runs/quickstart -listen :8080    # to other machines, which need the token",
		},
		Notes: []string{
			`curl http://127.0.0.1:8080/v1/completions -d '{"prompt": "func ", "max_tokens": 64}' asks it.`,
			"A token is read from " + tokenVariable + " in the environment.",
			"/ is the live explorer, a page that shows what the model does (docs/explorer.md); docs/serve.md has the API.",
			"",
			"An interrupt stops the server: it takes no more requests, and what runs has -stop-time to finish.",
			"A second one ends it at once.",
		},
		Flags: c.flags,
		Run:   c.run,
	}
}

// call is what the flags ask for.
type call struct {
	model   cli.Model
	paths   cli.List
	names   cli.List
	listen  string
	window  int
	rows    int
	options serve.Options
	slide   bool
}

func (c *call) flags(flags *flag.FlagSet) {
	c.model.DeviceFlags(flags)
	flags.Var(&c.paths, "checkpoint", "serve the model of `PATH`: "+cli.CheckpointUsage+"; may be repeated: the first one answers requests that name none")
	flags.Var(&c.names, "name", "serve the model by the name `NAME`; may be repeated, as -checkpoint; default: that of its file or folder")
	flags.StringVar(&c.listen, "listen", "127.0.0.1:8080", "listen on `ADDRESS`, HOST:PORT; :8080 is all of the machine's addresses, port 0 one that is free")
	flags.StringVar(&c.options.Token, "token", "", "answer only requests with the header Authorization: Bearer `TOKEN`; default: the environment's "+tokenVariable)
	flags.IntVar(&c.window, "window", 0, "let the model see the last `N` tokens at most; 0: its training length, with ALiBi 4 times that")
	flags.IntVar(&c.rows, "rows", 0, "continue `N` texts at a time, each with keys and values of its own; 0: 8, fewer where the memory has no room for them")
	flags.BoolVar(&c.slide, "slide", false, "let texts go on beyond the window, of which the model then sees the end, in the place of refusing them")
	flags.IntVar(&c.options.Requests, "requests", 128, "work on `N` completions at a time, those that wait for the model included; more are answered 429")
	flags.Int64Var(&c.options.Body, "max-body", 8<<20, "take requests of at most `N` bytes")
	flags.DurationVar(&c.options.RequestTime, "request-time", 10*time.Minute, "give a completion at most `TIME`, as in 90s or 10m, its waiting included")
	flags.DurationVar(&c.options.StopTime, "stop-time", 30*time.Second, "give what runs `TIME`, as in 30s, to finish when the server is stopped")
}

// check refuses what can be refused before the model is read.
func (c *call) check() error {
	if len(c.names) > max(1, len(c.paths)) {
		return cli.Usagef("-name: want at most one for each -checkpoint, %d, got %d", len(c.paths), len(c.names))
	}
	if err := cli.CheckInt("-requests", c.options.Requests, 1, math.MaxInt); err != nil {
		return err
	}
	for _, d := range []struct {
		flag  string
		value time.Duration
	}{{"-request-time", c.options.RequestTime}, {"-stop-time", c.options.StopTime}} {
		if d.value <= 0 {
			return cli.Usagef("%s: want above 0, such as 30s, got %v", d.flag, d.value)
		}
	}
	if c.options.Body < 1 {
		return cli.Usagef("-max-body: want >= 1, got %d", c.options.Body)
	}
	if c.options.Token == "" {
		c.options.Token = os.Getenv(tokenVariable)
	}
	return nil
}

func (c *call) run(ctx context.Context, out cli.Output) error {
	if err := c.check(); err != nil {
		return err
	}
	served, end, err := c.open(out)
	defer end()
	if err != nil {
		return err
	}
	c.options.Log = out.Warn
	server, err := serve.New(served, c.options)
	if err != nil {
		return cli.Usage(errors.WithMessage(err, "-name"))
	}
	l, err := net.Listen("tcp", c.listen)
	if err != nil {
		return cli.Usage(errors.Wrap(err, "-listen"))
	}
	if c.options.Token == "" && !loopback(l.Addr()) {
		out.Warn(fmt.Sprintf("-listen %s: whoever reaches this address can use the model: -token or %s asks for a token", c.listen, tokenVariable))
	}
	if err := out.Print(fmt.Sprintf("serving %s at http://%s\n", namesOf(served), l.Addr())); err != nil {
		return err
	}
	return server.Serve(ctx, l)
}

// open opens all models, and makes the page of the first one. end closes them, those that were opened where
// one fails, too.
func (c *call) open(out cli.Output) (served []serve.Model, end func(), err error) {
	var closers []func()
	end = func() {
		for _, f := range slices.Backward(closers) {
			f()
		}
	}
	if len(c.paths) == 0 {
		c.paths = cli.List{""} // which OpenIDs refuses
	}
	for i := range c.paths {
		m := c.model
		m.Path = c.paths[i]
		p, tokenizer, err := m.OpenIDs(out)
		if err != nil {
			return nil, end, err
		}
		const queue = math.MaxInt32 // -requests is what bounds it
		g, err := p.Generator(generate.Options{Threads: m.Threads, Device: m.Device(), Precision: m.Precision(), Window: c.window, Rows: c.rows, Queue: queue})
		if err != nil {
			return nil, end, cli.Usage(cli.ByFlag(err))
		}
		closers = append(closers, g.Close)
		name := c.modelName(i)
		served = append(served, serve.Model{
			Name: name, Generator: g, Parallel: g.Rows(), Tokenizer: tokenizer, Vocab: p.Spec.Vocab, Window: g.Window(), Slide: c.slide, Created: created(p),
		})
		if i > 0 || m.Device().OnGPU() { // what the page looks at and changes are programs on the CPU
			continue
		}
		e, err := explore.New(p, explore.Options{Name: name, Threads: m.Threads})
		if err != nil {
			return nil, end, err
		}
		closers = append(closers, e.Close)
		c.options.Page, c.options.Handlers = e.Page(), e.Handlers()
	}
	return served, end, nil
}

// modelName is model i's -name, or the name of its file or folder.
func (c *call) modelName(i int) string {
	if i < len(c.names) && c.names[i] != "" {
		return c.names[i]
	}
	path, err := filepath.Abs(c.paths[i])
	if err != nil {
		path = c.paths[i]
	}
	return strings.TrimSuffix(filepath.Base(path), ".safetensors")
}

func namesOf(served []serve.Model) string {
	var names []string
	for _, m := range served {
		names = append(names, m.Name)
	}
	return strings.Join(names, ", ")
}

// created is when the model's file was written.
func created(p *pretrained.Model) time.Time {
	if info, err := os.Stat(p.Source.ModelPath); err == nil {
		return info.ModTime()
	}
	return time.Now()
}

func loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
