package graph

import (
	"os"

	"gorgonia.org/gorgonia"
)

// Fuser is a Launcher whose kernels can also compute the op that runs next, if that op reads its
// output: what both need then crosses the device's memory once. Only devices of precision BF16 have
// such kernels. The environment variable RESIDUA_FUSION=0 switches them off.
type Fuser interface {
	Launcher
	// Fuses tells whether LaunchWith may be called with the op described.
	Fuses(next Next) bool
	// LaunchWith starts kernels that compute the op of c and next, and returns true. If it has none
	// for their sizes it returns false, and has written nothing but scratch memory; each op then
	// launches its own.
	LaunchWith(c, next *DeviceCall) bool
}

// Next is an op that runs directly after the op whose output it reads.
type Next struct {
	Of        Primitive // the op before it: the Fuser, or a Primitive that embeds it
	Primitive Primitive
	Input     int  // which of its inputs is that output
	Alone     bool // nothing else reads the output, so it need not be written
}

// fuse gives each Fuser its follower: the op that runs next, if the Fuser can compute it, too, and
// if the follower's other inputs are computed earlier. Call it before the intervals are made: a
// follower's buffer is in use from the Fuser's run on.
func (p *plan) fuse() {
	for i, n := range p.order {
		op := opOf(n)
		if op == nil || p.leaders[n] != nil {
			continue
		}
		k, ok := op.Primitive.(Fuser)
		if !ok {
			continue
		}
		if next := p.follower(i); next != nil && k.Fuses(p.describe(n, next)) {
			op.follower = opOf(next)
			p.leaders[next] = n
		}
	}
}

// follower returns the node that runs directly after position i, if it reads the node at i once and
// all its other inputs exist earlier; else nil.
func (p *plan) follower(i int) *gorgonia.Node {
	for _, n := range p.order[i+1:] {
		op := opOf(n)
		if n.Op() == nil || op != nil && op.launchesNothing() {
			continue
		}
		if op == nil || op.primary != nil || op.onHost() {
			return nil
		}
		times := 0
		for _, c := range Inputs(n) {
			switch {
			case c == p.order[i]:
				times++
			case opOf(c) == nil || opOf(c).onHost() || p.position[c] > i && !opOf(c).parameter():
				return nil
			}
		}
		if times != 1 {
			return nil
		}
		return n
	}
	return nil
}

// launchesNothing tells whether the op's value exists without a run of the op.
func (op *Op) launchesNothing() bool {
	if op.primary != nil {
		k, ok := op.Primitive.(secondaryOutput)
		return ok && !k.scaled
	}
	return op.parameter()
}

// parameter tells whether the op stands for a parameter that lives on a device.
func (op *Op) parameter() bool {
	_, ok := op.Primitive.(parameter)
	return ok
}

func (p *plan) describe(n, next *gorgonia.Node) Next {
	d := Next{Of: opOf(n).Primitive, Primitive: opOf(next).Primitive, Alone: len(p.readers[n]) == 1 && !p.pinned[n]}
	for i, c := range Inputs(next) {
		if c == n {
			d.Input = i
		}
	}
	return d
}

// fuses tells whether the program's device may fuse ops.
func (b *Builder) fuses() bool {
	return b.OnDevice() && b.options.Precision == BF16 && os.Getenv("RESIDUA_FUSION") != "0"
}

// launchFused starts kernels that compute the op and its follower, if there are any.
func (c *DeviceCall) launchFused() bool {
	f := c.op.follower
	if f == nil {
		return false
	}
	f.fused = false
	c.bindFollower(f)
	f.fused = c.err == nil && c.launcher.(Fuser).LaunchWith(c, c.next)
	return f.fused || c.err != nil
}

// bindFollower makes the call of the follower, with the memory of its inputs and its output.
func (c *DeviceCall) bindFollower(f *Op) {
	if c.next == nil {
		k, _ := launcherOf(f.Primitive)
		next := newDeviceCall(f, k)
		next.leader, c.next = c, &next
	}
	for i, from := range f.producers {
		c.next.args[i] = from.device
	}
	c.do(f.ensureDevice)
}

// ran returns the name, FLOPs and bytes of what the op's last run has computed, its follower
// included.
func (op *Op) ran() (name string, flops, bytes int) {
	name, flops, bytes = opType(op.Primitive), op.runFLOPs(false), op.runBytes()
	if f := op.follower; f != nil && f.fused {
		return name + " and " + opType(f.Primitive), flops + f.runFLOPs(false), bytes + f.runBytes() - op.out.Bytes()
	}
	return name, flops, bytes
}
