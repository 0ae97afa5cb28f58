package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/residua-go/residua/internal/cli"
)

// bench measures what the flags ask for.
type bench struct {
	schedule schedule
	target   target // threads included
	machine  *machine
	torch    *pytorch // nil: not asked for
	modes    []string // of PyTorch
	out      cli.Output
}

// compare starts one process after the other, lets them take turns, and hands them to
// use before it ends them.
func (b *bench) compare(ctx context.Context, what string, starts []func() (*process, error), use func([]*process) error) error {
	var processes []*process
	defer func() {
		for _, p := range processes {
			p.close()
		}
	}()
	b.out.Note(what + ": starting and warming up")
	for _, start := range starts {
		p, err := start()
		if err != nil {
			return err
		}
		processes = append(processes, p)
	}
	if err := b.turns(ctx, what, processes...); err != nil {
		return err
	}
	return use(processes)
}

// turns lets running processes take turns.
func (b *bench) turns(ctx context.Context, what string, processes ...*process) error {
	between := func(round int) {
		b.machine.look()
		b.out.Note(fmt.Sprintf("%s: round %d of %d", what, round+1, b.schedule.rounds))
	}
	return alternate(ctx, b.schedule, between, processes...)
}

// own starts an implementation of this program.
func (b *bench) own(ctx context.Context, implementation string, w workload, on target) func() (*process, error) {
	return func() (*process, error) {
		o, err := newOrder(implementation, w, on, b.schedule.warmUp)
		if err != nil {
			return nil, err
		}
		return startOwn(ctx, o)
	}
}

// models measures ours, each alternating with the transformer of its size.
func (b *bench) models(ctx context.Context, chosen []workload) ([]modelResult, error) {
	var results []modelResult
	for _, group := range groups(chosen) {
		var starts []func() (*process, error)
		var names []string
		for _, w := range group {
			starts = append(starts, b.own(ctx, ours, w, b.target))
			names = append(names, w.Name)
		}
		err := b.compare(ctx, strings.Join(names, " and "), starts, func(processes []*process) error {
			for i, p := range processes {
				results = append(results, newModelResult(group[i], p))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for i := range results {
		results[i].Share = b.machine.share(results[i].GFLOPS)
	}
	return results, nil
}

// groups puts the models of a size together, those that are compared with one transformer, in
// the order in which they are named.
func groups(chosen []workload) [][]workload {
	var all [][]workload
	at := map[string]int{}
	for _, w := range chosen {
		i, known := at[w.plain()]
		if !known {
			i, all = len(all), append(all, nil)
			at[w.plain()] = i
		}
		all[i] = append(all[i], w)
	}
	return all
}

// pytorch compares each model with PyTorch's ways of running it.
func (b *bench) pytorch(ctx context.Context, chosen []workload) ([]pytorchResult, error) {
	var results []pytorchResult
	for _, w := range chosen {
		starts := []func() (*process, error){b.own(ctx, ours, w, b.target)}
		for _, mode := range b.modes {
			starts = append(starts, func() (*process, error) {
				return b.torch.startModel(ctx, w, mode, b.target, b.schedule.warmUp)
			})
		}
		err := b.compare(ctx, w.Name+" compared with PyTorch", starts, func(p []*process) error {
			r, err := newPyTorchResult(w, p[0], b.modes, p[1:])
			results = append(results, r)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return results, nil
}

// scaling compares one thread with all.
func (b *bench) scaling(ctx context.Context, chosen []workload) ([]scalingResult, error) {
	var results []scalingResult
	threads, single := b.target.Threads, target{Threads: 1}
	for _, w := range chosen {
		starts := []func() (*process, error){b.own(ctx, ours, w, single), b.own(ctx, ours, w, b.target)}
		err := b.compare(ctx, w.Name+" by threads", starts, func(p []*process) error {
			results = append(results, newScalingResult(w, threads, p[0], p[1]))
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return results, nil
}

// stock compares ours with stock Gorgonia.
func (b *bench) stock(ctx context.Context, chosen []workload) ([]stockResult, error) {
	var results []stockResult
	for _, w := range chosen {
		starts := []func() (*process, error){b.own(ctx, ours, w, b.target), b.own(ctx, stock, w, b.target)}
		err := b.compare(ctx, w.Name+" compared with stock Gorgonia", starts, func(p []*process) error {
			r, err := newStockResult(w, p[0], p[1])
			results = append(results, r)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return results, nil
}

// gemm measures matrix products, beside PyTorch's if that was asked for.
func (b *bench) gemm(ctx context.Context) ([]gemmResult, error) {
	b.out.Note("matrix products")
	if b.torch == nil {
		return gemms(ctx, b.machine, b.schedule.rounds, gemmShapes(), nil)
	}
	theirs, err := b.torch.startGemm(ctx, b.machine.Threads)
	if err != nil {
		return nil, err
	}
	defer theirs.close()
	return gemms(ctx, b.machine, b.schedule.rounds, gemmShapes(), theirs)
}
