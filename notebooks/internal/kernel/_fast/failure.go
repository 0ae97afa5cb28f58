package fast

import (
	"go/token"

	"github.com/cosmos72/gomacro/base"
	"github.com/cosmos72/gomacro/base/reflect"
	xr "github.com/cosmos72/gomacro/xreflect"
)

// Failure is how code ends that has panicked.
type Failure struct {
	Cause any         // what it has panicked with
	Calls []token.Pos // the statement that failed, then those that have called it
}

// Interrupted tells whether Interp.Interrupt has ended the code.
func (f *Failure) Interrupted() bool { return f.Cause == base.SigInterrupt }

// RunCell runs compiled code like RunExpr. Instead of panicking it returns where the code has
// failed. If stopped is true once Interp.Interrupt has its effect, the code does not start.
func (ir *Interp) RunCell(e *Expr, stopped func() bool) (values []xr.Value, types []xr.Type, failure *Failure) {
	if e == nil {
		return nil, nil, nil
	}
	env := ir.PrepareEnv()
	if stopped() {
		return nil, nil, &Failure{Cause: base.SigInterrupt}
	}
	if e.Untyped() {
		e.ConstTo(e.DefaultType())
	}
	run := env.Run
	run.applyDebugOp(DebugOpContinue)
	run.at, run.failed = token.NoPos, nil
	defer run.setCurrEnv(run.setCurrEnv(env))
	defer func() {
		if cause := recover(); cause != nil {
			run.noteFailure()
			values, types, failure = nil, nil, &Failure{cause, run.failed}
		}
	}()
	v, vs := e.AsXV(COptKeepUntyped)(env)
	run.stopIfInterrupted()
	return reflect.PackValues(v, vs), reflect.PackTypes(e.Type, e.Types), nil
}

// noteFailure remembers where the code is, unless a panic is under way that began elsewhere.
func (run *Run) noteFailure() {
	if run.failed != nil {
		return
	}
	for env := run.CurrEnv; env != nil; env = env.caller() {
		if pos := env.position(); pos != token.NoPos {
			run.failed = append(run.failed, pos)
		}
	}
}

// position is that of the statement which env has come to.
func (env *Env) position() token.Pos {
	if env.IP < len(env.DebugPos) {
		return env.DebugPos[env.IP]
	}
	return env.Run.at // an expression at package level
}

// caller is where the function was called that env belongs to; nil at package level.
func (env *Env) caller() *Env {
	for env.Caller == nil && env.Outer != nil {
		env = env.Outer
	}
	return env.Caller
}

// markPosition is code that tells which statement at package level comes next, and looks for an
// interrupt before it.
func markPosition(pos token.Pos) *Expr {
	return expr0(func(env *Env) {
		env.Run.at = pos
		env.IP, env.DebugPos = 0, nil
		env.Run.stopIfInterrupted()
	})
}

// stopIfInterrupted panics where an interrupt waits.
func (run *Run) stopIfInterrupted() {
	if sig := run.Signals.Async; sig != base.SigNone {
		run.applyAsyncSignal(sig)
	}
}
